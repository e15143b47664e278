//! What byte strings of one length have in common: [`Shape`].
//!
//! In: strings of one length. Out: a template, and the runs of positions at which not all are alike. Of each string only
//! the bytes at these positions are kept, one behind the other. Runs of hexadecimal digits, as names of files have them,
//! are kept as the bytes that they spell:
//!
//! ```text
//! data-6f1c-0.parquet
//! data-9b2e-0.parquet     template data-6f1c-0.parquet, digits at 5..9     kept: 6f 1c, 9b 2e …
//! ```

use std::ops::Range;

/// Equal bytes between two runs that are not worth a run of their own.
const MAX_GAP: usize = 1;

/// The longest strings that have a shape.
pub(super) const MAX_LENGTH: usize = u16::MAX as usize;

/// What strings of one length, at most [`MAX_LENGTH`], have in common.
#[derive(Debug, Default)]
pub(super) struct Shape {
    template: Box<[u8]>,
    runs: Box<[Run]>,
    /// How many bytes are kept of a string.
    kept: usize,
}

/// Finds what strings of one length have in common.
pub(super) struct Observed<'a> {
    first: &'a [u8],
    /// Not zero where two strings differ.
    differs: Vec<u8>,
}

/// Positions at which not all strings are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: u16,
    end: u16,
    /// All bytes are hexadecimal digits.
    digits: bool,
}

impl Run {
    fn new(range: Range<usize>, digits: bool) -> Self {
        let place = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Self { start: place(range.start), end: place(range.end), digits }
    }

    #[inline]
    fn range(self) -> Range<usize> {
        usize::from(self.start)..usize::from(self.end)
    }

    /// How many bytes are kept of a string.
    #[inline]
    fn kept(self) -> usize {
        let length = self.range().len();
        if self.digits { length.div_ceil(2) } else { length }
    }

    #[inline]
    fn append(self, value: &[u8], data: &mut Vec<u8>) {
        let bytes = value.get(self.range()).unwrap_or_default();
        if !self.digits {
            return data.extend_from_slice(bytes);
        }
        data.extend(bytes.chunks(2).map(|pair| match *pair {
            [high, low] => number(high) << 4 | number(low),
            [high] => number(high) << 4,
            _ => 0,
        }));
    }

    /// Puts what is kept of a string in its place there.
    #[inline]
    fn restore(self, kept: &[u8], out: &mut [u8]) {
        let Some(out) = out.get_mut(self.range()) else { return };
        if self.digits {
            for (pair, byte) in out.chunks_mut(2).zip(kept) {
                pair.iter_mut().zip([byte >> 4, byte & 0xf]).for_each(|(out, number)| *out = digit(number));
            }
        } else {
            // Runs are short: a loop is faster than a call.
            out.iter_mut().zip(kept).for_each(|(out, byte)| *out = *byte);
        }
    }
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn number(digit: u8) -> u8 {
    if digit <= b'9' { digit.wrapping_sub(b'0') & 0xf } else { digit.wrapping_sub(b'a' - 10) & 0xf }
}

fn digit(number: u8) -> u8 {
    if number < 10 { b'0' + number } else { b'a' - 10 + number }
}

impl<'a> Observed<'a> {
    /// Begins with a first string.
    pub fn new(first: &'a [u8]) -> Self {
        Self { first, differs: vec![0; first.len()] }
    }

    /// The length of the strings.
    pub fn length(&self) -> usize {
        self.first.len()
    }

    /// Looks at a further string.
    #[inline]
    pub fn add(&mut self, value: &[u8]) {
        for ((differs, a), b) in self.differs.iter_mut().zip(self.first).zip(value) {
            *differs |= a ^ b;
        }
    }

    /// What the strings, which are `all`, have in common.
    pub fn shape(&self, all: impl Iterator<Item = &'a [u8]>) -> Shape {
        let mut runs: Vec<Range<usize>> = vec![];
        for (at, _) in self.differs.iter().enumerate().filter(|(_, differs)| **differs != 0) {
            match runs.last_mut().filter(|run| at - run.end <= MAX_GAP) {
                Some(run) => run.end = at + 1,
                None => runs.push(at..at + 1),
            }
        }
        let mut runs: Vec<Run> = runs.into_iter().flat_map(|run| self.cut(run)).collect();
        self.check_digits(&mut runs, all);
        let kept = runs.iter().map(|run| run.kept()).sum();
        Shape { template: self.first.into(), runs: runs.into(), kept }
    }

