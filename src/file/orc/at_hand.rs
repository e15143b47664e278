//! Bytes of a file that were read: [`AtHand`].
//!
//! In: ranges of the file, some of which may lie in bytes that came before. Out: their bytes. What lacks is read together,
//! near ranges as one.

use std::ops::Range;

use bytes::Bytes;

use super::tail::Source;
use crate::error::{Error, Result};

/// Ranges are read together when not more than this is between them. Small in tests, so that small files have gaps.
const GAP_BYTES: u64 = if cfg!(test) { 512 } else { 16 << 10 };

/// Stretches of a file, each with where it begins.
pub(super) struct AtHand<'s> {
    source: &'s Source,
    stretches: Vec<(u64, Bytes)>,
}

impl<'s> AtHand<'s> {
    /// Nothing yet of a file.
    pub(super) fn new(source: &'s Source) -> Self {
        Self { source, stretches: vec![] }
    }

    /// Reads what of these ranges is not there.
    pub(super) async fn read(&mut self, ranges: impl IntoIterator<Item = Range<u64>>) -> Result<()> {
        let missing = merge(ranges.into_iter().filter(|range| self.find(range).is_none()).collect());
        if missing.is_empty() {
            return Ok(());
        }
        let read = self.source.read(&missing).await?;
        self.stretches.extend(missing.iter().map(|range| range.start).zip(read));
        Ok(())
    }

    /// A range that was read.
    pub(super) fn get(&self, range: &Range<u64>) -> Result<Bytes> {
        self.find(range).ok_or_else(|| Error::internal(format!("the bytes {range:?} were not read")))
    }

    fn find(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.is_empty() {
            return Some(Bytes::new());
        }
        self.stretches.iter().find_map(|(start, bytes)| {
            let begin = usize::try_from(range.start.checked_sub(*start)?).ok()?;
            let end = usize::try_from(range.end.checked_sub(*start)?).ok()?;
            (begin <= end && end <= bytes.len()).then(|| bytes.slice(begin..end))
        })
    }
}

/// Joins ranges that are near each other.
fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = vec![];
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP_BYTES) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_joined() {
        let far = 20 + GAP_BYTES;
        let ranges = [far + GAP_BYTES + 2..far + GAP_BYTES + 9, 0..10, far..far + 1, 12..20, 5..20];
        assert_eq!(merge(ranges.into()), [0..far + 1, far + GAP_BYTES + 2..far + GAP_BYTES + 9]);
    }
}
