//! What a stripe's footer says, and the streams of a stripe, or of some of its row groups, in memory: [`Stripe`].
//!
//! ```text
//! stripe = index-stream* data-stream* footer              streams in the order in which the footer lists them
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::ArrayRef;
use bytes::Bytes;

use super::codec::{ByteStream, Compression, Start};
use super::protobuf::Message;
use super::tail::{StripeInformation, Tail};
use super::zone::Zone;
use crate::error::{Error, Result};

/// The longest footer of a stripe that is accepted, decompressed.
const MAX_FOOTER_BYTES: usize = 256 << 20;

/// What a stream holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum StreamKind {
    Present,
    Data,
    Length,
    DictionaryData,
    Secondary,
}

/// How a column is encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Encoding {
    /// Strings are numbers of entries of a dictionary.
    pub(super) dictionary: bool,
    /// Integers are in version 2 of the run-length encoding.
    pub(super) version_2: bool,
    pub(super) dictionary_size: u32,
}

/// A stream: which column's, and what it holds.
pub(super) type StreamKey = (u32, StreamKind);

/// A stripe in memory, or some of its row groups.
#[derive(Debug, Default)]
pub(super) struct Stripe {
    /// The rows that are wanted, from the first one of the stripe on.
    pub(super) rows: Range<u64>,
    /// The row whose values the streams begin with.
    pub(super) first_row: u64,
    /// Whether the streams were cut by the stripe's index.
    pub(super) by_index: bool,
    /// What else of the stripe it has in common with other parts of it.
    pub(super) common: Arc<Common>,
    /// The bytes of streams, and where in them to begin.
    pub(super) streams: HashMap<StreamKey, (Bytes, Start)>,
}

/// What all parts of a stripe have in common.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) compression: Compression,
    pub(super) encodings: Vec<Encoding>,
    pub(super) zone: Option<String>,
    /// The dictionaries that were decoded, by column.
    dictionaries: Mutex<HashMap<u32, ArrayRef>>,
}

impl Stripe {
    /// Rows of a stripe of which no column is wanted.
    pub(super) fn of_rows(rows: Range<u64>) -> Self {
        Stripe { first_row: rows.start, rows, ..Self::default() }
    }

    /// How many bytes of the file it holds.
    pub(super) fn fetched_bytes(&self) -> u64 {
        self.streams.values().map(|(bytes, _)| bytes.len() as u64).sum()
    }

    /// A stream of a column; `None` where the stripe has none, because it would be empty or tell nothing.
    pub(super) fn take(&mut self, column: u32, kind: StreamKind) -> Result<Option<ByteStream>> {
        let stream = self.streams.remove(&(column, kind));
        stream.map(|(bytes, start)| ByteStream::begun(bytes, self.common.compression, start)).transpose()
    }

    /// As [`take`](Self::take), but an empty stream for none.
    pub(super) fn take_or_empty(&mut self, column: u32, kind: StreamKind) -> Result<ByteStream> {
        match self.take(column, kind)? {
            Some(stream) => Ok(stream),
            None => ByteStream::new(Bytes::new(), self.common.compression),
        }
    }

    /// The entries of a column's dictionary, decoded once for all parts of the stripe.
    pub(super) fn dictionary(
        &mut self,
        column: u32,
        decode: impl FnOnce(&mut Self) -> Result<ArrayRef>,
    ) -> Result<ArrayRef> {
        let common = Arc::clone(&self.common);
        let mut dictionaries = common.dictionaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = dictionaries.get(&column) {
            return Ok(Arc::clone(entries));
        }
        let entries = decode(self)?;
        dictionaries.insert(column, Arc::clone(&entries));
        Ok(entries)
    }

    /// The encoding of a column.
    pub(super) fn encoding(&self, column: u32) -> Result<Encoding> {
        let encoding = self.common.encodings.get(column as usize).copied();
        encoding.ok_or_else(|| Error::corrupt(format!("the stripe's footer has no encoding for column {column}")))
    }

    /// The zone of the writer; UTC where the footer has none.
    pub(super) fn zone(&self) -> Result<Zone> {
        let name = self.common.zone.as_deref().unwrap_or_default();
        Zone::parse(name).ok_or_else(|| Error::corrupt(format!("the writer's time zone '{name}' is not known")))
    }
}

/// What a stripe's footer says.
#[derive(Debug, Default)]
pub(super) struct StripeFooter {
    pub(super) encodings: Vec<Encoding>,
    zone: Option<String>,
    streams: Vec<(StreamKey, Range<u64>)>,
    /// Where the indexes of columns are.
    indexes: Vec<(u32, Range<u64>)>,
}

