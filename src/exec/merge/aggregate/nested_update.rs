//! `nested_update`: a nested table, whose rows are appended or, with a key, replaced.
//!
//! In: versions of an `ARRAY<ROW>` column. Out: each key's rows. Without `nested-key` rows are appended up to `count-limit`,
//! and a retract removes all rows that are equal to one of its own; with it, a row replaces the one of equal key, and a
//! retract removes by key. NULL rows are dropped. Java: `FieldNestedUpdateAgg`.
//!
//! Release 1.4 takes a first value as it is and counts the limit before it looks at keys. Releases that know
//! `nested-sequence-field` or `nested-key-null-strategy` filter the first value too and limit new keys only; their way is
//! taken where one of these options is set (`strict`).

use arrow::array::AsArray;
use arrow::array::{Array, ArrayRef, Float32Array, Float64Array};
use arrow::compute::kernels::arity::unary;
use arrow::datatypes::{DataType as ArrowType, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows, SortField};
use std::sync::Arc;

use super::fold::{Operations, Subject, input_of};
use super::lists::{ListOutput, Lists};
use super::options::NullKeys;
use super::ordered_map::OrderedMap;
use super::value_bytes::{append_value, value_bytes};
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// `nested_update`.
#[derive(Debug)]
pub(super) struct NestedUpdate {
    pub subject: Subject,
    pub arrow_type: ArrowType,
    /// The places of the key's fields in a row; empty where there is no key.
    pub key: Vec<usize>,
    pub null_keys: NullKeys,
    /// The places of the sequence fields in a row.
    pub sequence: Vec<usize>,
    pub count_limit: i32,
    pub strict: bool,
}

/// A nested table.
enum Table {
    /// One of the inputs, as it is.
    Input(Member),
    /// Rows that are not NULL.
    Plain(Vec<Member>),
    /// Rows by key.
    Keyed(OrderedMap<Member>),
}

impl Aggregator for NestedUpdate {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let lists = Lists::new(versions)?;
        let mut operations = TableOperations {
            function: self,
            lists: &lists,
            keys: NestedKeys::new(&lists, &self.key, self.null_keys)?,
            sequences: sequences(&lists, &self.sequence)?,
        };
        let mut output = ListOutput::new(versions.key_count());
        self.subject.fold(versions, &mut operations, |table| {
            match table {
                None => output.push(None::<std::iter::Empty<_>>),
                Some(Table::Input(member)) => output.push(Some(lists.elements(member)?.map(Some))),
                Some(Table::Plain(rows)) => output.push(Some(rows.into_iter().map(Some))),
                Some(Table::Keyed(rows)) => output.push(Some(rows.values().copied().map(Some))),
            }
            Ok(())
        })?;
        output.gather(&self.arrow_type, &lists.children)
    }
}

/// The key fields of the rows of nested tables.
pub(super) struct NestedKeys {
    /// For each field of the key, the arrays of all inputs.
    fields: Vec<Vec<ArrayRef>>,
    null_keys: NullKeys,
}

impl NestedKeys {
    /// The fields at places `key` of the elements of `lists`.
    pub fn new(lists: &Lists<'_>, key: &[usize], null_keys: NullKeys) -> Result<Self> {
        let fields = key.iter().map(|field| lists.fields(*field)).collect::<Result<_>>()?;
        Ok(Self { fields, null_keys })
    }

    /// The key of a row, `None` where the row is to be left out because of NULLs in it.
    pub fn of(&self, subject: &Subject, row: Member) -> Result<Option<Box<[u8]>>> {
        let (mut bytes, mut any_null) = (Vec::new(), false);
        for field in &self.fields {
            let array = input_of(field, row)?;
            append_value(array, row.row as usize, &mut bytes)?;
            any_null |= array.is_null(row.row as usize);
        }
        match self.null_keys {
            NullKeys::Ignore if any_null => Ok(None),
            NullKeys::Error if any_null => Err(subject.error("NULL in the nested key of a row")),
            _ => Ok(Some(bytes.into_boxed_slice())),
        }
    }
}

/// The sequence fields of each input in a form that compares as Java compares them, NULLs first.
fn sequences(lists: &Lists<'_>, places: &[usize]) -> Result<Option<Vec<Rows>>> {
    if places.is_empty() || lists.children.is_empty() {
        return Ok(None);
    }
    let fields = places.iter().map(|field| lists.fields(*field)).collect::<Result<Vec<_>>>()?;
    let types = fields.iter().filter_map(|arrays| arrays.first()).map(|a| SortField::new(a.data_type().clone()));
    let converter = RowConverter::new(types.collect())?;
    let rows = (0..lists.children.len()).map(|input| {
        let columns: Vec<_> = fields.iter().filter_map(|arrays| arrays.get(input)).map(with_one_nan).collect();
        Ok(converter.convert_columns(&columns)?)
    });
    rows.collect::<Result<Vec<_>>>().map(Some)
}

fn with_one_nan(column: &ArrayRef) -> ArrayRef {
    if let Some(floats) = column.as_primitive_opt::<Float32Type>() {
        let floats: Float32Array = unary(floats, |v| if v.is_nan() { f32::NAN } else { v });
        Arc::new(floats)
    } else if let Some(floats) = column.as_primitive_opt::<Float64Type>() {
        let floats: Float64Array = unary(floats, |v| if v.is_nan() { f64::NAN } else { v });
        Arc::new(floats)
    } else {
        Arc::clone(column)
    }
}

struct TableOperations<'a> {
    function: &'a NestedUpdate,
    lists: &'a Lists<'a>,
    keys: NestedKeys,
    sequences: Option<Vec<Rows>>,
}

