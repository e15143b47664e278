//! Integers, each in as few bytes as the range of all takes.
//!
//! ```text
//! value = base + word        words of 0, 1, 2, 4 or 8 bytes
//! ```

use arrow::buffer::NullBuffer;

/// A column of integers that may be NULL.
#[derive(Debug)]
pub struct PackedLongs {
    base: i64,
    words: Words,
    validity: Validity,
}

#[derive(Debug)]
enum Words {
    /// All values are the base.
    None,
    One(Box<[u8]>),
    Two(Box<[u16]>),
    Four(Box<[u32]>),
    Eight(Box<[u64]>),
}

impl Words {
    /// Packs values between two others.
    fn pack((min, max): (i64, i64), values: impl Iterator<Item = i64>) -> Self {
        let words = values.map(|value| value.wrapping_sub(min) as u64);
        match max.wrapping_sub(min) as u64 {
            0 => Self::None,
            range if range <= u64::from(u8::MAX) => Self::One(words.map(|word| word as u8).collect()),
            range if range <= u64::from(u16::MAX) => Self::Two(words.map(|word| word as u16).collect()),
            range if range <= u64::from(u32::MAX) => Self::Four(words.map(|word| word as u32).collect()),
            _ => Self::Eight(words.collect()),
        }
    }
}

/// Which values are there.
#[derive(Debug)]
pub(super) enum Validity {
    All,
    None,
    /// Boxed, since most columns have no such and there are many of them.
    Some(Box<NullBuffer>),
}

impl Validity {
    /// Of so many rows, of which so many are valid.
    pub(super) fn of(rows: usize, valid: usize, is_valid: impl Fn(usize) -> bool) -> Self {
        match valid {
            n if n == rows => Self::All,
            0 => Self::None,
            _ => Self::Some(Box::new((0..rows).map(is_valid).collect::<Vec<_>>().into())),
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Some(nulls) => row < nulls.len() && nulls.is_valid(row),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Some(nulls) => nulls.buffer().capacity() + size_of::<NullBuffer>(),
            _ => 0,
        }
    }
}

impl PackedLongs {
    /// Packs the values of `rows` rows.
    pub fn pack(rows: usize, value: impl Fn(usize) -> Option<i64>) -> Self {
        let (mut min, mut max, mut valid) = (i64::MAX, i64::MIN, 0);
        for value in (0..rows).filter_map(&value) {
            (min, max, valid) = (min.min(value), max.max(value), valid + 1);
        }
        if valid == 0 {
            return Self::none();
        }
        let validity = Validity::of(rows, valid, |row| value(row).is_some());
        let words = Words::pack((min, max), (0..rows).map(|row| value(row).unwrap_or(min)));
        Self { base: min, words, validity }
    }

    fn none() -> Self {
        Self { base: 0, words: Words::None, validity: Validity::None }
    }

    /// Packs values of which none is NULL.
    pub fn of(values: &[i64]) -> Self {
        let (min, max) = values.iter().fold((i64::MAX, i64::MIN), |(min, max), v| (min.min(*v), max.max(*v)));
        if values.is_empty() {
            return Self::none();
        }
        Self { base: min, words: Words::pack((min, max), values.iter().copied()), validity: Validity::All }
    }

    /// The value of a row; `None` where it is NULL.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        if !self.validity.get(row) {
            return None;
        }
        let word = match &self.words {
            Words::None => Some(0),
            Words::One(words) => words.get(row).map(|w| u64::from(*w)),
            Words::Two(words) => words.get(row).map(|w| u64::from(*w)),
            Words::Four(words) => words.get(row).map(|w| u64::from(*w)),
            Words::Eight(words) => words.get(row).copied(),
        };
        word.map(|word| self.base.wrapping_add(word as i64))
    }

    /// Brings what a row needs into the processor's caches; a number without meaning.
    #[inline]
    pub fn touch(&self, row: usize) -> usize {
        usize::from(self.get(row).unwrap_or(0) as u8)
    }

    /// Whether all values are NULL.
    pub fn is_all_null(&self) -> bool {
        matches!(self.validity, Validity::None)
    }

    /// The value that all rows have, if they have one.
    pub fn of_all(&self) -> Option<i64> {
        matches!((&self.words, &self.validity), (Words::None, Validity::All)).then_some(self.base)
    }

    /// The value of a row as a 32-bit number; 0 where it is none.
    #[inline]
    pub fn int(&self, row: usize) -> i32 {
        self.get(row).and_then(|value| i32::try_from(value).ok()).unwrap_or(0)
    }

    /// The memory it holds.
    pub fn heap_bytes(&self) -> usize {
        let words = match &self.words {
            Words::None => 0,
            Words::One(words) => words.len(),
            Words::Two(words) => words.len() * 2,
            Words::Four(words) => words.len() * 4,
            Words::Eight(words) => words.len() * 8,
        };
        words + self.validity.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn narrow_ranges_take_few_bytes() {
        for (values, want) in [
            (vec![Some(7); 100], 0),
            (vec![None; 100], 0),
            ((0..100).map(|i| Some(1_000_000 + i)).collect(), 100),
            ((0..100).map(|i| Some(i * 1000)).collect(), 400),
            (vec![Some(i64::MIN), Some(i64::MAX)], 16),
        ] {
            let packed = PackedLongs::pack(values.len(), |row| values[row]);
            assert_eq!(packed.heap_bytes(), want);
            assert_eq!((0..values.len()).map(|row| packed.get(row)).collect::<Vec<_>>(), values);
            assert_eq!(packed.of_all(), values[0].filter(|_| values.iter().all(|value| *value == values[0])));
            assert!(packed.get(values.len() + 1000).is_none() || want == 0);
        }
    }

    proptest! {
        #[test]
        fn values_come_back(values in prop_oneof![
            proptest::collection::vec(any::<Option<i64>>(), 0..50),
            proptest::collection::vec(proptest::option::of(-300i64..300), 0..50),
        ]) {
            let packed = PackedLongs::pack(values.len(), |row| values[row]);
            let got: Vec<_> = (0..values.len()).map(|row| packed.get(row)).collect();
            prop_assert_eq!(&got, &values);
            let there: Vec<_> = values.into_iter().flatten().collect();
            let packed = PackedLongs::of(&there);
            let got: Vec<_> = (0..there.len()).filter_map(|row| packed.get(row)).collect();
            let is_one = !there.is_empty() && there.iter().all(|value| *value == there[0]);
            prop_assert_eq!((packed.of_all().is_some(), packed.is_all_null()), (is_one, there.is_empty()));
            prop_assert_eq!(got, there);
        }
    }
}
