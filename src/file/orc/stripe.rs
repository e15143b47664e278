//! One stripe: its footer and the bytes of the streams that are wanted.
//!
//! In: where the stripe is, and which columns are wanted. Out: a [`Stripe`] in memory. Indexes, bloom filters and the
//! streams of other columns are not fetched; a stripe that is small or wanted whole comes with one request, another one
//! with two, first its footer, then its streams, near ones together.
//!
//! ```text
//! stripe = index-stream* data-stream* footer              streams in the order in which the footer lists them
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use bytes::Bytes;

use super::codec::{ByteStream, Compression};
use super::protobuf::Message;
use super::tail::{Source, StripeInformation, Tail};
use super::zone::Zone;
use crate::error::{Error, Result};

/// A stripe whose data are not longer is fetched whole.
const WHOLE_BYTES: u64 = 1 << 20;
/// Streams are fetched together when not more than this is between them.
const GAP_BYTES: u64 = 16 << 10;
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

/// A stripe in memory.
#[derive(Debug)]
pub(super) struct Stripe {
    pub(super) rows: u64,
    compression: Compression,
    encodings: Vec<Encoding>,
    zone: Option<String>,
    streams: HashMap<(u32, StreamKind), Bytes>,
}

impl Stripe {
    /// A stripe of which no column is wanted.
    pub(super) fn of_rows(rows: u64, tail: &Tail) -> Self {
        Stripe { rows, compression: tail.compression, encodings: vec![], zone: None, streams: HashMap::new() }
    }

    /// Fetches what the columns with these numbers need.
    pub(super) async fn load(
        source: &Source,
        tail: &Tail,
        information: StripeInformation,
        wanted: &HashSet<u32>,
    ) -> Result<Self> {
        let footer_range = information.footer_range();
        let data_start = information.offset.saturating_add(information.index_bytes);
        let all = wanted.len() + 1 >= tail.types.len();
        if all || information.data_bytes <= WHOLE_BYTES {
            let range = data_start..footer_range.end;
            let bytes = source.read(std::slice::from_ref(&range)).await?.pop().unwrap_or_default();
            let footer = part(&bytes, data_start, &footer_range)?;
            let footer = StripeFooter::parse(footer, tail, &information)?;
            let streams = footer.wanted(wanted);
            let streams = streams.into_iter().map(|(key, range)| Ok((key, part(&bytes, data_start, &range)?)));
            return Ok(footer.with_streams(streams.collect::<Result<_>>()?, tail, &information));
        }
        let footer = source.read(&[footer_range]).await?.pop().unwrap_or_default();
        let footer = StripeFooter::parse(footer, tail, &information)?;
        let streams = footer.wanted(wanted);
        let ranges = merge(streams.iter().map(|(_, range)| range));
        let parts = source.read(&ranges).await?;
        let streams = streams.into_iter().map(|(key, range)| {
            let at = ranges.partition_point(|merged| merged.start <= range.start).saturating_sub(1);
            match (ranges.get(at), parts.get(at)) {
                (Some(merged), Some(bytes)) => Ok((key, part(bytes, merged.start, &range)?)),
                _ => Err(Error::internal("a stream was not fetched")),
            }
        });
        Ok(footer.with_streams(streams.collect::<Result<_>>()?, tail, &information))
    }

    /// How many bytes of the file it holds.
    pub(super) fn fetched_bytes(&self) -> u64 {
        self.streams.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// A stream of a column; `None` where the stripe has none, because it would be empty or tell nothing.
    pub(super) fn take(&mut self, column: u32, kind: StreamKind) -> Result<Option<ByteStream>> {
        self.streams.remove(&(column, kind)).map(|bytes| ByteStream::new(bytes, self.compression)).transpose()
    }

    /// As [`take`](Self::take), but an empty stream for none.
    pub(super) fn take_or_empty(&mut self, column: u32, kind: StreamKind) -> Result<ByteStream> {
        match self.take(column, kind)? {
            Some(stream) => Ok(stream),
            None => ByteStream::new(Bytes::new(), self.compression),
        }
    }

    /// The encoding of a column.
    pub(super) fn encoding(&self, column: u32) -> Result<Encoding> {
        let encoding = self.encodings.get(column as usize).copied();
        encoding.ok_or_else(|| Error::corrupt(format!("the stripe's footer has no encoding for column {column}")))
    }

    /// The zone of the writer; UTC where the footer has none.
    pub(super) fn zone(&self) -> Result<Zone> {
        let name = self.zone.as_deref().unwrap_or_default();
        Zone::parse(name).ok_or_else(|| Error::corrupt(format!("the writer's time zone '{name}' is not known")))
    }
}

/// What a stripe's footer says.
#[derive(Debug, Default)]
struct StripeFooter {
    encodings: Vec<Encoding>,
    zone: Option<String>,
    streams: Vec<((u32, StreamKind), Range<u64>)>,
}

impl StripeFooter {
    fn parse(bytes: Bytes, tail: &Tail, information: &StripeInformation) -> Result<Self> {
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
            _ => return Ok(()),
        };
        if range.start < information.offset.saturating_add(information.index_bytes) && !range.is_empty() {
            return Err(Error::corrupt(format!("a data stream at {} among the indexes of its stripe", range.start)));
        }
        self.streams.push(((column, kind), range));
        Ok(())
    }

    fn wanted(&self, columns: &HashSet<u32>) -> Vec<((u32, StreamKind), Range<u64>)> {
        self.streams
            .iter()
            .filter(|((column, _), range)| columns.contains(column) && !range.is_empty())
            .cloned()
            .collect()
    }

    fn with_streams(
        self,
        streams: HashMap<(u32, StreamKind), Bytes>,
        tail: &Tail,
        information: &StripeInformation,
    ) -> Stripe {
        let (compression, rows) = (tail.compression, information.rows);
        Stripe { rows, compression, encodings: self.encodings, zone: self.zone, streams }
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

/// A range of the file out of bytes that begin at `start`.
fn part(bytes: &Bytes, start: u64, range: &Range<u64>) -> Result<Bytes> {
    let begin = range.start.checked_sub(start).and_then(|b| usize::try_from(b).ok());
    let end = range.end.checked_sub(start).and_then(|e| usize::try_from(e).ok());
    match (begin, end) {
        (Some(begin), Some(end)) if begin <= end && end <= bytes.len() => Ok(bytes.slice(begin..end)),
        _ => Err(Error::internal(format!("bytes {range:?} are not among those read at {start}"))),
    }
}

/// Joins ranges, sorted by their starts, that are near each other.
fn merge<'a>(ranges: impl Iterator<Item = &'a Range<u64>>) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = vec![];
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP_BYTES) => last.end = last.end.max(range.end),
            _ => merged.push(range.clone()),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tail() -> Tail {
        Tail { compression: Compression::new(0, 0).unwrap(), types: vec![], stripes: vec![], metadata: 0..0 }
    }

    #[test]
    fn near_ranges_are_joined() {
        let far = 20 + GAP_BYTES;
        let ranges = [0..10, 12..20, far..far + 1, far + GAP_BYTES + 2..far + GAP_BYTES + 9];
        assert_eq!(merge(ranges.iter()), [0..far + 1, far + GAP_BYTES + 2..far + GAP_BYTES + 9]);
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
