//! Columns of lists, each list as one byte string.

use super::super::columns::{ListsOf, Longs, Texts};
use super::bytes::PackedBytes;
use crate::error::{Error, Result};

/// A NULL count that is not known, among packed ones.
const UNKNOWN_COUNT: i64 = i64::MIN;

/// Lists as byte strings, eight bytes for each element.
pub(in crate::spec) fn pack_longs(rows: usize, lists: &ListsOf<Longs>) -> Result<PackedBytes> {
    pack_lists(rows, lists, |values: &Longs, at, out| {
        out.extend_from_slice(&values.get(at).unwrap_or(UNKNOWN_COUNT).to_le_bytes());
    })
}

/// The list of numbers that was packed.
pub(in crate::spec) fn unpack_longs(bytes: &[u8]) -> Vec<Option<i64>> {
    longs_in(bytes).collect()
}

/// The elements of a list of numbers.
pub(in crate::spec) fn longs_in(bytes: &[u8]) -> impl Iterator<Item = Option<i64>> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| Some(i64::from_le_bytes(*word)).filter(|value| *value != UNKNOWN_COUNT))
}

/// Lists as byte strings, each element after its length; elements that are NULL are left out.
pub(in crate::spec) fn pack_texts(rows: usize, lists: &ListsOf<Texts>) -> Result<PackedBytes> {
    pack_lists(rows, lists, |values: &Texts, at, out| {
        if let Some(text) = values.get(at) {
            // A text of an Arrow array is shorter than 2 GB.
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
    })
}

/// The list of texts that was packed.
pub(in crate::spec) fn unpack_texts(mut bytes: &[u8]) -> Vec<String> {
    let mut texts = vec![];
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let Some((text, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        texts.push(String::from_utf8_lossy(text).into_owned());
        bytes = rest;
    }
    texts
}

/// Lists as byte strings, each element as `encode` has it.
fn pack_lists<T>(rows: usize, lists: &ListsOf<T>, encode: impl Fn(&T, usize, &mut Vec<u8>)) -> Result<PackedBytes> {
    let (mut data, mut ranges) = (vec![], Vec::with_capacity(rows));
    for row in 0..rows {
        let start = data.len();
        let list = lists.range(row);
        ranges.push(list.map(|list| {
            list.for_each(|at| encode(lists.values(), at, &mut data));
            start..data.len()
        }));
    }
    if u32::try_from(data.len()).is_err() {
        return Err(Error::unsupported("manifests with lists of more than 4 GB"));
    }
    let slice = |row: usize| ranges.get(row).cloned().flatten().and_then(|range| data.get(range));
    Ok(PackedBytes::pack(rows, slice))
}
