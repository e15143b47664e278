//! HyperLogLog sketches of Apache DataSketches: how many distinct values were seen.
//!
//! In: the bytes of a sketch of any of the types HLL_4, HLL_6, HLL_8, compact or not. Out: the union as Java's `HllSketchUtil`
//! makes it, a compact HLL_4 sketch: the same coupons or registers, if not the same bytes. Small sketches are lists of
//! coupons (a 26-bit address and a 6-bit value), large ones have 2^lg_k registers. Java: `org.apache.datasketches.hll`.
//!
//! ```text
//! ints of preamble u8 | 01 | 07 | lg_k u8 | lg of the table u8 | flags u8 | coupons or least value u8 | mode and type u8
//! list: coupons u32 …                       set: count u32, coupons u32 …
//! registers: hip f64 | kxq0 f64 | kxq1 f64 | registers of least value u32 | exceptions u32 | registers | exceptions u32 …
//! ```

use std::collections::BTreeSet;

use crate::error::{Error, Result};

const SERIAL_VERSION: u8 = 1;
const FAMILY: u8 = 7;
const LG_K: std::ops::RangeInclusive<u8> = 4..=21;
const IS_EMPTY: u8 = 4;
const IS_COMPACT: u8 = 8;
const IS_OUT_OF_ORDER: u8 = 16;
/// Where the registers begin, and coupons of lists and sets.
const REGISTERS_AT: usize = 40;
const LIST_AT: usize = 8;
const SET_AT: usize = 12;
/// The nibble that says that the value stands among the exceptions.
const EXCEPTION: u8 = 15;
/// Lists shorter than this stay lists.
const MAX_LIST: usize = 8;
const LG_LIST: u8 = 3;
const LG_FIRST_SET: u8 = 5;

/// An HLL sketch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HllSketch {
    lg_k: u8,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Coupons(BTreeSet<u32>),
    Registers(Vec<u8>),
}

impl HllSketch {
    /// Reads a sketch.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let header: [u8; 8] = bytes.get(..8).and_then(|b| b.try_into().ok()).ok_or_else(short)?;
        let [_, version, family, lg_k, lg_table, flags, count, mode] = header;
        if version != SERIAL_VERSION || family != FAMILY || !LG_K.contains(&lg_k) {
            return Err(corrupt(format_args!("version {version}, family {family}, lg_k {lg_k}")));
        }
        let compact = flags & IS_COMPACT != 0;
        let table = |compact_count: usize| match compact {
            true => Ok(compact_count),
            false if lg_table <= *LG_K.end() => Ok(1 << lg_table),
            false => Err(corrupt(format_args!("a table of 2^{lg_table}"))),
        };
        let state = match mode & 3 {
            _ if flags & IS_EMPTY != 0 => State::Coupons(BTreeSet::new()),
            0 => State::Coupons(coupons(bytes, LIST_AT, table(usize::from(count))?)?.collect()),
            1 => State::Coupons(coupons(bytes, SET_AT, table(u32_at(bytes, LIST_AT)? as usize)?)?.collect()),
            2 => {
                let exceptions = u32_at(bytes, REGISTERS_AT - 4)? as usize;
                let exceptions = if exceptions == 0 { 0 } else { table(exceptions)? };
                State::Registers(read_registers(bytes, lg_k, (mode >> 2) & 3, count, exceptions)?)
            }
            other => return Err(corrupt(format_args!("mode {other}"))),
        };
        Ok(Self { lg_k, state })
    }

    /// The union of two sketches, in which `other` sets the upper bound of registers, as in Java.
    pub fn union(self, other: &Self) -> Self {
        let lg_k = match &self.state {
            State::Coupons(_) => other.lg_k,
            State::Registers(_) => self.lg_k.min(other.lg_k),
        };
        let state = match (self.state, &other.state) {
            (State::Coupons(mut coupons), State::Coupons(more)) => {
                coupons.extend(more);
                if fits_a_set(coupons.len(), lg_k) {
                    State::Coupons(coupons)
                } else {
                    let mut registers = vec![0; 1 << lg_k];
                    coupons.into_iter().for_each(|coupon| raise(&mut registers, coupon, (coupon >> 26) as u8));
                    State::Registers(registers)
                }
            }
            (mine, theirs) => {
                let mut registers = vec![0; 1 << lg_k];
                add(&mut registers, &mine);
                add(&mut registers, theirs);
                State::Registers(registers)
            }
        };
        Self { lg_k, state }
    }

    /// Writes the sketch.
    pub fn write(&self) -> Vec<u8> {
        match &self.state {
            State::Coupons(coupons) => self.write_coupons(coupons),
            State::Registers(registers) => self.write_registers(registers),
        }
    }

    fn write_coupons(&self, coupons: &BTreeSet<u32>) -> Vec<u8> {
        let count = coupons.len();
        let flags = if count == 0 { IS_COMPACT | IS_EMPTY } else { IS_COMPACT };
        let mut out = if count < MAX_LIST {
            vec![2, SERIAL_VERSION, FAMILY, self.lg_k, LG_LIST, flags, count as u8, 0]
        } else {
            let lg_table = (LG_FIRST_SET..).find(|lg| count * 4 <= 3 << lg).unwrap_or(LG_FIRST_SET);
            let mut out = vec![3, SERIAL_VERSION, FAMILY, self.lg_k, lg_table, flags, 0, 1];
            out.extend_from_slice(&(count as u32).to_le_bytes());
            out
        };
        coupons.iter().for_each(|coupon| out.extend_from_slice(&coupon.to_le_bytes()));
        out
    }

    fn write_registers(&self, registers: &[u8]) -> Vec<u8> {
        let least = registers.iter().copied().min().unwrap_or(0);
        let at_least = registers.iter().filter(|value| **value == least).count() as u32;
        let over = |value: u8| (value - least).min(EXCEPTION);
        let exceptions: Vec<u32> = (0u32..)
            .zip(registers)
            .filter(|(_, value)| over(**value) == EXCEPTION)
            .map(|(slot, value)| slot | u32::from(*value) << 26)
            .collect();
        let sum = |of: std::ops::Range<u8>| {
            registers.iter().filter(|value| of.contains(value)).map(|value| (-f64::from(*value)).exp2()).sum::<f64>()
        };
        let mut out = vec![10, SERIAL_VERSION, FAMILY, self.lg_k, 0, IS_COMPACT | IS_OUT_OF_ORDER, least, 2];
        // The first estimator is not valid after a union; readers use the other two.
        for estimator in [0.0, sum(0..32), sum(32..64)] {
            out.extend_from_slice(&estimator.to_le_bytes());
        }
        out.extend_from_slice(&at_least.to_le_bytes());
        out.extend_from_slice(&(exceptions.len() as u32).to_le_bytes());
        out.extend(registers.chunks(2).map(|pair| match pair {
            [low, high] => over(*low) | over(*high) << 4,
            _ => 0,
        }));
        exceptions.iter().for_each(|exception| out.extend_from_slice(&exception.to_le_bytes()));
        out
    }
}

