//! Run-length encoded integers, versions 1 and 2.
//!
//! In: a [`ByteStream`]. Out: 64-bit integers. Arithmetic wraps: what a run of nonsense adds up to is nonsense, and the
//! caller narrows it with checks.
//!
//! ```text
//! version 1   run           count - 3 (0..=127)   delta: i8   base: varint
//!             literals      -count (as i8)        count × varint
//! version 2   00 short      width-1:3 count-3:3                                    value: width bytes, big endian
//!             01 direct     W:5 count-1:9                                          count × W bits
//!             10 patched    W:5 count-1:9  bytes-1:3 PW:5  gapwidth-1:3 patches:5  base: bytes, sign in the highest bit
//!                                                                                  count × W bits, patches × (gap, patch)
//!             11 delta      W:5 count-1:9                                          base: varint, delta: signed varint,
//!                                                                                  (count-2) × W bits
//! ```
//! W codes a width in bits: 0..=23 one more, then 26, 28, 30, 32, 40, 48, 56, 64; 0 in a delta run = the delta is fixed.
//! Varints, direct and short values of signed streams are in zigzag.

use super::codec::ByteStream;
use crate::error::{Error, Result};

/// What is reserved at once for the numbers that a caller asks for; more grows with what is really there.
const TRUSTED_VALUES: usize = 1 << 16;

/// Integers in runs.
pub(super) struct Integers {
    bytes: ByteStream,
    version_2: bool,
    signed: bool,
    /// How many values of the stream are not wanted before the first one that is.
    skipped: usize,
    /// The bits that a value can have in zigzag: orc-rust writes more, which are wrong, at the start of a delta run.
    mask: u64,
    /// The run that is being read.
    run: Vec<i64>,
    at: usize,
    packed: Vec<u8>,
    patches: Vec<i64>,
}

impl Integers {
    pub(super) fn new(bytes: ByteStream, version_2: bool, signed: bool) -> Self {
        let skipped = bytes.start().values;
        Self { bytes, version_2, signed, skipped, mask: u64::MAX, run: vec![], at: 0, packed: vec![], patches: vec![] }
    }

    /// Of values that have so many bits, 1 to 64.
    pub(super) fn of_bits(mut self, bits: usize) -> Self {
        self.mask = u64::MAX >> 64usize.saturating_sub(bits).min(63);
        self
    }

    /// Appends the next `n` integers to `out`.
    pub(super) fn read(&mut self, n: usize, out: &mut Vec<i64>) -> Result<()> {
        if n > 0 && self.skipped > 0 {
            let skipped = std::mem::take(&mut self.skipped);
            self.read(skipped, &mut vec![])?;
        }
        out.reserve(n.min(TRUSTED_VALUES));
        let mut left = n;
        while left > 0 {
            let ready = self.run.get(self.at..).unwrap_or_default();
            if ready.is_empty() {
                self.run.clear();
                self.at = 0;
                if self.version_2 {
                    self.next_run_2()?
                } else {
                    self.next_run_1()?
                }
                continue;
            }
            let part = ready.get(..left).unwrap_or(ready);
            out.extend_from_slice(part);
            self.at += part.len();
            left -= part.len();
        }
        Ok(())
    }

    /// A value that is a varint.
    fn value(&mut self) -> Result<i64> {
        let value = varint(&mut self.bytes)?;
        Ok(if self.signed { zigzag(value & self.mask) } else { value as i64 })
    }

    fn next_run_1(&mut self) -> Result<()> {
        let control = self.bytes.byte()?;
        if control < 0x80 {
            let delta = i64::from(self.bytes.byte()? as i8);
            let base = self.value()?;
            self.run.extend((0..i64::from(control) + 3).map(|i| base.wrapping_add(delta.wrapping_mul(i))));
        } else {
            for _ in 0..256 - usize::from(control) {
                let value = self.value()?;
                self.run.push(value);
            }
        }
        Ok(())
    }