impl Operations for TableOperations<'_> {
    type Value = Table;

    fn read(&self, member: Member) -> Result<Option<Table>> {
        Ok(self.lists.read(member)?.map(Table::Input))
    }

    fn aggregate(&mut self, acc: Option<Table>, input: Option<Table>) -> Result<Option<Table>> {
        match (acc, input) {
            (acc, None) => Ok(acc),
            (None, Some(input)) if !self.function.strict => Ok(Some(input)),
            (acc, Some(input)) if self.function.strict => self.upsert(acc, &input).map(Some),
            (Some(acc), Some(input)) => self.append(acc, &input).map(Some),
            (None, input) => Ok(input),
        }
    }

    fn retract(&mut self, acc: Option<Table>, input: Option<Table>) -> Option<Result<Option<Table>>> {
        Some(match (acc, input) {
            (Some(acc), Some(input)) => self.without(acc, &input).map(Some),
            (acc, _) => Ok(acc),
        })
    }
}

impl TableOperations<'_> {
    /// All rows, NULL or not.
    fn all_rows(&self, table: &Table) -> Result<Vec<Member>> {
        Ok(match table {
            Table::Input(member) => self.lists.elements(*member)?.collect(),
            Table::Plain(rows) => rows.clone(),
            Table::Keyed(rows) => rows.values().copied().collect(),
        })
    }

    fn rows(&self, table: &Table) -> Result<Vec<Member>> {
        let mut rows = self.all_rows(table)?;
        if let Table::Input(_) = table {
            let lists = self.lists;
            let mut failed = Ok(());
            rows.retain(|row| match lists.is_null(*row) {
                Ok(null) => !null,
                Err(error) => {
                    failed = Err(error);
                    false
                }
            });
            failed?;
        }
        Ok(rows)
    }

    fn count(&self, table: &Table) -> Result<usize> {
        Ok(match table {
            Table::Input(member) => self.lists.elements(*member)?.len(),
            Table::Plain(rows) => rows.len(),
            Table::Keyed(rows) => rows.len(),
        })
    }

    fn limit(&self) -> usize {
        usize::try_from(self.function.count_limit).unwrap_or(0)
    }

    /// The way of release 1.4.
    fn append(&self, acc: Table, input: &Table) -> Result<Table> {
        let Some(remaining) = self.limit().checked_sub(self.count(&acc)?).filter(|n| *n > 0) else { return Ok(acc) };
        let new = self.rows(input)?.into_iter().take(remaining);
        if self.function.key.is_empty() {
            let mut rows = match acc {
                Table::Plain(rows) => rows,
                acc => self.rows(&acc)?,
            };
            rows.extend(new);
            return Ok(Table::Plain(rows));
        }
        let mut rows = self.keyed(acc)?;
        for row in new {
            self.put(&mut rows, row, usize::MAX)?;
        }
        Ok(Table::Keyed(rows))
    }

    /// The way of later releases.
    fn upsert(&self, acc: Option<Table>, input: &Table) -> Result<Table> {
        if self.function.key.is_empty() {
            return self.append(acc.unwrap_or_else(|| Table::Plain(vec![])), input);
        }
        let mut rows = acc.map(|acc| self.keyed(acc)).transpose()?.unwrap_or_default();
        for row in self.rows(input)? {
            self.put(&mut rows, row, self.limit())?;
        }
        Ok(Table::Keyed(rows))
    }

    fn keyed(&self, table: Table) -> Result<OrderedMap<Member>> {
        match table {
            Table::Keyed(rows) => Ok(rows),
            table => {
                let mut rows = OrderedMap::default();
                for row in self.rows(&table)? {
                    self.put(&mut rows, row, usize::MAX)?;
                }
                Ok(rows)
            }
        }
    }

    /// Puts a row over the one of equal key, unless that one's sequence is greater; a new key only below the limit.
    fn put(&self, rows: &mut OrderedMap<Member>, row: Member, limit: usize) -> Result<()> {
        let Some(key) = self.keys.of(&self.function.subject, row)? else { return Ok(()) };
        let count = rows.len();
        match rows.get_mut(&key) {
            Some(old) if self.is_not_older(row, *old)? => *old = row,
            Some(_) => {}
            None if count < limit => rows.put(key, row),
            None => {}
        }
        Ok(())
    }

    fn is_not_older(&self, new: Member, old: Member) -> Result<bool> {
        let Some(sequences) = &self.sequences else { return Ok(true) };
        let sequence = |row: Member| match input_of(sequences, row)? {
            rows if (row.row as usize) < rows.num_rows() => Ok(rows.row(row.row as usize)),
            _ => Err(Error::internal("a nested row without sequence")),
        };
        Ok(sequence(new)? >= sequence(old)?)
    }

    fn without(&self, acc: Table, input: &Table) -> Result<Table> {
        let retracted = self.rows(input)?;
        if self.function.key.is_empty() {
            let equal = |row: &Member| value_bytes(self.lists.child(*row)?, row.row as usize);
            let retracted = retracted.iter().map(equal).collect::<Result<std::collections::HashSet<_>>>()?;
            let mut rows = vec![];
            for row in self.rows(&acc)? {
                if !retracted.contains(&equal(&row)?) {
                    rows.push(row);
                }
            }
            return Ok(Table::Plain(rows));
        }
        let mut rows = self.keyed(acc)?;
        for row in retracted {
            if let Some(key) = self.keys.of(&self.function.subject, row)? {
                rows.remove(&key);
            }
        }
        Ok(Table::Keyed(rows))
    }
}
