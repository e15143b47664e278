//! File indexes: what a data file's index says of a [`Predicate`].
//!
//! ```text
//! bytes of the manifest, or a file beside the data
//!   └─ container: which columns, which kinds of index, where        [container]
//!        ├─ bloom-filter   surely no row has the value              [bloom]
//!        ├─ bitmap         the rows of each value                   [bitmap]
//!        ├─ bsi            the rows of each bit of a number         [bsi]
//!        └─ range-bitmap   the rows of each bit of a value's rank   [range_bitmap]
//! ```
//!
//! In: a predicate in the table's columns, the indexes of one file, and for each column what it is in that file. Out: a
//! [`FileIndexResult`]: the file can be passed over, or only some of its rows are wanted, or nothing is known. The rows
//! are a superset of those that the predicate takes. Positions are physical ones. Java: `FileIndexPredicate`.

mod bitmap;
mod bloom;
mod bsi;
mod bytes;
pub mod container;
mod key;
mod question;
mod range_bitmap;
mod slices;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod xxhash;

use ::bytes::Bytes;
use roaring::RoaringBitmap;

use super::{ColumnRef, Leaf, Predicate};
use crate::error::{Error, Result};
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::table_schema::TableSchema;
use container::{Container, IndexEntry, IndexKind};
use key::KeyType;
use question::Question;

/// What a file's indexes say.
#[derive(Debug, Clone, PartialEq)]
pub enum FileIndexResult {
    /// No row is wanted.
    Skip,
    /// Only these rows may be wanted.
    Rows(RoaringBitmap),
    /// Any row may be wanted.
    Remain,
}

impl FileIndexResult {
    fn of_rows(rows: RoaringBitmap) -> Self {
        if rows.is_empty() { FileIndexResult::Skip } else { FileIndexResult::Rows(rows) }
    }

    fn and(self, other: Self) -> Self {
        use FileIndexResult::{Remain, Rows, Skip};
        match (self, other) {
            (Skip, _) | (_, Skip) => Skip,
            (Remain, known) | (known, Remain) => known,
            (Rows(a), Rows(b)) => Self::of_rows(a & b),
        }
    }

    fn or(self, other: Self) -> Self {
        use FileIndexResult::{Remain, Rows, Skip};
        match (self, other) {
            (Remain, _) | (_, Remain) => Remain,
            (Skip, known) | (known, Skip) => known,
            (Rows(a), Rows(b)) => Rows(a | b),
        }
    }
}

/// What a column of the table is in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedColumn {
    /// Its name there.
    pub name: String,
    /// Its type there.
    pub data_type: DataType,
}

impl IndexedColumn {
    /// What a column is in a file of a schema; `None` where its index there must not be asked.
    pub fn new(column: &ColumnRef, file: &DataFileMeta, schema: &TableSchema) -> Option<Self> {
        let field = schema.fields.iter().find(|field| field.id == column.id)?;
        let comparable = is_comparable(&field.data_type, &column.data_type, &file.file_name);
        comparable.then(|| Self { name: field.name.clone(), data_type: field.data_type.clone() })
    }
}

/// What the index in a file's manifest entry says, where there is one.
pub fn ask_embedded(
    predicate: &Predicate,
    file: &DataFileMeta,
    schema: &TableSchema,
) -> Option<Result<FileIndexResult>> {
    let index = Bytes::copy_from_slice(file.embedded_index.as_ref()?);
    let column = |column: &ColumnRef| IndexedColumn::new(column, file, schema);
    let indexes = FileIndexes::from_container(file.row_count, &index, predicate, &column);
    Some(indexes.and_then(|indexes| indexes.evaluate(predicate, &column)))
}

/// Whether indexes of a column of a file's type can be asked about values of the table's: where the type has changed,
/// values have, and so have those that a format does not give back as they were written.
fn is_comparable(file: &DataType, table: &DataType, file_name: &str) -> bool {
    let is_orc = file_name.ends_with(".orc");
    match (&file.kind, &table.kind) {
        // ORC cuts the blanks of CHAR, and tells times of the writer's zone.
        (TypeKind::Char(_) | TypeKind::TimestampLtz(_), _) if is_orc => false,
        (TypeKind::VarChar(from), TypeKind::VarChar(to)) => from <= to,
        (from, to) => from == to,
    }
}

