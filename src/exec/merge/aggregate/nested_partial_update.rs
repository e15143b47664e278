//! `nested_partial_update`: a nested table whose rows are updated field by field.
//!
//! In: versions of an `ARRAY<ROW>` column. Out: each key's rows, one for each nested key, each field the last that was not
//! NULL. NULL rows are dropped; a first value is taken as it is, unless the table was written by a release that knows
//! `nested-key-null-strategy` (`strict`). It cannot retract. Java: `FieldNestedPartialUpdateAgg`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType as ArrowType;

use super::fold::{Operations, Subject, input_of};
use super::lists::{ListOutput, Lists};
use super::nested_update::NestedKeys;
use super::options::NullKeys;
use super::ordered_map::OrderedMap;
use super::pick::gather;
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// `nested_partial_update`.
#[derive(Debug)]
pub(super) struct NestedPartialUpdate {
    pub subject: Subject,
    pub arrow_type: ArrowType,
    /// The places of the key's fields in a row.
    pub key: Vec<usize>,
    pub null_keys: NullKeys,
    pub strict: bool,
}

/// A row that was put together.
#[derive(Debug, Clone)]
struct MergedRow {
    /// One of the rows that it was put together from: they all have its key.
    origin: Member,
    /// Where each of its fields stands, `None` where it is NULL.
    fields: Vec<Option<Member>>,
}

/// A nested table.
enum Table {
    /// One of the inputs, as it is.
    Input(Member),
    /// Rows by key.
    Merged(OrderedMap<MergedRow>),
}

impl Aggregator for NestedPartialUpdate {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let ArrowType::List(element) = &self.arrow_type else { return Err(Error::internal("no list of rows")) };
        let ArrowType::Struct(fields) = element.data_type() else { return Err(Error::internal("no list of rows")) };
        let lists = Lists::new(versions)?;
        let columns = (0..fields.len()).map(|field| lists.fields(field)).collect::<Result<Vec<_>>>()?;
        let mut operations = PartialOperations {
            function: self,
            lists: &lists,
            keys: NestedKeys::new(&lists, &self.key, self.null_keys)?,
            columns: &columns,
        };
        let mut output: ListOutput<Option<MergedRow>> = ListOutput::new(versions.key_count());
        self.subject.fold(versions, &mut operations, |table| {
            match table {
                None => output.push(None::<std::iter::Empty<_>>),
                Some(Table::Input(member)) => {
                    let whole = |origin| MergedRow { origin, fields: vec![Some(origin); fields.len()] };
                    let row = |row| Ok((!lists.is_null(row)?).then(|| whole(row)));
                    let rows = lists.elements(member)?.map(row).collect::<Result<Vec<_>>>()?;
                    output.push(Some(rows.into_iter()));
                }
                Some(Table::Merged(rows)) => output.push(Some(rows.values().cloned().map(Some))),
            }
            Ok(())
        })?;
        let place =
            |row: &Option<MergedRow>, field| row.as_ref().and_then(|row| row.fields.get(field).copied().flatten());
        let gathered = columns.iter().zip(fields).enumerate().map(|(i, (inputs, field))| {
            let picks: Vec<_> = output.elements.iter().map(|row| place(row, i)).collect();
            gather(inputs, &picks, field.data_type())
        });
        let gathered = gathered.collect::<Result<Vec<_>>>()?;
        let nulls: NullBuffer = output.elements.iter().map(Option::is_some).collect();
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        let rows = StructArray::try_new_with_length(fields.clone(), gathered, nulls, output.elements.len())?;
        output.finish(&self.arrow_type, Arc::new(rows))
    }
}

struct PartialOperations<'a> {
    function: &'a NestedPartialUpdate,
    lists: &'a Lists<'a>,
    keys: NestedKeys,
    /// For each field of a row, the arrays of all inputs.
    columns: &'a [Vec<ArrayRef>],
}

impl Operations for PartialOperations<'_> {
    type Value = Table;

    fn read(&self, member: Member) -> Result<Option<Table>> {
        Ok(self.lists.read(member)?.map(Table::Input))
    }

    fn aggregate(&mut self, acc: Option<Table>, input: Option<Table>) -> Result<Option<Table>> {
        match (acc, input) {
            (acc, None) => Ok(acc),
            (None, Some(input)) if !self.function.strict => Ok(Some(input)),
            (acc, Some(input)) => {
                let mut rows = match acc {
                    Some(Table::Merged(rows)) => rows,
                    acc => {
                        let mut rows = OrderedMap::default();
                        acc.map_or(Ok(()), |acc| self.update(&mut rows, &acc))?;
                        rows
                    }
                };
                self.update(&mut rows, &input)?;
                Ok(Some(Table::Merged(rows)))
            }
        }
    }
}

impl PartialOperations<'_> {
    fn update(&self, rows: &mut OrderedMap<MergedRow>, table: &Table) -> Result<()> {
        match table {
            Table::Input(member) => {
                for row in self.lists.elements(*member)? {
                    if !self.lists.is_null(row)? {
                        self.update_row(rows, row, &vec![Some(row); self.columns.len()])?;
                    }
                }
            }
            Table::Merged(more) => {
                for row in more.values() {
                    self.update_row(rows, row.origin, &row.fields)?;
                }
            }
        }
        Ok(())
    }

    fn update_row(&self, rows: &mut OrderedMap<MergedRow>, row: Member, fields: &[Option<Member>]) -> Result<()> {
        let Some(key) = self.keys.of(&self.function.subject, row)? else { return Ok(()) };
        if rows.get_mut(&key).is_none() {
            rows.put(key.clone(), MergedRow { origin: row, fields: vec![None; self.columns.len()] });
        }
        let Some(merged) = rows.get_mut(&key) else { return Ok(()) };
        for ((place, new), inputs) in merged.fields.iter_mut().zip(fields).zip(self.columns) {
            if let Some(new) = new
                && input_of(inputs, *new)?.is_valid(new.row as usize)
            {
                *place = Some(*new);
            }
        }
        Ok(())
    }
}
