//! Run-length encoded bytes, and the bits that ORC packs into them.
//!
//! In: a [`ByteStream`]. Out: bytes, or bits as an Arrow buffer. Used for TINYINT, BOOLEAN and the PRESENT streams.
//!
//! ```text
//! run      = count - 3 (0..=127) value             3 to 130 times the same byte
//! literals = -count (as i8: -1..=-128) count × byte
//! bits     = those bytes, the first bit in the highest place
//! ```

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};

use super::codec::{ByteStream, TRUSTED_BYTES};
use crate::error::Result;

/// Bytes in runs.
pub(super) struct ByteRle {
    bytes: ByteStream,
    left: usize,
    repeated: Option<u8>,
    /// How many bytes are not wanted before the first one that is.
    skipped: usize,
}

impl ByteRle {
    pub(super) fn new(bytes: ByteStream) -> Self {
        let skipped = bytes.start().values;
        Self { bytes, left: 0, repeated: None, skipped }
    }

    /// Appends the next `n` bytes to `out`.
    pub(super) fn read(&mut self, n: usize, out: &mut Vec<u8>) -> Result<()> {
        if n > 0 && self.skipped > 0 {
            let skipped = std::mem::take(&mut self.skipped);
            self.read(skipped, &mut vec![])?;
        }
        out.reserve(n.min(TRUSTED_BYTES));
        let mut left = n;
        while left > 0 {
            if self.left == 0 {
                self.next_run()?;
            }
            let part = self.left.min(left);
            match self.repeated {
                Some(value) => out.resize(out.len() + part, value),
                None => self.bytes.read(part, out)?,
            }
            self.left -= part;
            left -= part;
        }
        Ok(())
    }

    fn next_run(&mut self) -> Result<()> {
        let control = self.bytes.byte()?;
        if control < 0x80 {
            self.repeated = Some(self.bytes.byte()?);
            self.left = usize::from(control) + 3;
        } else {
            self.repeated = None;
            self.left = 256 - usize::from(control);
        }
        Ok(())
    }
}

/// Bits in run-length encoded bytes.
pub(super) struct Bits {
    bytes: ByteRle,
    /// The byte that was read in part, its first bit in the lowest place as Arrow has it, and how many bits are gone.
    partial: u8,
    used: usize,
    /// How many bits are not wanted before the first one that is.
    skipped: usize,
}

impl Bits {
    pub(super) fn new(bytes: ByteStream) -> Self {
        let skipped = bytes.start().bits;
        Self { bytes: ByteRle::new(bytes), partial: 0, used: 0, skipped }
    }

    /// The next `n` bits.
    pub(super) fn read(&mut self, n: usize) -> Result<BooleanBuffer> {
        if n > 0 && self.skipped > 0 {
            let skipped = std::mem::take(&mut self.skipped);
            self.read(skipped)?;
        }
        let used = self.used;
        let kept = usize::from(used > 0);
        let end = used.saturating_add(n);
        let mut packed = vec![];
        if used > 0 {
            packed.push(self.partial);
        }
        self.bytes.read(end.div_ceil(8) - kept, &mut packed)?;
        for byte in packed.iter_mut().skip(kept) {
            *byte = byte.reverse_bits();
        }
        self.used = end % 8;
        self.partial = packed.last().copied().unwrap_or_default();
        Ok(BooleanBuffer::new(Buffer::from_vec(packed), used, n))
    }
}

/// The PRESENT stream of a column: which of its values are not NULL.
pub(super) struct Present(Option<Bits>);

impl Present {
    /// Without a stream no value is NULL, but for those whose parent is.
    pub(super) fn new(bytes: Option<ByteStream>) -> Self {
        Self(bytes.map(Bits::new))
    }

