//! A check of a footer's bytes before the Parquet library decodes them.
//!
//! In: the Thrift bytes of a `FileMetaData`. Out: nothing, or an error where lengths in them lie so that decoding would
//! allocate without bound or recurse without end. What is merely wrong is left to the decoder.
//!
//! ```text
//! struct := field* 0x00          field := delta << 4 | type (delta 0: zigzag id follows), value
//! list   := size << 4 | type (size 15: varint follows), element*        binary := varint length, bytes
//! FileMetaData { 2: list<SchemaElement { 5: i32 num_children }>, 4: list<RowGroup>, … }
//! ```

use crate::error::{Error, Result};

const STOP: u8 = 0;
const BOOLEAN_TRUE: u8 = 1;
const BOOLEAN_FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// How deep Thrift structures and the columns of a schema may be nested.
const MAX_DEPTH: usize = 96;

/// Row groups are numbered with 16 bits.
const MAX_ROW_GROUPS: usize = i16::MAX as usize + 1;

/// Refuses a footer whose lengths cannot be true.
pub(super) fn check_footer(bytes: &[u8]) -> Result<()> {
    let mut reader = Reader { bytes };
    reader.structure(0, &mut |reader, id, kind| match (id, kind) {
        (2, LIST) => schema(reader).map(|()| true),
        (4, LIST) => {
            let (groups, kind) = reader.list()?;
            if groups > MAX_ROW_GROUPS {
                return Err(wrong("there are more row groups than can be numbered"));
            }
            reader.elements(groups, kind, 1)?;
            Ok(true)
        }
        _ => Ok(false),
    })
}

/// Refuses a structure whose lengths cannot be true; what follows it does not matter.
pub(super) fn check_structure(bytes: &[u8]) -> Result<()> {
    Reader { bytes }.structure(0, &mut |_, _, _| Ok(false))
}

/// How many bytes a Bloom filter takes with its header, which begins it.
///
/// ```text
/// BloomFilterHeader { 1: i32 numBytes, … }, numBytes bytes
/// ```
pub(super) fn bloom_filter_bytes(bytes: &[u8]) -> Result<u64> {
    let (mut reader, mut bits) = (Reader { bytes }, 0);
    reader.structure(0, &mut |reader, id, kind| {
        if (id, kind) != (1, I32) {
            return Ok(false);
        }
        bits = u64::try_from(zigzag(reader.varint()?)).map_err(|_| wrong("a Bloom filter has a negative length"))?;
        Ok(true)
    })?;
    let header = bytes.len().saturating_sub(reader.bytes.len()) as u64;
    Ok(header.saturating_add(bits))
}

