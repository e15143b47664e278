//! The wire format of Protocol Buffers, as far as the metadata of ORC uses it.
//!
//! In: the bytes of one message. Out: its fields, one after the other, borrowed from the bytes. Nothing is allocated,
//! and no length is believed before it is compared with what is there.
//!
//! ```text
//! key = varint(number << 3 | wire)   wire 0: varint    wire 1: 8 bytes    wire 2: varint length, bytes    wire 5: 4 bytes
//! ```

use crate::error::{Error, Result};

/// A message that is being read.
pub(super) struct Message<'a> {
    rest: &'a [u8],
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    /// An integer or enum.
    Varint(u64),
    /// A string, nested message or packed list.
    Bytes(&'a [u8]),
    /// A fixed number of four or eight bytes, which ORC has in statistics only.
    Fixed,
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field's number and value; `None` at the end of the message.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.bytes(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.bytes(length)?)
            }
            5 => self.bytes(4).map(|_| Value::Fixed)?,
            wire => {
                return Err(Error::corrupt(format!("a field of metadata has wire type {wire}, expected 0, 1, 2 or 5")));
            }
        };
        Ok(Some((key >> 3, value)))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.rest.split_first() else {
                return Err(Error::corrupt("metadata ends inside a number"));
            };
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("a number of metadata has more than ten bytes"))
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let Some((bytes, rest)) = split else {
            return Err(Error::corrupt(format!(
                "a field of metadata claims {length} bytes, {} are left",
                self.rest.len()
            )));
        };
        self.rest = rest;
        Ok(bytes)
    }
}

impl<'a> Value<'a> {
    pub(super) fn number(self) -> Result<u64> {
        match self {
            Value::Varint(v) => Ok(v),
            _ => Err(Error::corrupt("metadata has bytes where a number is expected")),
        }
    }

    pub(super) fn number_u32(self) -> Result<u32> {
        let v = self.number()?;
        u32::try_from(v).map_err(|_| Error::corrupt(format!("metadata has the number {v}, expected at most 32 bits")))
    }

    pub(super) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Value::Bytes(b) => Ok(b),
            _ => Err(Error::corrupt("metadata has a number where bytes are expected")),
        }
    }

    pub(super) fn text(self) -> Result<String> {
        let text = std::str::from_utf8(self.bytes()?);
        text.map(str::to_owned).map_err(|e| Error::corrupt("a name in metadata is not UTF-8").caused_by(e))
    }

    /// The numbers of a repeated field: one, or a packed list.
    pub(super) fn numbers(self, out: &mut Vec<u64>) -> Result<()> {
        if let Value::Bytes(bytes) = self {
            let mut list = Message::new(bytes);
            while !list.rest.is_empty() {
                out.push(list.varint()?);
            }
            return Ok(());
        }
        out.push(self.number()?);
        Ok(())
    }

    /// As [`numbers`](Self::numbers), each of at most 32 bits.
    pub(super) fn numbers_u32(self, out: &mut Vec<u32>) -> Result<()> {
        let mut wide = vec![];
        self.numbers(&mut wide)?;
        for number in wide {
            out.push(Value::Varint(number).number_u32()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_read_in_order() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x19, 0, 0, 0, 0, 0, 0, 0, 0, 0x22, 3, 1, 0x80, 1];
        let mut m = Message::new(&bytes);
        assert_eq!(m.next().unwrap(), Some((1, Value::Varint(150))));
        assert_eq!(m.next().unwrap().unwrap().1.text().unwrap(), "hi");
        assert_eq!(m.next().unwrap(), Some((3, Value::Fixed)));
        let mut list = vec![];
        m.next().unwrap().unwrap().1.numbers_u32(&mut list).unwrap();
        assert_eq!((list, m.next().unwrap()), (vec![1, 128], None));
    }

    #[test]
    fn what_ends_early_is_corrupt() {
        for bytes in [&[0x08][..], &[0x08, 0x80], &[0x12, 5, 1], &[0x0b], &[0x80; 11], &[0x19, 0]] {
            assert!(Message::new(bytes).next().is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut m = Message::new(&bytes);
            while let Ok(Some((_, value))) = m.next() {
                let _ = (value.number(), value.text(), value.numbers_u32(&mut vec![]));
            }
        }
    }
}