/// The indexes of one file that a predicate needs.
#[derive(Debug)]
pub struct FileIndexes {
    rows: u32,
    indexes: Vec<(IndexEntry, Bytes)>,
}

impl FileIndexes {
    /// Indexes of a file of `rows` rows, each with its bytes; none for an empty one.
    pub fn new(rows: i64, indexes: Vec<(IndexEntry, Bytes)>) -> Result<Self> {
        let rows = u32::try_from(rows).map_err(|_| Error::unsupported(format!("a file index of {rows} rows")))?;
        Ok(Self { rows, indexes })
    }

    /// The indexes of a whole container that are about columns of the predicate.
    pub fn from_container(
        rows: i64,
        bytes: &Bytes,
        predicate: &Predicate,
        column: &dyn Fn(&ColumnRef) -> Option<IndexedColumn>,
    ) -> Result<Self> {
        let wanted = Container::parse(bytes)?.wanted(predicate, column);
        let index = |entry: IndexEntry| {
            let body = match &entry.range {
                Some(range) => container::slice(bytes, range)?,
                None => Bytes::new(),
            };
            Ok((entry, body))
        };
        Self::new(rows, wanted.into_iter().map(index).collect::<Result<_>>()?)
    }

    /// What the indexes say of a predicate. `column` gives what a column is in the file; `None` where its index must not
    /// be asked.
    pub fn evaluate(
        &self,
        predicate: &Predicate,
        column: &dyn Fn(&ColumnRef) -> Option<IndexedColumn>,
    ) -> Result<FileIndexResult> {
        match predicate {
            Predicate::And(list) => {
                let mut said = FileIndexResult::Remain;
                for predicate in list {
                    said = said.and(self.evaluate(predicate, column)?);
                    if said == FileIndexResult::Skip {
                        break;
                    }
                }
                Ok(said)
            }
            Predicate::Or(list) => {
                let mut said = FileIndexResult::Skip;
                for predicate in list {
                    said = said.or(self.evaluate(predicate, column)?);
                    if said == FileIndexResult::Remain {
                        break;
                    }
                }
                Ok(said)
            }
            Predicate::Leaf(leaf) => match column(&leaf.column) {
                Some(column) => self.of_leaf(leaf, &column),
                None => Ok(FileIndexResult::Remain),
            },
        }
    }

    fn of_leaf(&self, leaf: &Leaf, column: &IndexedColumn) -> Result<FileIndexResult> {
        let mut said = FileIndexResult::Remain;
        let Some(question) = Question::new(&leaf.test, &column.data_type) else { return Ok(said) };
        for (entry, bytes) in self.indexes.iter().filter(|(entry, _)| entry.column == column.name) {
            said = said.and(self.ask(entry, bytes, &question, &column.data_type)?);
            if said == FileIndexResult::Skip {
                break;
            }
        }
        Ok(said)
    }

    fn ask(
        &self,
        entry: &IndexEntry,
        bytes: &[u8],
        question: &Question,
        data_type: &DataType,
    ) -> Result<FileIndexResult> {
        if entry.range.is_none() {
            return Ok(of_empty(question));
        }
        let Some(key_type) = KeyType::of(data_type) else { return Ok(FileIndexResult::Remain) };
        let rows = match entry.kind {
            IndexKind::BloomFilter => return bloom::ask(bytes, question, data_type),
            IndexKind::Bitmap => bitmap::ask(bytes, self.rows, question, key_type),
            IndexKind::Bsi => bsi::ask(bytes, self.rows, question, key_type),
            IndexKind::RangeBitmap => range_bitmap::ask(bytes, self.rows, question, key_type),
        };
        let Some(rows) = rows? else { return Ok(FileIndexResult::Remain) };
        if rows.max().is_some_and(|last| last >= self.rows) {
            return Err(Error::corrupt(format!("a file index tells of more than {} rows", self.rows)));
        }
        Ok(FileIndexResult::of_rows(rows))
    }
}

/// What an index says that no value was put into. Java: `EmptyFileIndexReader`.
fn of_empty(question: &Question) -> FileIndexResult {
    match question {
        Question::OneOf(_) | Question::Within(_) | Question::IsNotNull => FileIndexResult::Skip,
        Question::NoneOf(_) | Question::IsNull => FileIndexResult::Remain,
    }
}