    fn next_run_2(&mut self) -> Result<()> {
        let first = self.bytes.byte()?;
        if first >> 6 == 0 {
            return self.short_repeat(first);
        }
        let count = (usize::from(first & 1) << 8 | usize::from(self.bytes.byte()?)) + 1;
        let code = (first >> 1) & 0x1f;
        match first >> 6 {
            1 => self.direct(width_of(code), count),
            2 => self.patched(width_of(code), count),
            _ => self.delta(if code == 0 { 0 } else { width_of(code) }, count),
        }
    }

    fn short_repeat(&mut self, first: u8) -> Result<()> {
        let width = usize::from(first >> 3) + 1;
        let value = big_endian(self.bytes.take(width)?);
        let value = if self.signed { zigzag(value) } else { value as i64 };
        self.run.resize(usize::from(first & 7) + 3, value);
        Ok(())
    }

    fn direct(&mut self, width: usize, count: usize) -> Result<()> {
        unpack(&mut self.bytes, &mut self.packed, width, count, &mut self.run)?;
        if self.signed {
            self.run.iter_mut().for_each(|v| *v = zigzag(*v as u64));
        }
        Ok(())
    }

    fn delta(&mut self, width: usize, count: usize) -> Result<()> {
        let base = self.value()?;
        let delta = zigzag(varint(&mut self.bytes)?);
        if width == 0 {
            self.run.extend((0..count as i64).map(|i| base.wrapping_add(delta.wrapping_mul(i))));
            return Ok(());
        }
        self.run.push(base);
        if count > 1 {
            let mut last = base.wrapping_add(delta);
            self.run.push(last);
            unpack(&mut self.bytes, &mut self.packed, width, count.saturating_sub(2), &mut self.run)?;
            for value in self.run.iter_mut().skip(2) {
                last = if delta < 0 { last.wrapping_sub(*value) } else { last.wrapping_add(*value) };
                *value = last;
            }
        }
        Ok(())
    }

    fn patched(&mut self, width: usize, count: usize) -> Result<()> {
        let (third, fourth) = (self.bytes.byte()?, self.bytes.byte()?);
        let base = big_endian(self.bytes.take(usize::from(third >> 5) + 1)?);
        let sign = 1u64 << (u32::from(third >> 5) * 8 + 7);
        let base = if base & sign != 0 { ((base & !sign) as i64).wrapping_neg() } else { base as i64 };
        unpack(&mut self.bytes, &mut self.packed, width, count, &mut self.run)?;

        let (patch_width, gap_width) = (width_of(third & 0x1f), usize::from(fourth >> 5) + 1);
        let entry_width = closest_width(patch_width + gap_width)?;
        self.patches.clear();
        unpack(&mut self.bytes, &mut self.packed, entry_width, usize::from(fourth & 0x1f), &mut self.patches)?;
        let mut position = 0usize;
        for entry in &self.patches {
            let entry = *entry as u64;
            let patch = if patch_width == 64 { entry } else { entry & ((1 << patch_width) - 1) };
            position += entry.checked_shr(patch_width as u32).unwrap_or_default() as usize & 0xff;
            if let (Some(value), true) = (self.run.get_mut(position), patch != 0) {
                *value |= patch.checked_shl(width as u32).unwrap_or_default() as i64;
            }
        }
        self.run.iter_mut().for_each(|v| *v = v.wrapping_add(base));
        Ok(())
    }
}

