//! Text and bytes: CHAR, VARCHAR, BINARY, and all that is stored as such.
//!
//! In: lengths and bytes, or the numbers of entries of a dictionary. Out: views for columns, plain arrays inside nested
//! types. A batch's bytes are copied once, out of the decompressed chunks; views point into that copy, or into the
//! dictionary, which all batches of a stripe share. That text is UTF-8 is checked.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, GenericByteArray, OffsetSizeTrait, StringArray, StringViewArray,
    UInt32Array, new_null_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::take;
use arrow::datatypes::{
    ArrowNativeType, ByteArrayType, DataType as ArrowType, GenericBinaryType, GenericStringType, UInt32Type,
};

use super::byte_rle::Present;
use super::codec::ByteStream;
use super::decode::{Decode, present, spread};
use super::int_rle::Integers;
use super::projection::Node;
use super::stripe::{StreamKind, Stripe};
use crate::error::{Error, Result};

/// Values of which each has its own bytes.
pub(super) struct DirectBytes {
    present: Present,
    lengths: Integers,
    bytes: ByteStream,
    arrow: ArrowType,
    trim: bool,
}

impl DirectBytes {
    pub(super) fn new(node: &Node, trim: bool, stripe: &mut Stripe) -> Result<Self> {
        let version_2 = stripe.encoding(node.column)?.version_2;
        let lengths = stripe.take_or_empty(node.column, StreamKind::Length)?;
        Ok(Self {
            present: present(node, stripe)?,
            lengths: Integers::new(lengths, version_2, false),
            bytes: stripe.take_or_empty(node.column, StreamKind::Data)?,
            arrow: node.arrow.clone(),
            trim,
        })
    }
}

impl Decode for DirectBytes {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        let mut lengths = vec![];
        self.lengths.read(count, &mut lengths)?;
        let array = array(&self.arrow, &lengths, &mut self.bytes, nulls)?;
        Ok(if self.trim { trimmed(array) } else { array })
    }
}

/// Values that are entries of a dictionary.
pub(super) struct Dictionary {
    present: Present,
    indices: Integers,
    entries: ArrayRef,
}

impl Dictionary {
    pub(super) fn new(node: &Node, trim: bool, stripe: &mut Stripe) -> Result<Self> {
        let encoding = stripe.encoding(node.column)?;
        let entries = stripe.dictionary(node.column, |stripe| {
            let mut lengths = vec![];
            Integers::new(stripe.take_or_empty(node.column, StreamKind::Length)?, encoding.version_2, false)
                .read(encoding.dictionary_size as usize, &mut lengths)?;
            let mut bytes = stripe.take_or_empty(node.column, StreamKind::DictionaryData)?;
            let entries = array(&node.arrow, &lengths, &mut bytes, None)?;
            Ok(if trim { trimmed(entries) } else { entries })
        })?;
        let indices = stripe.take_or_empty(node.column, StreamKind::Data)?;
        Ok(Self {
            present: present(node, stripe)?,
            indices: Integers::new(indices, encoding.version_2, false),
            entries,
        })
    }
}

impl Decode for Dictionary {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        if count == 0 {
            return Ok(new_null_array(self.entries.data_type(), rows));
        }
        let mut wide = vec![];
        self.indices.read(count, &mut wide)?;
        let size = self.entries.len() as u64;
        if let Some(index) = wide.iter().find(|index| **index as u64 >= size) {
            return Err(Error::corrupt(format!("entry {index} of a dictionary of {size}")));
        }
        let indices = wide.iter().map(|index| *index as u32).collect();
        let indices: UInt32Array = spread::<UInt32Type>(indices, rows, nulls)?;
        Ok(take(self.entries.as_ref(), &indices, None)?)
    }
}

/// An array of the values with these lengths, one for each that is not NULL.
fn array(arrow: &ArrowType, lengths: &[i64], bytes: &mut ByteStream, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match arrow {
        ArrowType::Utf8View => {
            Arc::new(StringViewArray::from(&plain::<GenericStringType<i64>>(lengths, bytes, nulls)?))
        }
        ArrowType::BinaryView => {
            Arc::new(BinaryViewArray::from(&plain::<GenericBinaryType<i64>>(lengths, bytes, nulls)?))
        }
        ArrowType::Utf8 => Arc::new(plain::<GenericStringType<i32>>(lengths, bytes, nulls)?),
        ArrowType::Binary => Arc::new(plain::<GenericBinaryType<i32>>(lengths, bytes, nulls)?),
        other => return Err(Error::internal(format!("bytes are wanted as {other}"))),
    })
}

