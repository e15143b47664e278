//! Byte strings of which few are different: each once, and a number for each row.

use std::collections::HashMap;
use std::sync::Arc;

use super::longs::PackedLongs;

/// A column of byte strings without NULL.
#[derive(Debug)]
pub struct Dictionary {
    values: Box<[Arc<[u8]>]>,
    codes: PackedLongs,
}

impl Dictionary {
    /// Packs the values of `rows` rows.
    pub fn pack<'a>(rows: usize, value: impl Fn(usize) -> &'a [u8]) -> Self {
        let (mut known, mut values, mut codes) = (HashMap::new(), Vec::<Arc<[u8]>>::new(), Vec::with_capacity(rows));
        let mut last: Option<(&[u8], i64)> = None;
        for bytes in (0..rows).map(&value) {
            let code = match last.filter(|(before, _)| *before == bytes) {
                Some((_, code)) => code,
                None => *known.entry(bytes).or_insert_with(|| {
                    values.push(bytes.into());
                    values.len() as i64 - 1
                }),
            };
            last = Some((bytes, code));
            codes.push(code);
        }
        let codes = PackedLongs::pack(rows, |row| codes.get(row).copied());
        Self { values: values.into(), codes }
    }

    /// The different values.
    pub fn values(&self) -> &[Arc<[u8]>] {
        &self.values
    }

    /// Which of the different values a row has.
    #[inline]
    pub fn code(&self, row: usize) -> usize {
        self.codes.get(row).and_then(|code| usize::try_from(code).ok()).unwrap_or(usize::MAX)
    }

    /// The value of a row.
    pub fn get(&self, row: usize) -> Option<&Arc<[u8]>> {
        self.values.get(self.code(row))
    }

    /// The memory it holds.
    pub fn heap_bytes(&self) -> usize {
        let value = |v: &Arc<[u8]>| v.len() + size_of::<Arc<[u8]>>() + 2 * size_of::<usize>();
        self.values.iter().map(value).sum::<usize>() + self.codes.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_kept_once() {
        let values: Vec<&[u8]> = vec![b"a", b"b", b"a", b"a", b"c"];
        let packed = Dictionary::pack(values.len(), |row| values[row]);
        assert_eq!(packed.values().len(), 3);
        assert!((0..5).all(|row| packed.get(row).unwrap().as_ref() == values[row]));
        assert!(packed.get(5).is_none());
    }
}