/// An unsigned varint of up to 64 bits.
fn varint(bytes: &mut ByteStream) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.byte()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::corrupt("a varint has more than ten bytes"))
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Up to eight bytes as one number.
fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The bits that a width code stands for.
fn width_of(code: u8) -> usize {
    match code {
        0..=23 => usize::from(code) + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The least width that can be coded and holds `bits`.
fn closest_width(bits: usize) -> Result<usize> {
    let width = (0..32).map(width_of).find(|width| *width >= bits);
    width.ok_or_else(|| Error::corrupt(format!("patches of {bits} bits, expected at most 64")))
}

/// Appends `count` numbers of `width` bits each, packed from the highest bit on.
fn unpack(bytes: &mut ByteStream, packed: &mut Vec<u8>, width: usize, count: usize, out: &mut Vec<i64>) -> Result<()> {
    packed.clear();
    packed.extend_from_slice(bytes.take((count * width).div_ceil(8))?);
    if width.is_multiple_of(8) {
        out.extend(packed.chunks_exact(width / 8).map(|c| big_endian(c) as i64));
        return Ok(());
    }
    // Other widths are at most 30 bits: with the up to 7 bits before it a number fits into one word of 64.
    packed.extend_from_slice(&[0; 8]);
    let word_at = |bit: usize| {
        let word = packed.get(bit / 8..).and_then(|rest| rest.first_chunk::<8>());
        word.map_or(0, |word| u64::from_be_bytes(*word)) << (bit % 8)
    };
    out.extend((0..count).map(|i| (word_at(i * width) >> (64 - width)) as i64));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::codec::Compression;
    use super::*;
    use proptest::prelude::*;

    fn integers(bytes: &[u8], version_2: bool, signed: bool) -> Integers {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        Integers::new(ByteStream::new(bytes, Compression::new(0, 0).unwrap()).unwrap(), version_2, signed)
    }

    fn all(bytes: &[u8], version_2: bool, signed: bool, n: usize) -> Vec<i64> {
        let mut out = vec![];
        let mut integers = integers(bytes, version_2, signed);
        integers.read(n, &mut out).unwrap();
        assert!(integers.read(1, &mut vec![]).is_err(), "bytes are left");
        out
    }

    /// The examples of the format's specification.
    #[test]
    fn runs_of_both_versions() {
        assert_eq!(all(&[0x61, 0x00, 0x07], false, false, 100), vec![7; 100]);
        assert_eq!(all(&[0x61, 0xff, 0x64], false, false, 100), (1..=100).rev().collect::<Vec<_>>());
        assert_eq!(all(&[0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b], false, false, 5), [2, 3, 6, 7, 11]);
        assert_eq!(all(&[0xfe, 0x03, 0x02], false, true, 2), [-2, 1]);
        assert_eq!(all(&[0x0a, 0x27, 0x10], true, false, 5), vec![10000; 5]);
        assert_eq!(
            all(&[0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef], true, false, 4),
            [23713, 43806, 57005, 48879]
        );
        let delta = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(all(&delta, true, false, 10), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
        let patched = [
            0x8e, 0x09, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0xfc, 0xe8,
        ];
        assert_eq!(all(&patched, true, false, 10), [2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090]);
        assert_eq!(all(&[0xc0, 0x03, 0x04, 0x01], true, true, 4), [2, 1, 0, -1]);
    }

    /// 31962 in zigzag is 0xf9b4 in 16 bits; orc-rust extends its sign before it makes a varint of it.
    #[test]
    fn a_sign_that_was_extended_too_early_is_cut_off() {
        let bytes = [0xc2, 0x03, 0xb4, 0xf3, 0x7f, 0xb3, 0xf3, 0x03, 0x10];
        let mut out = vec![];
        integers(&bytes, true, true).of_bits(16).read(2, &mut out).unwrap();
        assert_eq!(out, [31962, 0]);
    }

    /// A direct run of version 2.
    fn direct(values: &[i64], code: u8) -> Vec<u8> {
        let width = width_of(code);
        let mut out = vec![0x40 | code << 1 | ((values.len() - 1) >> 8) as u8, (values.len() - 1) as u8];
        let bits: Vec<bool> =
            values.iter().flat_map(|v| (0..width).rev().map(move |i| (*v as u64) >> i & 1 == 1)).collect();
        out.extend(bits.chunks(8).map(|c| c.iter().enumerate().fold(0u8, |b, (i, bit)| b | (*bit as u8) << (7 - i))));
        out
    }

    proptest! {
        #[test]
        fn direct_runs_round_trip(values in proptest::collection::vec(any::<u64>(), 1..512), code in 0u8..32) {
            let mask = u64::MAX >> (64 - width_of(code));
            let values: Vec<i64> = values.into_iter().map(|v| (v & mask) as i64).collect();
            prop_assert_eq!(all(&direct(&values, code), true, false, values.len()), values);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), v2: bool, signed: bool, n in 0usize..5000) {
            let _ = integers(&bytes, v2, signed).read(n, &mut vec![]);
        }
    }
}