/// Text without trailing blanks; the same array where there are none.
fn trimmed(array: ArrayRef) -> ArrayRef {
    let cut = |text: &str| text.ends_with(' ');
    let trim = |text: Option<&str>| text.map(|text| text.trim_end_matches(' ').to_owned());
    if let Some(text) = array.as_string_view_opt().filter(|text| text.iter().flatten().any(cut)) {
        return Arc::new(text.iter().map(trim).collect::<StringViewArray>());
    }
    if let Some(text) = array.as_string_opt::<i32>().filter(|text| text.iter().flatten().any(cut)) {
        return Arc::new(text.iter().map(trim).collect::<StringArray>());
    }
    array
}

fn plain<T: ByteArrayType>(
    lengths: &[i64],
    bytes: &mut ByteStream,
    nulls: Option<NullBuffer>,
) -> Result<GenericByteArray<T>> {
    let offsets = offsets::<T::Offset>(lengths, nulls.as_ref())?;
    let total = offsets.last().map_or(0, |total| total.as_usize());
    let mut values = vec![];
    bytes.read(total, &mut values)?;
    Ok(GenericByteArray::try_new(offsets, Buffer::from_vec(values), nulls)?)
}

/// The offsets of values with these lengths, one for each that is not NULL; those that are NULL have length 0.
pub(super) fn offsets<O: OffsetSizeTrait>(lengths: &[i64], nulls: Option<&NullBuffer>) -> Result<OffsetBuffer<O>> {
    let limit = O::MAX_OFFSET as i64;
    let mut end = 0i64;
    let mut add = |length: i64| {
        let sum = if length < 0 { None } else { end.checked_add(length).filter(|sum| *sum <= limit) };
        end = sum.ok_or_else(|| {
            Error::corrupt(format!("a value of length {length} after {end}, expected at most {limit} in one batch"))
        })?;
        O::from_usize(end as usize).ok_or_else(|| Error::internal("an offset is out of range"))
    };
    let rows = nulls.map_or(lengths.len(), NullBuffer::len);
    let mut out = Vec::with_capacity(rows + 1);
    out.push(O::zero());
    match nulls {
        None => {
            for length in lengths {
                out.push(add(*length)?);
            }
        }
        Some(nulls) => {
            let mut lengths = lengths.iter();
            for valid in nulls.iter() {
                out.push(add(if valid { lengths.next().copied().unwrap_or_default() } else { 0 })?);
            }
        }
    }
    Ok(OffsetBuffer::new(out.into()))
}

#[cfg(test)]
mod tests {
    use super::super::codec::Compression;
    use super::*;

    fn stream(bytes: &[u8]) -> ByteStream {
        ByteStream::new(bytes::Bytes::copy_from_slice(bytes), Compression::new(0, 0).unwrap()).unwrap()
    }

    #[test]
    fn lengths_become_offsets() {
        let nulls = NullBuffer::from(vec![true, false, true]);
        assert_eq!(&*offsets::<i32>(&[2, 3], Some(&nulls)).unwrap(), [0, 2, 2, 5]);
        assert_eq!(&*offsets::<i32>(&[2, 3], None).unwrap(), [0, 2, 5]);
        assert!(offsets::<i32>(&[-1], None).is_err());
        assert!(offsets::<i32>(&[1 << 31], None).is_err());
        assert!(offsets::<i64>(&[i64::MAX, 1], None).is_err());
    }

    #[test]
    fn trailing_blanks_are_cut_off() {
        let text = [Some("a "), None, Some("  b"), Some(" ")];
        let want = [Some("a"), None, Some("  b"), Some("")];
        let view = trimmed(Arc::new(StringViewArray::from_iter(text)));
        assert_eq!(view.as_string_view(), &StringViewArray::from_iter(want));
        assert_eq!(trimmed(Arc::new(StringArray::from_iter(text))).as_string::<i32>(), &StringArray::from_iter(want));
        assert_eq!(trimmed(Arc::clone(&view)).to_data(), view.to_data());
    }

    #[test]
    fn text_must_be_there_and_be_utf_8() {
        for arrow in [ArrowType::Utf8, ArrowType::Utf8View] {
            assert_eq!(array(&arrow, &[1, 2], &mut stream("aé".as_bytes()), None).unwrap().data_type(), &arrow);
            assert!(array(&arrow, &[2, 1], &mut stream("aé".as_bytes()), None).is_err());
            assert!(array(&arrow, &[1], &mut stream(&[0xff]), None).is_err());
            assert!(array(&arrow, &[2], &mut stream(b"a"), None).is_err());
            assert!(array(&arrow, &[1 << 30], &mut stream(b"a"), None).is_err());
        }
        assert!(array(&ArrowType::BinaryView, &[1], &mut stream(&[0xff]), None).is_ok());
    }
}