impl StripeFooter {
    pub(super) fn parse(bytes: Bytes, tail: &Tail, information: &StripeInformation) -> Result<Self> {
        let bytes = ByteStream::new(bytes, tail.compression)?.read_to_end(MAX_FOOTER_BYTES)?;
        let mut footer = Self::default();
        let mut offset = information.offset;
        let mut message = Message::new(&bytes);
        while let Some((number, value)) = message.next()? {
            match number {
                1 => footer.add_stream(value.bytes()?, &mut offset, information)?,
                2 => footer.encodings.push(encoding(value.bytes()?)?),
                3 => footer.zone = Some(value.text()?),
                4 => return Err(Error::unsupported("ORC column encryption")),
                _ => {}
            }
        }
        if footer.encodings.len() != tail.types.len() {
            let (encodings, types) = (footer.encodings.len(), tail.types.len());
            return Err(Error::corrupt(format!("a stripe has encodings for {encodings} columns, expected {types}")));
        }
        Ok(footer)
    }

    fn add_stream(&mut self, bytes: &[u8], offset: &mut u64, information: &StripeInformation) -> Result<()> {
        let (mut kind, mut column, mut length) = (0, 0, 0);
        let mut message = Message::new(bytes);
        while let Some((number, value)) = message.next()? {
            match number {
                1 => kind = value.number()?,
                2 => column = value.number_u32()?,
                3 => length = value.number()?,
                _ => {}
            }
        }
        let end = offset.checked_add(length).filter(|end| *end <= information.footer_range().start);
        let Some(end) = end else {
            return Err(Error::corrupt(format!("a stream of {length} bytes at {offset} does not fit into its stripe")));
        };
        let range = std::mem::replace(offset, end)..end;
        let kind = match kind {
            0 => StreamKind::Present,
            1 => StreamKind::Data,
            2 => StreamKind::Length,
            3 => StreamKind::DictionaryData,
            5 => StreamKind::Secondary,
            6 => {
                self.indexes.push((column, range));
                return Ok(());
            }
            _ => return Ok(()),
        };
        if range.start < information.offset.saturating_add(information.index_bytes) && !range.is_empty() {
            return Err(Error::corrupt(format!("a data stream at {} among the indexes of its stripe", range.start)));
        }
        self.streams.push(((column, kind), range));
        Ok(())
    }

    /// The streams of some columns.
    pub(super) fn wanted(&self, columns: &HashSet<u32>) -> Vec<(StreamKey, Range<u64>)> {
        let wanted = |((column, _), range): &&(StreamKey, Range<u64>)| columns.contains(column) && !range.is_empty();
        self.streams.iter().filter(wanted).cloned().collect()
    }

    /// The indexes of some columns.
    pub(super) fn wanted_indexes(&self, columns: &HashSet<u32>) -> Vec<(u32, Range<u64>)> {
        self.indexes.iter().filter(|(column, _)| columns.contains(column)).cloned().collect()
    }

    /// What all parts of the stripe have in common.
    pub(super) fn common(self, tail: &Tail) -> Arc<Common> {
        let (compression, encodings, zone) = (tail.compression, self.encodings, self.zone);
        Arc::new(Common { compression, encodings, zone, dictionaries: Mutex::default() })
    }
}

fn encoding(bytes: &[u8]) -> Result<Encoding> {
    let mut encoding = Encoding::default();
    let mut message = Message::new(bytes);
    while let Some((number, value)) = message.next()? {
        match (number, value) {
            (1, value) => {
                let kind = value.number()?;
                if kind > 3 {
                    return Err(Error::corrupt(format!("column encoding {kind}, expected 0 to 3")));
                }
                encoding.dictionary = kind & 1 == 1;
                encoding.version_2 = kind & 2 == 2;
            }
            (2, value) => encoding.dictionary_size = value.number_u32()?,
            _ => {}
        }
    }
    Ok(encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tail() -> Tail {
        let compression = Compression::new(0, 0).unwrap();
        Tail { compression, types: vec![], stripes: vec![], metadata: 0..0, row_group_rows: 0, statistics: None }
    }

    #[test]
    fn streams_lie_one_after_the_other_inside_the_stripe() {
        let information = StripeInformation { offset: 3, index_bytes: 10, data_bytes: 20, footer_bytes: 9, rows: 1 };
        let stream = |kind: u8, column: u8, length: u8| vec![0x0a, 6, 0x08, kind, 0x10, column, 0x18, length];
        let bytes = [stream(6, 0, 10), stream(0, 1, 4), stream(1, 1, 16)].concat();
        let footer = StripeFooter::parse(Bytes::from(bytes), &tail(), &information).unwrap();
        assert_eq!(footer.streams, [((1, StreamKind::Present), 13..17), ((1, StreamKind::Data), 17..33)]);
        for bytes in [stream(1, 1, 31), stream(1, 1, 5), vec![0x12, 2, 0x08, 9], vec![0x12, 0]] {
            assert!(StripeFooter::parse(Bytes::from(bytes), &tail(), &information).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_footer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let information = StripeInformation { offset: 3, index_bytes: 10, data_bytes: 200, footer_bytes: 9, rows: 1 };
            let _ = StripeFooter::parse(Bytes::from(bytes), &tail(), &information);
        }
    }
}