/// The elements of a schema are its tree in depth-first order, each with the number of its children.
fn schema(reader: &mut Reader<'_>) -> Result<()> {
    let (count, kind) = reader.list()?;
    if kind != STRUCT {
        return Err(wrong("the schema is no list of structs"));
    }
    let mut open: Vec<usize> = vec![];
    for position in 0..count {
        let children = element(reader)?;
        if children > count - position {
            return Err(wrong("a schema element has more children than there are elements"));
        }
        if let Some(siblings) = open.last_mut() {
            *siblings = siblings.saturating_sub(1);
        }
        open.push(children);
        if open.len() > MAX_DEPTH {
            return Err(Error::unsupported("Parquet columns nested that deep"));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
}

/// The number of children of one schema element.
fn element(reader: &mut Reader<'_>) -> Result<usize> {
    let mut children = 0;
    reader.structure(1, &mut |reader, id, kind| {
        if (id, kind) != (5, I32) {
            return Ok(false);
        }
        children = usize::try_from(zigzag(reader.varint()?)).map_err(|_| wrong("a number of children is negative"))?;
        Ok(true)
    })?;
    Ok(children)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.bytes.split_first().ok_or_else(|| wrong("it ends early"))?;
        self.bytes = rest;
        Ok(*first)
    }

    fn skip_bytes(&mut self, length: u64) -> Result<()> {
        let rest = usize::try_from(length).ok().and_then(|length| self.bytes.get(length..));
        self.bytes = rest.ok_or_else(|| wrong("it ends early"))?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(wrong("a number is too long"))
    }

    /// Size and element type of a list; every element takes a byte at least.
    fn list(&mut self) -> Result<(usize, u8)> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => self.varint()?,
            size => u64::from(size),
        };
        match usize::try_from(size) {
            Ok(size) if size <= self.bytes.len() => Ok((size, head & 0x0f)),
            _ => Err(wrong("a list is longer than the bytes that are left")),
        }
    }

    fn elements(&mut self, count: usize, kind: u8, depth: usize) -> Result<()> {
        for _ in 0..count {
            match kind {
                BOOLEAN_TRUE | BOOLEAN_FALSE => self.skip_bytes(1)?,
                kind => self.skip(kind, depth)?,
            }
        }
        Ok(())
    }

    /// Goes through the fields of a struct; those that `field` does not take are skipped.
    fn structure(&mut self, depth: usize, field: &mut FieldReader<'_>) -> Result<()> {
        let mut id = 0i64;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == STOP {
                return Ok(());
            }
            id = match head >> 4 {
                0 => zigzag(self.varint()?),
                delta => id.wrapping_add(i64::from(delta)),
            };
            if !field(self, id, kind)? {
                self.skip(kind, depth)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(wrong("it is nested too deep"));
        }
        match kind {
            BOOLEAN_TRUE | BOOLEAN_FALSE => Ok(()),
            BYTE => self.skip_bytes(1),
            4..=6 => self.varint().map(drop),
            DOUBLE => self.skip_bytes(8),
            UUID => self.skip_bytes(16),
            BINARY => self.varint().and_then(|length| self.skip_bytes(length)),
            LIST | SET => self.list().and_then(|(count, kind)| self.elements(count, kind, depth + 1)),
            MAP => self.map(depth),
            STRUCT => self.structure(depth + 1, &mut |_, _, _| Ok(false)),
            _ => Err(wrong("a type is none of Thrift's")),
        }
    }

    fn map(&mut self, depth: usize) -> Result<()> {
        let size = self.varint()?;
        if size == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..size {
            self.elements(1, kinds >> 4, depth + 1)?;
            self.elements(1, kinds & 0x0f, depth + 1)?;
        }
        Ok(())
    }
}

/// Reads the field of an id and a type, or says that it did not.
type FieldReader<'f> = dyn FnMut(&mut Reader<'_>, i64, u8) -> Result<bool> + 'f;

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn wrong(why: &str) -> Error {
    Error::corrupt(format!("the Parquet footer is no Thrift structure of a file's metadata: {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_that_lie_are_refused() {
        for (name, bytes) in [
            ("row groups", vec![0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00]),
            ("schema elements", vec![0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00]),
            // One element, num_children = 2^31 - 1.
            ("children", vec![0x29, 0x1c, 0x55, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x00]),
            ("text", vec![0x68, 0xff, 0xff, 0xff, 0x7f, 0x00]),
            ("nothing", vec![]),
            ("type", vec![0x1e, 0x00]),
        ] {
            assert!(check_footer(&bytes).is_err(), "{name}");
        }
        assert!(check_footer(&[0x15, 0x02, 0x00]).is_ok());
    }

    #[test]
    fn deep_nesting_is_refused() {
        let structs = vec![0x1c; 100_000];
        assert!(check_footer(&structs).is_err());
        // A schema in which each element has one child.
        let mut chain = vec![0x29, 0xfc, 0xa0, 0x8d, 0x06];
        chain.extend([0x55, 0x02, 0x00].repeat(100_000));
        chain.push(0);
        assert!(check_footer(&chain).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = check_footer(&bytes);
        }
    }
}