    /// A run, with the digits in it apart, if that is all of it that differs.
    fn cut(&self, run: Range<usize>) -> Vec<Run> {
        let of_first = |range: &Range<usize>| self.first.get(range.clone()).unwrap_or_default();
        let differs = self.differs.get(run.clone()).unwrap_or_default();
        if of_first(&run).iter().zip(differs).any(|(byte, differs)| *differs != 0 && !is_digit(*byte)) {
            return vec![Run::new(run, false)];
        }
        let mut start = run.start;
        let pieces = of_first(&run).chunk_by(|a, b| is_digit(*a) == is_digit(*b)).map(|piece| {
            let range = start..start + piece.len();
            start = range.end;
            (range, piece.first().is_some_and(|byte| is_digit(*byte)))
        });
        pieces.filter(|(_, digits)| *digits).map(|(range, _)| Run::new(range, true)).collect()
    }

    /// Makes runs plain that are no digits in some string.
    fn check_digits(&self, runs: &mut [Run], all: impl Iterator<Item = &'a [u8]>) {
        if !runs.iter().any(|run| run.digits) {
            return;
        }
        for value in all {
            for run in runs.iter_mut().filter(|run| run.digits) {
                run.digits = value.get(run.range()).is_some_and(|bytes| bytes.iter().all(|byte| is_digit(*byte)));
            }
        }
    }
}

impl Shape {
    /// How many bytes are kept of each string.
    #[inline]
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// The length of the strings.
    pub fn length(&self) -> usize {
        self.template.len()
    }

    /// A string that has the shape.
    pub fn template(&self) -> &[u8] {
        &self.template
    }

    /// Appends what is kept of a string.
    #[inline]
    pub fn append(&self, value: &[u8], data: &mut Vec<u8>) {
        self.runs.iter().for_each(|run| run.append(value, data));
    }

    /// Appends the string of which `kept` begins with what is kept.
    #[inline]
    pub fn restore(&self, mut kept: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.template);
        let Some(out) = out.get_mut(start..) else { return };
        for run in self.runs.iter() {
            let Some((bytes, rest)) = kept.split_at_checked(run.kept()) else { return };
            run.restore(bytes, out);
            kept = rest;
        }
    }

    /// The same, of which only the bytes in `parts`, which ascend, are surely those of the string.
    #[inline]
    pub fn restore_parts(&self, kept: &[u8], parts: &[Range<usize>], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.template);
        let Some(out) = out.get_mut(start..) else { return };
        let (mut at, mut parts) = (0, parts.iter().peekable());
        for run in self.runs.iter() {
            let Range { start, end } = run.range();
            while parts.next_if(|part| part.end <= start).is_some() {}
            let Some(part) = parts.peek() else { return };
            let next = at + run.kept();
            if part.start < end
                && let Some(bytes) = kept.get(at..next)
            {
                run.restore(bytes, out);
            }
            at = next;
        }
    }

    /// Brings what restoring needs into the processor's caches; a number without meaning.
    #[inline]
    pub fn touch(&self) -> usize {
        let first = self.template.first().copied().unwrap_or(0);
        usize::from(first) + self.runs.first().map_or(0, |run| usize::from(run.start))
    }

    /// The memory it holds.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.template.len() + self.runs.len() * size_of::<Run>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strings, the runs of their shape, and how many bytes are kept of each.
    type Case = (&'static [&'static [u8]], &'static [(Range<usize>, bool)], usize);

    fn shape(values: &[&'static [u8]]) -> Shape {
        let mut observed = Observed::new(values[0]);
        values.iter().for_each(|value| observed.add(value));
        observed.shape(values.iter().copied())
    }

    #[test]
    fn digits_are_kept_as_the_bytes_they_spell() {
        let cases: [Case; 6] = [
            (&[b"data-6f1c-0.orc", b"data-9b2e-0.orc"], &[(5..9, true)], 2),
            // What is alike between digits is none of them, or one of them.
            (&[b"x6f-1c40", b"xa0-2b41"], &[(1..3, true), (4..8, true)], 3),
            (&[b"6f1", b"9b2"], &[(0..3, true)], 2),
            (&[b"6F1", b"6A1"], &[(1..2, false)], 1),
            // Digits in the first string only.
            (&[b"6f1c", b"6z1d"], &[(1..4, false)], 3),
            (&[b"same", b"same"], &[], 0),
        ];
        for (values, want, kept) in cases {
            let shape = shape(values);
            let runs: Vec<_> = shape.runs.iter().map(|run| (run.range(), run.digits)).collect();
            assert_eq!((runs.as_slice(), shape.kept()), (want, kept), "{values:?}");
            for value in values {
                let (mut data, mut out) = (vec![], vec![]);
                shape.append(value, &mut data);
                shape.restore(&data, &mut out);
                assert_eq!(out, *value);
            }
        }
    }
}