    /// The NULLs of the next `rows` values, `None` = none, and how many values the data streams hold for them. A value
    /// whose parent is NULL has no bit here and no value in the data streams.
    pub(super) fn read(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<(Option<NullBuffer>, usize)> {
        let parent = parent.filter(|p| p.null_count() > 0);
        let slots = rows.saturating_sub(parent.map_or(0, NullBuffer::null_count));
        let own = match &mut self.0 {
            Some(bits) => Some(NullBuffer::new(bits.read(slots)?)).filter(|own| own.null_count() > 0),
            None => None,
        };
        let values = slots.saturating_sub(own.as_ref().map_or(0, NullBuffer::null_count));
        let nulls = match (parent, own) {
            (Some(parent), Some(own)) => Some(NullBuffer::new(spread_bits(own.inner(), rows, Some(parent)))),
            (parent, own) => own.or_else(|| parent.cloned()),
        };
        Ok((nulls, values))
    }
}

/// Puts bits, one for each value that is not NULL, where the values are.
pub(super) fn spread_bits(bits: &BooleanBuffer, rows: usize, nulls: Option<&NullBuffer>) -> BooleanBuffer {
    let Some(nulls) = nulls else { return bits.clone() };
    let mut out = BooleanBufferBuilder::new(rows);
    out.append_n(rows, false);
    for (row, bit) in nulls.valid_indices().zip(bits) {
        out.set_bit(row, bit);
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::super::codec::Compression;
    use super::*;
    use proptest::prelude::*;

    fn stream(bytes: &[u8]) -> ByteStream {
        ByteStream::new(bytes::Bytes::copy_from_slice(bytes), Compression::new(0, 0).unwrap()).unwrap()
    }

    fn encode(values: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        let mut rest = values;
        while let Some(first) = rest.first() {
            let run = rest.iter().take_while(|v| *v == first).count().min(130);
            if run >= 3 {
                out.extend([(run - 3) as u8, *first]);
                rest = &rest[run..];
            } else {
                let n = rest.len().min(1 + usize::from(*first) % 128);
                out.push((256 - n) as u8);
                out.extend(&rest[..n]);
                rest = &rest[n..];
            }
        }
        out
    }

    #[test]
    fn runs_literals_and_bits() {
        let mut out = vec![];
        ByteRle::new(stream(&[0x61, 0x00, 0xfe, 0x44, 0x45])).read(102, &mut out).unwrap();
        assert_eq!((out[99], out[100], out[101]), (0, 0x44, 0x45));
        let mut bits = Bits::new(stream(&[0xff, 0x80]));
        assert_eq!(bits.read(3).unwrap().iter().collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(bits.read(5).unwrap().count_set_bits(), 0);
        assert!(bits.read(1).is_err());
    }

    #[test]
    fn nulls_are_those_of_the_parent_and_of_the_column() {
        let parent = NullBuffer::from(vec![true, false, true, true]);
        let mut present = Present::new(Some(stream(&[0xff, 0b1010_0000])));
        let (nulls, values) = present.read(4, Some(&parent)).unwrap();
        assert_eq!((nulls, values), (Some(NullBuffer::from(vec![true, false, false, true])), 2));
        assert_eq!(Present::new(None).read(4, Some(&parent)).unwrap(), (Some(parent), 3));
        assert_eq!(Present::new(None).read(4, None).unwrap(), (None, 4));
    }

    proptest! {
        #[test]
        fn bytes_and_bits_round_trip(values in proptest::collection::vec(0u8..5, 1..400), pieces in proptest::collection::vec(0usize..40, 1..20)) {
            let encoded = encode(&values);
            let mut out = vec![];
            ByteRle::new(stream(&encoded)).read(values.len(), &mut out).unwrap();
            prop_assert_eq!(&out, &values);
            let want: Vec<bool> = values.iter().flat_map(|v| (0..8).rev().map(move |i| v >> i & 1 == 1)).collect();
            let mut bits = Bits::new(stream(&encoded));
            let mut at = 0;
            for piece in pieces.into_iter().cycle().take(1000).filter(|p| *p > 0) {
                let piece = piece.min(want.len() - at);
                prop_assert_eq!(bits.read(piece).unwrap().iter().collect::<Vec<_>>(), &want[at..at + piece]);
                at += piece;
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), n in 0usize..100_000) {
            let _ = ByteRle::new(stream(&bytes)).read(n, &mut vec![]);
            let _ = Bits::new(stream(&bytes)).read(n);
        }
    }
}
