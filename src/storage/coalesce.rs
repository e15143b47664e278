//! Few large requests instead of many small ones: [`Coalescing`].
//!
//! In: ranges of a file that are wanted. Out: ranges to ask the store for, sorted and disjoint, that cover them. Wanted
//! ranges that are near each other become one request, and what is long is cut into requests of about equal length, which
//! are under way at the same time: into as many as may be made now, but none shorter than pays for its round trip.
//!
//! ```text
//! wanted    |--a--|  |-b-|             |------------------------c------------------------|
//! requests  |------------|             |-----------|-----------|------------|------------|
//! ```

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// No range is cut into requests shorter than this for the sake of having more of them.
const MIN_REQUEST_BYTES: u64 = 1 << 20;

/// When ranges are fetched together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// The most bytes between two ranges that are fetched with them, and thrown away.
    pub hole_bytes: u64,
    /// The most bytes of a request.
    pub request_bytes: u64,
}

impl Default for Coalescing {
    fn default() -> Self {
        Self { hole_bytes: 512 << 10, request_bytes: 8 << 20 }
    }
}

impl Coalescing {
    /// The requests for some ranges, in the order of the file, where `idle` requests may be made at once.
    pub fn requests(&self, wanted: &[Range<u64>], idle: usize) -> Vec<Range<u64>> {
        let merged = self.merged(wanted);
        let idle = (idle as u64).checked_div(merged.len() as u64).unwrap_or(0);
        merged.into_iter().flat_map(|range| self.cut(range, idle)).collect()
    }

    fn merged(&self, wanted: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut sorted: Vec<Range<u64>> = wanted.iter().filter(|range| range.start < range.end).cloned().collect();
        sorted.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = vec![];
        for range in sorted {
            match merged.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(self.hole_bytes) => {
                    last.end = last.end.max(range.end);
                }
                _ => merged.push(range),
            }
        }
        merged
    }

    /// How many bytes come back for some ranges.
    pub fn fetched_bytes(&self, wanted: &[Range<u64>]) -> u64 {
        self.merged(wanted).iter().map(|range| range.end - range.start).sum()
    }

    fn cut(&self, range: Range<u64>, idle: u64) -> impl Iterator<Item = Range<u64>> {
        let length = range.end - range.start;
        let at_least = length.div_ceil(self.request_bytes.max(1)).max(1);
        let pieces = at_least.max(idle.min(length / MIN_REQUEST_BYTES));
        let each = length.div_ceil(pieces).max(1);
        (0..pieces).map(move |n| {
            let start = range.start + (n * each).min(length);
            start..range.start + ((n + 1) * each).min(length)
        })
    }
}

/// A wanted range out of what came back for `requests`; `None` where it is not all there. Copied only where it was cut.
pub fn part(requests: &[Range<u64>], parts: &[Bytes], wanted: &Range<u64>) -> Option<Bytes> {
    if wanted.start >= wanted.end {
        return Some(Bytes::new());
    }
    let first = requests.partition_point(|request| request.end <= wanted.start);
    let slice = |at: usize| {
        let (request, part) = (requests.get(at)?, parts.get(at)?);
        let begin = wanted.start.max(request.start).checked_sub(request.start)?;
        let end = wanted.end.min(request.end).checked_sub(request.start)?;
        let (begin, end) = (usize::try_from(begin).ok()?, usize::try_from(end).ok()?);
        (begin < end && end <= part.len()).then(|| part.slice(begin..end))
    };
    let length = usize::try_from(wanted.end - wanted.start).ok()?;
    let whole = slice(first)?;
    if whole.len() == length {
        return Some(whole);
    }
    let mut joined = BytesMut::with_capacity(length);
    joined.extend_from_slice(&whole);
    for at in first + 1..requests.len() {
        if joined.len() == length {
            break;
        }
        joined.extend_from_slice(&slice(at)?);
    }
    (joined.len() == length).then(|| joined.freeze())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_ranges_are_joined_and_long_ones_cut() {
        let c = Coalescing { hole_bytes: 10, request_bytes: 100 };
        let ranges = |pairs: &[(u64, u64)]| pairs.iter().map(|(start, end)| *start..*end).collect::<Vec<_>>();
        for (wanted, requests) in [
            (&[][..], &[][..]),
            (&[(5, 5)], &[]),
            (&[(20, 30), (0, 10)], &[(0, 30)]),
            (&[(0, 10), (21, 30)], &[(0, 10), (21, 30)]),
            (&[(0, 250)], &[(0, 84), (84, 168), (168, 250)]),
            (&[(0, 60), (50, 101)], &[(0, 51), (51, 101)]),
        ] {
            assert_eq!(c.requests(&ranges(wanted), 9), ranges(requests), "{wanted:?}");
        }
        let c = Coalescing::default();
        let large = ranges(&[(0, 6 << 20), (9 << 20, 10 << 20)]);
        assert_eq!([0, 1, 6, 99].map(|idle| c.requests(&large, idle).len()), [2, 2, 4, 7]);
    }

    proptest! {
        #[test]
        fn every_wanted_range_comes_out(
            wanted in proptest::collection::vec((0u64..5000, 0u64..900), 0..12),
            hole_bytes in 0u64..300,
            request_bytes in 1u64..700,
        ) {
            let file: Bytes = (0..6000u32).map(|n| (n % 251) as u8).collect::<Vec<_>>().into();
            let wanted: Vec<_> = wanted.into_iter().map(|(start, length)| start..start + length).collect();
            let requests = Coalescing { hole_bytes, request_bytes }.requests(&wanted, 3);
            prop_assert!(requests.iter().all(|r| r.start < r.end && r.end - r.start <= request_bytes));
            prop_assert!(requests.windows(2).all(|pair| pair[0].end <= pair[1].start));
            let parts: Vec<_> = requests.iter().map(|r| file.slice(r.start as usize..r.end as usize)).collect();
            for range in &wanted {
                let want = file.slice(range.start as usize..range.end as usize);
                prop_assert_eq!(part(&requests, &parts, range), Some(want));
            }
        }
    }
}
