//! ARRAY and MAP columns as ranges of child rows, and putting them together again.
//!
//! In: versions of a column of lists or maps. Out: for a version the child rows that it is made of, as [`Member`]s of the
//! child arrays, so that functions move indexes and never values; at the end [`ListOutput`] gathers the children once.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, NullBufferBuilder};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType as ArrowType;

use super::fold::{input_of, outside};
use super::pick::gather;
use super::{Member, Versions};
use crate::error::{Error, Result};

/// Lists as input.
pub(super) struct Lists<'a> {
    lists: Vec<List<'a>>,
    /// The children of each input: a list's elements, or a map's entries.
    pub children: Vec<ArrayRef>,
}

struct List<'a> {
    offsets: &'a OffsetBuffer<i32>,
    nulls: Option<&'a NullBuffer>,
}

impl<'a> Lists<'a> {
    /// The inputs of a column of type ARRAY or MAP.
    pub fn new(versions: &Versions<'a>) -> Result<Self> {
        let mut all = Self { lists: vec![], children: vec![] };
        for input in versions.inputs {
            if let Some(list) = input.as_list_opt::<i32>() {
                all.lists.push(List { offsets: list.offsets(), nulls: list.nulls() });
                all.children.push(Arc::clone(list.values()));
            } else if let Some(map) = input.as_map_opt() {
                all.lists.push(List { offsets: map.offsets(), nulls: map.nulls() });
                all.children.push(Arc::new(map.entries().clone()));
            } else {
                return Err(Error::internal(format!("a column of type {}, not of lists or maps", input.data_type())));
            }
        }
        Ok(all)
    }

    /// The member itself, `None` where its list is NULL.
    pub fn read(&self, member: Member) -> Result<Option<Member>> {
        let list = input_of(&self.lists, member)?;
        let row = member.row as usize;
        if row + 1 >= list.offsets.len() {
            return Err(outside(member));
        }
        Ok(list.nulls.is_none_or(|nulls| nulls.is_valid(row)).then_some(member))
    }

    /// The child rows of a list.
    pub fn elements(&self, member: Member) -> Result<impl ExactSizeIterator<Item = Member> + use<>> {
        let offsets = input_of(&self.lists, member)?.offsets;
        let at = |row: usize| offsets.get(row).and_then(|offset| u32::try_from(*offset).ok());
        let row = member.row as usize;
        let (from, to) = at(row).zip(at(row + 1)).ok_or_else(|| outside(member))?;
        Ok(Rows { input: member.input, rows: from..to })
    }

    /// The child array that an element stands in.
    pub fn child(&self, element: Member) -> Result<&ArrayRef> {
        input_of(&self.children, element)
    }

    /// Whether an element is NULL.
    pub fn is_null(&self, element: Member) -> Result<bool> {
        let child = self.child(element)?;
        let row = element.row as usize;
        if row < child.len() { Ok(child.is_null(row)) } else { Err(outside(element)) }
    }

    /// One field of the elements, where these are rows.
    pub fn fields(&self, field: usize) -> Result<Vec<ArrayRef>> {
        let of = |child: &ArrayRef| child.as_struct_opt().and_then(|rows| rows.columns().get(field)).map(Arc::clone);
        let fields: Option<Vec<_>> = self.children.iter().map(of).collect();
        fields.ok_or_else(|| Error::internal(format!("elements have no field {field}")))
    }
}

/// Rows of one input.
struct Rows {
    input: u32,
    rows: std::ops::Range<u32>,
}

impl Iterator for Rows {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        self.rows.next().map(|row| Member { input: self.input, row })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl ExactSizeIterator for Rows {}

/// Lists as output: the places of their elements.
#[derive(Default)]
pub(super) struct ListOutput<E> {
    /// The elements of all lists.
    pub elements: Vec<E>,
    ends: Vec<usize>,
    nulls: Vec<bool>,
}

impl<E> ListOutput<E> {
    /// An output for `lists` lists.
    pub fn new(lists: usize) -> Self {
        Self { elements: vec![], ends: Vec::with_capacity(lists), nulls: Vec::with_capacity(lists) }
    }

    /// Adds a list, or NULL.
    pub fn push(&mut self, list: Option<impl Iterator<Item = E>>) {
        self.nulls.push(list.is_none());
        self.elements.extend(list.into_iter().flatten());
        self.ends.push(self.elements.len());
    }

    /// The column of lists or maps, of type `arrow_type`, whose elements are `children`.
    pub fn finish(&self, arrow_type: &ArrowType, children: ArrayRef) -> Result<ArrayRef> {
        let end = |end: &usize| i32::try_from(*end).map_err(|_| Error::corrupt("merged lists have too many elements"));
        let offsets = std::iter::once(Ok(0)).chain(self.ends.iter().map(end)).collect::<Result<Vec<i32>>>()?;
        let offsets = OffsetBuffer::new(offsets.into());
        let mut nulls = NullBufferBuilder::new(self.nulls.len());
        self.nulls.iter().for_each(|null| nulls.append(!null));
        let nulls = nulls.finish();
        match arrow_type {
            ArrowType::List(field) => Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, children, nulls)?)),
            ArrowType::Map(field, sorted) => {
                let entries = children.as_struct_opt().ok_or_else(|| Error::internal("entries that are no rows"))?;
                let map = MapArray::try_new(Arc::clone(field), offsets, entries.clone(), nulls, *sorted)?;
                Ok(Arc::new(map))
            }
            other => Err(Error::internal(format!("lists of type {other}"))),
        }
    }
}

impl ListOutput<Option<Member>> {
    /// The column of lists or maps whose elements stand in `children`.
    pub fn gather(&self, arrow_type: &ArrowType, children: &[ArrayRef]) -> Result<ArrayRef> {
        let child_type = match arrow_type {
            ArrowType::List(field) | ArrowType::Map(field, _) => field.data_type(),
            other => return Err(Error::internal(format!("lists of type {other}"))),
        };
        self.finish(arrow_type, gather(children, &self.elements, child_type)?)
    }
}
