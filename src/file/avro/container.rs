//! The framing of an Avro object container file.
//!
//! In: the first bytes of a file, and the bytes where a block begins. Out: a [`Header`], and [`BlockHead`]s. Nothing
//! here reads or decompresses; whoever has the bytes checks them with these.
//!
//! ```text
//! file    "Obj" 01 | metadata: map<bytes> with avro.schema (JSON) and avro.codec | sync[16] | block …
//! block   long rows | long data_bytes | data | sync[16]
//! ```

use super::codec::Codec;
use super::cursor::{Cursor, Fault};
use super::schema::Node;
use crate::error::{Error, Result};

/// What an Avro file begins with.
pub(crate) const MAGIC: &[u8; 4] = b"Obj\x01";

/// The size of the marker that ends the header and each block.
pub(crate) const SYNC_BYTES: usize = 16;

/// The most bytes that the two numbers before a block's data take.
pub(crate) const MAX_HEAD_BYTES: usize = 20;

/// What the beginning of a file says of all of it.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// What the records are.
    pub(crate) schema: Node,
    /// How blocks are compressed.
    pub(crate) codec: Codec,
    /// The marker that ends the header and each block.
    pub(crate) sync: [u8; SYNC_BYTES],
    /// Where the first block begins.
    pub(crate) end: usize,
}

impl Header {
    /// Reads the header off the first bytes of a file; `None` where it does not end in them.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let magic = bytes.get(..MAGIC.len()).unwrap_or(bytes);
        if !MAGIC.starts_with(magic) {
            return Err(Error::corrupt(format!(
                "expected the Avro magic 'Obj\\x01', found '{}'",
                magic.escape_ascii()
            )));
        }
        match Frame::parse(bytes) {
            Ok(Frame { schema, codec, sync, end }) => {
                let schema = schema.ok_or_else(|| Error::corrupt("the Avro header lacks 'avro.schema'"))?;
                Ok(Some(Self { schema: Node::parse(schema)?, codec: Codec::of_name(codec)?, sync, end }))
            }
            Err(Fault::Truncated) => Ok(None),
            Err(fault) => Err(Error::corrupt(format!("Avro header: {fault}"))),
        }
    }
}

/// The parts of a header.
struct Frame<'a> {
    schema: Option<&'a [u8]>,
    codec: &'a [u8],
    sync: [u8; SYNC_BYTES],
    end: usize,
}

impl<'a> Frame<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        let (mut schema, mut codec): (_, &'a [u8]) = (None, b"null");
        let mut cursor = Cursor::new(bytes);
        cursor.take(MAGIC.len())?;
        loop {
            let count = cursor.long()?;
            if count == 0 {
                break;
            }
            if count < 0 {
                cursor.skip_varint()?;
            }
            for _ in 0..count.unsigned_abs() {
                match (cursor.bytes()?, cursor.bytes()?) {
                    (b"avro.schema", value) => schema = Some(value),
                    (b"avro.codec", value) => codec = value,
                    _ => {}
                }
            }
        }
        let sync = cursor.array()?;
        Ok(Self { schema, codec, sync, end: bytes.len() - cursor.remaining() })
    }
}

/// The numbers before a block's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHead {
    /// How many records it has.
    pub(crate) rows: u64,
    /// The size of its data as they lie in the file.
    pub(crate) data_bytes: u64,
    /// The size of these numbers themselves.
    pub(crate) head_bytes: usize,
}

impl BlockHead {
    /// Reads the numbers; `available_bytes` is how far the file goes on from where the block begins.
    pub(crate) fn parse(bytes: &[u8], available_bytes: u64) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let mut number = || u64::try_from(cursor.long()?).map_err(|_| Fault::Length);
        let mut both = || Ok((number()?, number()?));
        let (rows, data_bytes) = both().map_err(|f: Fault| Error::corrupt(format!("Avro block: {f}")))?;
        let head = Self { rows, data_bytes, head_bytes: bytes.len() - cursor.remaining() };
        let needed = data_bytes.saturating_add((head.head_bytes + SYNC_BYTES) as u64);
        if needed > available_bytes {
            return Err(Error::corrupt(format!(
                "an Avro block of {needed} bytes does not fit into the {available_bytes} that are left of the file"
            )));
        }
        Ok(head)
    }
}

/// Refuses a block that does not end in the file's marker.
pub(crate) fn check_sync(found: &[u8], sync: &[u8; SYNC_BYTES]) -> Result<()> {
    if found == sync { Ok(()) } else { Err(Error::corrupt("an Avro block does not end in the file's sync marker")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::avro::testing::header;

    #[test]
    fn a_header_is_read_once_it_is_whole() {
        let bytes = header("\"int\"", Some("snappy"));
        for n in 0..bytes.len() {
            assert!(Header::parse(&bytes[..n]).unwrap().is_none(), "{n}");
        }
        let mut longer = bytes.clone();
        longer.extend([1, 2, 3]);
        let h = Header::parse(&longer).unwrap().unwrap();
        assert_eq!((h.codec, h.end, h.sync), (Codec::Snappy, bytes.len(), crate::file::avro::testing::SYNC));
        assert_eq!(Header::parse(&header("\"int\"", None)).unwrap().unwrap().codec, Codec::Null);
        assert!(Header::parse(&header("\"int\"", Some("lzo"))).is_err());
        assert!(Header::parse(b"ORC").is_err());
        assert!(Header::parse(b"Obj\x01\x00aaaaaaaaaaaaaaaa").is_err());
    }

    #[test]
    fn a_block_must_fit_into_the_file() {
        let want = BlockHead { rows: 1, data_bytes: 2, head_bytes: 2 };
        assert_eq!(BlockHead::parse(&[2, 4, 9, 9], 20).unwrap(), want);
        for (bytes, available) in [(&[2, 4][..], 19), (&[1, 4], 99), (&[2, 3], 99), (&[2], 99), (&[0xff; 20], 99)] {
            assert!(BlockHead::parse(bytes, available).is_err(), "{bytes:?}");
        }
    }
}
