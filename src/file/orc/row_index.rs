//! The index of a column in a stripe: what each row group holds, and where in the streams its values begin.
//!
//! In: the bytes of a ROW_INDEX stream. Out: [`Entry`]s, one for each row group; of them the bounds of values, and
//! [`Positions`] in a stream, which say which of its bytes some row groups need, and where in them to begin.
//!
//! ```text
//! RowIndex      { RowIndexEntry = 1 … }
//! RowIndexEntry { positions = 1 …, statistics = 2 }
//! positions     = (chunk: offset in the stream, bytes of the chunk) or (byte: offset), where nothing is compressed;
//!                 then, in runs, values of the run; of bits also bits of the byte.
//!                 One such tuple for each stream: PRESENT, where the column has NULLs, then as `layout` says
//! ```
//! A writer notes a position while the last run is not written: what becomes of the values before it may be several runs.

use std::ops::Range;

use super::codec::{Compression, Start};
use super::protobuf::Message;
use super::statistics::{ColumnBounds, of_column};
use super::stripe::{Encoding, StreamKind};
use super::tail::OrcKind;
use crate::error::{Error, Result};
use crate::spec::data_type::DataType;

/// No writer leaves more values unwritten when it notes a position.
const MAX_RUN_VALUES: u64 = 512;
/// Enough for so many values of the largest kind, and the heads of their runs.
const MAX_RUN_BYTES: usize = 8 << 10;
/// A chunk's length comes before it.
const CHUNK_HEAD_BYTES: u64 = 3;

/// What the index says of one row group.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Entry<'a> {
    positions: Vec<u64>,
    statistics: Option<&'a [u8]>,
}

/// The entries of an index.
pub(super) fn entries(index: &[u8]) -> Result<Vec<Entry<'_>>> {
    let mut entries = vec![];
    let mut message = Message::new(index);
    while let Some((number, value)) = message.next()? {
        if number == 1 {
            entries.push(entry(value.bytes()?)?);
        }
    }
    Ok(entries)
}

fn entry(bytes: &[u8]) -> Result<Entry<'_>> {
    let mut entry = Entry::default();
    let mut message = Message::new(bytes);
    while let Some((number, value)) = message.next()? {
        match number {
            1 => value.numbers(&mut entry.positions)?,
            2 => entry.statistics = Some(value.bytes()?),
            _ => {}
        }
    }
    Ok(entry)
}

impl Entry<'_> {
    /// Bounds and NULLs of the row group.
    pub(super) fn bounds(&self, data_type: &DataType) -> Result<ColumnBounds> {
        self.statistics.map_or(Ok(ColumnBounds::default()), |statistics| of_column(statistics, data_type))
    }
}

/// What one value of a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Bytes as they are.
    Raw,
    /// Numbers or bytes in runs.
    Runs,
    /// Bits in runs of bytes.
    Bits,
}

impl Shape {
    /// How many numbers a position has.
    fn numbers(self, compression: Compression) -> usize {
        let place = if compression.chunk_bytes().is_some() { 2 } else { 1 };
        place
            + match self {
                Shape::Raw => 0,
                Shape::Runs => 1,
                Shape::Bits => 2,
            }
    }
}

/// The streams of which a column's index has positions, but for PRESENT; those of a dictionary have none. `None` for types
/// that are not read.
fn layout(kind: OrcKind, encoding: Encoding) -> Option<&'static [(StreamKind, Shape)]> {
    use OrcKind::*;
    Some(match kind {
        Boolean => &[(StreamKind::Data, Shape::Bits)],
        Byte | Short | Int | Long | Date => &[(StreamKind::Data, Shape::Runs)],
        Float | Double => &[(StreamKind::Data, Shape::Raw)],
        String | Varchar | Char | Binary if encoding.dictionary => &[(StreamKind::Data, Shape::Runs)],
        String | Varchar | Char | Binary => &[(StreamKind::Data, Shape::Raw), (StreamKind::Length, Shape::Runs)],
        Decimal => &[(StreamKind::Data, Shape::Raw), (StreamKind::Secondary, Shape::Runs)],
        Timestamp | TimestampInstant => &[(StreamKind::Data, Shape::Runs), (StreamKind::Secondary, Shape::Runs)],
        List | Map => &[(StreamKind::Length, Shape::Runs)],
        Struct => &[],
        Union | Other(_) => return None,
    })
}

/// Where the row groups of a stripe begin in one stream.
#[derive(Debug, PartialEq)]
pub(super) struct Positions {
    /// The offset in the stream, and from there on.
    starts: Vec<(u64, Start)>,
}

