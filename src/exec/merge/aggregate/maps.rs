//! `merge_map` and `merge_map_with_keytime`: the entries of maps, the latest of each key.
//!
//! In: versions of a MAP column. Out: each rowkey's entries. `merge_map` puts all later entries over earlier ones, entries
//! with a NULL value too, and retracts by key. `merge_map_with_keytime` lets a NULL value remove the entry, and a row
//! replace another only if its time field is not NULL and greater, as text in Java's order. A first map is taken as it
//! is. Java: `FieldMergeMapAgg`, `FieldMergeMapWithKeyTimeAgg`.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::DataType as ArrowType;

use super::fold::{Operations, Subject, input_of, outside};
use super::lists::{ListOutput, Lists};
use super::ordered_map::OrderedMap;
use super::value_bytes::value_bytes;
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// `merge_map`, or with a time field `merge_map_with_keytime`.
#[derive(Debug)]
pub(super) struct MergeMap {
    pub subject: Subject,
    pub arrow_type: ArrowType,
    /// The place of the time field in the rows that are the map's values.
    pub time_field: Option<usize>,
}

/// A map.
enum Entries {
    /// One of the inputs, as it is.
    Input(Member),
    /// One that was put together.
    Merged(OrderedMap<Member>),
}

impl Aggregator for MergeMap {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let lists = Lists::new(versions)?;
        let mut operations = MapOperations::new(self, &lists)?;
        let mut output = ListOutput::new(versions.key_count());
        self.subject.fold(versions, &mut operations, |map| {
            match map {
                None => output.push(None::<std::iter::Empty<_>>),
                Some(Entries::Input(member)) => output.push(Some(lists.elements(member)?.map(Some))),
                Some(Entries::Merged(entries)) => output.push(Some(entries.values().copied().map(Some))),
            }
            Ok(())
        })?;
        output.gather(&self.arrow_type, &lists.children)
    }
}

struct MapOperations<'a> {
    lists: &'a Lists<'a>,
    keys: Vec<ArrayRef>,
    values: Vec<ArrayRef>,
    /// The time fields of the values.
    times: Option<Vec<StringArray>>,
}

impl<'a> MapOperations<'a> {
    fn new(function: &MergeMap, lists: &'a Lists<'a>) -> Result<Self> {
        let (keys, values) = (lists.fields(0)?, lists.fields(1)?);
        let times = function.time_field.map(|field| {
            let time = |rows: &ArrayRef| rows.as_struct_opt()?.columns().get(field)?.as_string_opt::<i32>().cloned();
            let times: Option<Vec<_>> = values.iter().map(time).collect();
            times.ok_or_else(|| Error::internal("the values of a map have no time field of text"))
        });
        Ok(Self { lists, times: times.transpose()?, keys, values })
    }

    fn key(&self, entry: Member) -> Result<Box<[u8]>> {
        value_bytes(input_of(&self.keys, entry)?, entry.row as usize)
    }

    fn merged(&self, map: Entries) -> Result<OrderedMap<Member>> {
        match map {
            Entries::Merged(entries) => Ok(entries),
            Entries::Input(member) => {
                let mut entries = OrderedMap::default();
                for entry in self.lists.elements(member)? {
                    entries.put(self.key(entry)?, entry);
                }
                Ok(entries)
            }
        }
    }

    fn put_all(&self, acc: Entries, input: &Entries) -> Result<Entries> {
        let mut entries = self.merged(acc)?;
        match input {
            Entries::Input(member) => {
                for entry in self.lists.elements(*member)? {
                    self.put(&mut entries, entry)?;
                }
            }
            Entries::Merged(more) => more.values().try_for_each(|entry| self.put(&mut entries, *entry))?,
        }
        Ok(Entries::Merged(entries))
    }

    fn put(&self, entries: &mut OrderedMap<Member>, entry: Member) -> Result<()> {
        let key = self.key(entry)?;
        let Some(times) = &self.times else {
            entries.put(key, entry);
            return Ok(());
        };
        if self.value_is_null(entry)? {
            entries.remove(&key);
        } else if let Some(time) = time(times, entry)? {
            let later = match entries.get_mut(&key) {
                Some(old) if !self.value_is_null(*old)? => {
                    self::time(times, *old)?.is_none_or(|old| utf16_order(time, old).is_gt())
                }
                _ => true,
            };
            if later {
                entries.put(key, entry);
            }
        }
        Ok(())
    }

    fn value_is_null(&self, entry: Member) -> Result<bool> {
        let values = input_of(&self.values, entry)?;
        let row = entry.row as usize;
        if row < values.len() { Ok(values.is_null(row)) } else { Err(outside(entry)) }
    }
}

/// The time of an entry, `None` where it is NULL.
fn time(times: &[StringArray], entry: Member) -> Result<Option<&str>> {
    let times = input_of(times, entry)?;
    let row = entry.row as usize;
    if row >= times.len() {
        return Err(outside(entry));
    }
    Ok(times.is_valid(row).then(|| times.value(row)))
}

/// The order of `String.compareTo`.
fn utf16_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

impl Operations for MapOperations<'_> {
    type Value = Entries;

    fn read(&self, member: Member) -> Result<Option<Entries>> {
        Ok(self.lists.read(member)?.map(Entries::Input))
    }

    fn aggregate(&mut self, acc: Option<Entries>, input: Option<Entries>) -> Result<Option<Entries>> {
        match (acc, input) {
            (Some(acc), Some(input)) => self.put_all(acc, &input).map(Some),
            (acc, input) => Ok(acc.or(input)),
        }
    }

    fn retract(&mut self, acc: Option<Entries>, input: Option<Entries>) -> Option<Result<Option<Entries>>> {
        if self.times.is_some() {
            return None;
        }
        Some(match (acc, input) {
            (None, _) => Ok(None),
            (acc, None) => Ok(acc),
            (Some(acc), Some(input)) => self.without(acc, input).map(Some),
        })
    }
}

impl MapOperations<'_> {
    fn without(&self, acc: Entries, input: Entries) -> Result<Entries> {
        let Entries::Input(member) = input else { return Err(Error::internal("a retract that is no version")) };
        let retracted = self.lists.elements(member)?;
        if retracted.len() == 0 {
            return Ok(acc);
        }
        let mut entries = self.merged(acc)?;
        for entry in retracted {
            entries.remove(&self.key(entry)?);
        }
        Ok(Entries::Merged(entries))
    }
}