/// Whether Java keeps so many coupons in a list or a set.
fn fits_a_set(count: usize, lg_k: u8) -> bool {
    count < MAX_LIST || (lg_k >= LG_FIRST_SET + 3 && count * 4 <= 3 << (lg_k - 3))
}

/// Raises the register of an address to a value.
fn raise(registers: &mut [u8], address: u32, value: u8) {
    let mask = registers.len().wrapping_sub(1);
    if let Some(register) = registers.get_mut(address as usize & mask) {
        *register = value.max(*register);
    }
}

fn add(registers: &mut [u8], state: &State) {
    match state {
        State::Coupons(coupons) => coupons.iter().for_each(|coupon| raise(registers, *coupon, (coupon >> 26) as u8)),
        State::Registers(more) => (0u32..).zip(more).for_each(|(slot, value)| raise(registers, slot, *value)),
    }
}

/// The coupons of a table, empty places left out.
fn coupons(bytes: &[u8], at: usize, count: usize) -> Result<impl Iterator<Item = u32>> {
    let table = bytes.get(at..).and_then(|b| b.get(..count.checked_mul(4)?)).ok_or_else(short)?;
    Ok(table.chunks_exact(4).filter_map(|c| c.try_into().ok()).map(u32::from_le_bytes).filter(|coupon| *coupon != 0))
}

fn read_registers(bytes: &[u8], lg_k: u8, kind: u8, least: u8, exceptions: usize) -> Result<Vec<u8>> {
    let k = 1usize << lg_k;
    let stored = bytes.get(REGISTERS_AT..).ok_or_else(short)?;
    let registers = match kind {
        0 => {
            let packed = stored.get(..k / 2).ok_or_else(short)?;
            let mut registers: Vec<u8> =
                packed.iter().flat_map(|pair| [pair & 15, pair >> 4]).map(|over| over.saturating_add(least)).collect();
            for exception in coupons(bytes, REGISTERS_AT + k / 2, exceptions)? {
                if let Some(register) = registers.get_mut(exception as usize & (k - 1)) {
                    *register = (exception >> 26) as u8;
                }
            }
            registers
        }
        1 => six_bits(stored, k)?,
        2 => stored.get(..k).ok_or_else(short)?.to_vec(),
        other => return Err(corrupt(format_args!("type {other}"))),
    };
    if registers.iter().any(|value| *value > 63) { Err(corrupt("a register above 63")) } else { Ok(registers) }
}

/// Registers of six bits, the lowest bits first.
fn six_bits(stored: &[u8], k: usize) -> Result<Vec<u8>> {
    let packed = stored.get(..k / 4 * 3).ok_or_else(short)?;
    Ok(packed
        .chunks_exact(3)
        .flat_map(|three| {
            let bits = three.iter().rev().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
            [0, 6, 12, 18].map(|shift| (bits >> shift & 63) as u8)
        })
        .collect())
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).ok_or_else(short)
}

fn short() -> Error {
    corrupt("it ends too early")
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("HLL sketch: {what}"))
}
