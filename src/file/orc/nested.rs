//! ARRAY, MAP, MULTISET and ROW.
//!
//! In: the lengths of lists and maps, and the decoders of what is in them. Out: Arrow lists, maps and structs. The
//! elements of a batch's lists are decoded together; a NULL list has none. A field of a NULL struct has nothing in its
//! streams: it is told which structs are NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType as ArrowType, FieldRef, Fields};

use super::byte_rle::Present;
use super::bytes::offsets;
use super::decode::{Decode, present};
use super::int_rle::Integers;
use super::projection::Node;
use super::stripe::{StreamKind, Stripe};
use crate::error::{Error, Result};

/// The PRESENT and LENGTH streams of lists or maps.
struct Lengths {
    present: Present,
    lengths: Integers,
}

impl Lengths {
    fn new(node: &Node, stripe: &mut Stripe) -> Result<Self> {
        let version_2 = stripe.encoding(node.column)?.version_2;
        let lengths = stripe.take_or_empty(node.column, StreamKind::Length)?;
        Ok(Self { present: present(node, stripe)?, lengths: Integers::new(lengths, version_2, false) })
    }

    /// The offsets and NULLs of the next rows, and how many elements they have.
    fn next(
        &mut self,
        rows: usize,
        parent: Option<&NullBuffer>,
    ) -> Result<(OffsetBuffer<i32>, Option<NullBuffer>, usize)> {
        let (nulls, count) = self.present.read(rows, parent)?;
        let mut lengths = vec![];
        self.lengths.read(count, &mut lengths)?;
        let offsets = offsets::<i32>(&lengths, nulls.as_ref())?;
        let total = offsets.last().map_or(0, |total| *total as usize);
        Ok((offsets, nulls, total))
    }
}

/// Decodes lists.
pub(super) struct Lists {
    lengths: Lengths,
    element: Box<dyn Decode>,
    field: FieldRef,
}

impl Lists {
    pub(super) fn new(node: &Node, element: Box<dyn Decode>, stripe: &mut Stripe) -> Result<Self> {
        let ArrowType::List(field) = &node.arrow else { return Err(Error::internal("an ARRAY is no Arrow list")) };
        Ok(Self { lengths: Lengths::new(node, stripe)?, element, field: Arc::clone(field) })
    }
}

impl Decode for Lists {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (offsets, nulls, total) = self.lengths.next(rows, parent)?;
        let elements = self.element.next(total, None)?;
        Ok(Arc::new(ListArray::try_new(Arc::clone(&self.field), offsets, elements, nulls)?))
    }
}

/// Decodes maps.
pub(super) struct Maps {
    lengths: Lengths,
    key: Box<dyn Decode>,
    value: Box<dyn Decode>,
    entries: FieldRef,
    fields: Fields,
}

impl Maps {
    pub(super) fn new(node: &Node, key: Box<dyn Decode>, value: Box<dyn Decode>, stripe: &mut Stripe) -> Result<Self> {
        let ArrowType::Map(entries, _) = &node.arrow else { return Err(Error::internal("a MAP is no Arrow map")) };
        let ArrowType::Struct(fields) = entries.data_type() else {
            return Err(Error::internal("the entries of a map are no struct"));
        };
        let (entries, fields) = (Arc::clone(entries), fields.clone());
        Ok(Self { lengths: Lengths::new(node, stripe)?, key, value, entries, fields })
    }
}

impl Decode for Maps {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (offsets, nulls, total) = self.lengths.next(rows, parent)?;
        let columns = vec![self.key.next(total, None)?, self.value.next(total, None)?];
        let entries = StructArray::try_new(self.fields.clone(), columns, None)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(&self.entries), offsets, entries, nulls, false)?))
    }
}

/// Decodes structs.
pub(super) struct Structs {
    present: Present,
    children: Vec<Box<dyn Decode>>,
    fields: Fields,
}

impl Structs {
    pub(super) fn new(node: &Node, children: Vec<Box<dyn Decode>>, stripe: &mut Stripe) -> Result<Self> {
        let ArrowType::Struct(fields) = &node.arrow else { return Err(Error::internal("a ROW is no Arrow struct")) };
        Ok(Self { present: present(node, stripe)?, children, fields: fields.clone() })
    }
}

impl Decode for Structs {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, _) = self.present.read(rows, parent)?;
        let columns = self.children.iter_mut().map(|child| child.next(rows, nulls.as_ref()));
        let columns: Vec<_> = columns.collect::<Result<_>>()?;
        if columns.is_empty() {
            return Ok(Arc::new(StructArray::new_empty_fields(rows, nulls)));
        }
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), columns, nulls)?))
    }
}