/// The positions in each stream of a column, by its type and encoding; `has_present`: the stripe has its PRESENT stream.
pub(super) fn positions(
    entries: &[Entry<'_>],
    kind: OrcKind,
    encoding: Encoding,
    has_present: bool,
    compression: Compression,
) -> Result<Vec<(StreamKind, Positions)>> {
    let layout = layout(kind, encoding).ok_or_else(|| Error::unsupported("a row index of such a column"))?;
    let own: usize = layout.iter().map(|(_, shape)| shape.numbers(compression)).sum();
    // A stream without a NULL is left out; some writers leave its positions in.
    let first = entries.first().map_or(0, |entry| entry.positions.len());
    let notes_present = first != own;
    let present = [(StreamKind::Present, Shape::Bits)];
    let all = if notes_present { present.as_slice() } else { &[] }.iter().chain(layout);
    let expected: usize = all.clone().map(|(_, shape)| shape.numbers(compression)).sum();
    if (has_present && !notes_present) || entries.iter().any(|entry| entry.positions.len() != expected) {
        return Err(Error::corrupt(format!("a row index has {first} positions, expected {expected}")));
    }
    let mut at = 0;
    let streams = all.map(|(stream, shape)| {
        let range = at..at + shape.numbers(compression);
        at = range.end;
        let start = |entry: &Entry<'_>| start(entry.positions.get(range.clone()).unwrap_or_default(), compression);
        let starts = entries.iter().map(start).collect::<Result<Vec<_>>>()?;
        if !starts.is_sorted_by_key(|(offset, _)| *offset) {
            return Err(Error::corrupt("the positions of a row index do not ascend"));
        }
        Ok((*stream, Positions { starts }))
    });
    streams.collect()
}

/// One position: the offset in the stream, and from there on.
fn start(numbers: &[u64], compression: Compression) -> Result<(u64, Start)> {
    let wrong = || Error::corrupt(format!("{numbers:?} as a position of a row index"));
    let mut numbers = numbers.iter().copied();
    let mut next = |most: u64| match numbers.next() {
        Some(number) if number > most => Err(wrong()),
        number => Ok(number.unwrap_or(0)),
    };
    let offset = next(u64::MAX)?;
    let bytes = match compression.chunk_bytes() {
        Some(most) => next(most as u64)?,
        None => 0,
    };
    let (values, bits) = (next(MAX_RUN_VALUES)?, next(8)?);
    Ok((offset, Start { bytes: bytes as usize, values: values as usize, bits: bits as usize }))
}

impl Positions {
    /// The bytes that some row groups need of a stream of `length` bytes, and where in them to begin. Of chunks that are
    /// not full they may be too few.
    pub(super) fn part(
        &self,
        groups: &Range<usize>,
        length: u64,
        compression: Compression,
    ) -> Result<(Range<u64>, Start)> {
        let wrong =
            || Error::corrupt(format!("a row index has no position of the row groups {groups:?} in its stream"));
        let (begin, start) = *self.starts.get(groups.start).filter(|(begin, _)| *begin <= length).ok_or_else(wrong)?;
        let end = match self.starts.get(groups.end) {
            Some((offset, next)) => self.end(*offset, *next, compression).min(length),
            None => length,
        };
        if begin > end { Err(wrong()) } else { Ok((begin..end, start)) }
    }

    /// Where the bytes before a position end: with the chunk, and the run, that it points into.
    fn end(&self, offset: u64, next: Start, compression: Compression) -> u64 {
        let run = if next.values > 0 || next.bits > 0 { MAX_RUN_BYTES } else { 0 };
        let bytes = next.bytes.saturating_add(run);
        let Some(chunk_bytes) = compression.chunk_bytes() else { return offset.saturating_add(bytes as u64) };
        let chunks = bytes.div_ceil(chunk_bytes.max(1));
        let most = (chunks as u64).saturating_mul(CHUNK_HEAD_BYTES.saturating_add(chunk_bytes as u64));
        // Each other offset behind is that of a chunk.
        let mut behind: Vec<u64> = self.starts.iter().map(|(at, _)| *at).filter(|at| *at > offset).collect();
        behind.dedup();
        let known = chunks.checked_sub(1).map_or(Some(offset), |last| behind.get(last).copied());
        offset.saturating_add(most).min(known.unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with_positions(positions: &[u64]) -> Entry<'static> {
        Entry { positions: positions.to_vec(), statistics: None }
    }

    fn at(bytes: usize, values: usize, bits: usize) -> Start {
        Start { bytes, values, bits }
    }

    #[test]
    fn positions_are_of_one_stream_after_the_other() {
        let zstd = Compression::new(5, 100).unwrap();
        let plain = Compression::new(0, 0).unwrap();
        let direct = Encoding::default();
        let index = [with_positions(&[0; 9]), with_positions(&[5, 6, 7, 1, 30, 40, 50, 60, 70])];
        let got = positions(&index, OrcKind::String, direct, true, zstd).unwrap();
        let starts = |p: &Positions| p.starts[1];
        assert_eq!(
            got.iter().map(|(kind, p)| (*kind, starts(p))).collect::<Vec<_>>(),
            [
                (StreamKind::Present, (5, at(6, 7, 1))),
                (StreamKind::Data, (30, at(40, 0, 0))),
                (StreamKind::Length, (50, at(60, 70, 0))),
            ]
        );
        let index = [with_positions(&[0, 0, 0, 0]), with_positions(&[9, 8, 7, 6])];
        let got = positions(&index, OrcKind::Timestamp, direct, false, plain).unwrap();
        assert_eq!(
            got.iter().map(|(kind, p)| (*kind, starts(p))).collect::<Vec<_>>(),
            [(StreamKind::Data, (9, at(0, 8, 0))), (StreamKind::Secondary, (7, at(0, 6, 0))),]
        );
        for (index, kind, has_present) in [
            // Too few, of PRESENT none, too many, another number, back again, past the chunk, past the run and the byte.
            (vec![&[0, 0][..]], OrcKind::Int, false),
            (vec![&[0, 0, 0]], OrcKind::Int, true),
            (vec![&[0, 0, 0, 0]], OrcKind::Int, false),
            (vec![&[0, 0, 0], &[0, 0]], OrcKind::Int, false),
            (vec![&[9, 0, 0], &[8, 0, 0]], OrcKind::Int, false),
            (vec![&[0, 101, 0]], OrcKind::Int, false),
            (vec![&[0, 0, 513]], OrcKind::Int, false),
            (vec![&[0, 0, 0, 9]], OrcKind::Boolean, false),
            (vec![&[]], OrcKind::Union, false),
        ] {
            let entries: Vec<_> = index.iter().map(|positions| with_positions(positions)).collect();
            assert!(positions(&entries, kind, direct, has_present, zstd).is_err(), "{index:?}");
        }
    }

    #[test]
    fn a_part_ends_with_the_chunk_and_the_run_that_the_next_one_begins_in() {
        let (zstd, plain) = (Compression::new(5, 10_000).unwrap(), Compression::new(0, 0).unwrap());
        let p = |starts: &[(u64, Start)]| Positions { starts: starts.to_vec() };
        let chunk = 10_003;
        for (starts, groups, compression, want) in [
            (vec![(0, at(0, 0, 0)), (70, at(0, 0, 0))], 0..1, zstd, (0..70, at(0, 0, 0))),
            (vec![(0, at(0, 0, 0)), (70, at(1, 0, 0))], 0..1, zstd, (0..70 + chunk, at(0, 0, 0))),
            (vec![(0, at(0, 0, 0)), (70, at(9_999, 2, 0))], 0..1, zstd, (0..70 + 2 * chunk, at(0, 0, 0))),
            (vec![(0, at(0, 0, 0)), (70, at(1, 0, 0)), (90, at(3, 0, 0))], 0..1, zstd, (0..90, at(0, 0, 0))),
            (vec![(0, at(0, 0, 0)), (70, at(1, 0, 0)), (90, at(3, 0, 0))], 1..3, zstd, (70..50_000, at(1, 0, 0))),
            (vec![(0, at(0, 0, 0)), (70, at(0, 0, 0))], 0..1, plain, (0..70, at(0, 0, 0))),
            (vec![(0, at(0, 0, 0)), (70, at(0, 1, 0))], 0..1, plain, (0..70 + 8192, at(0, 0, 0))),
        ] {
            assert_eq!(p(&starts).part(&groups, 50_000, compression).unwrap(), want, "{starts:?}");
        }
        let outside = p(&[(0, at(0, 0, 0)), (70, at(0, 0, 0))]);
        assert!(outside.part(&(1..2), 60, plain).is_err() && outside.part(&(2..3), 80, plain).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u64..3, present: bool) {
            let compression = Compression::new(kind, 1000).unwrap();
            let Ok(found) = entries(&bytes) else { return Ok(()) };
            for kind in [OrcKind::Int, OrcKind::String, OrcKind::Boolean, OrcKind::Struct, OrcKind::Union] {
                let Ok(found) = positions(&found, kind, Encoding::default(), present, compression) else { continue };
                for (_, positions) in found {
                    let _ = positions.part(&(0..1), 100, compression);
                }
            }
            for entry in &found {
                let _ = entry.bounds(&DataType::parse("INT").unwrap());
            }
        }
    }
}
