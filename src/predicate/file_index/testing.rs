//! Writes file indexes, for tests.
//!
//! In: the values of a column. Out: the bytes of an index as the module of its kind draws them, and of a container.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::bloom;
use super::container::IndexKind;
use super::key::{Key, KeyType};
use crate::spec::data_type::DataType;
use crate::spec::datum::Datum;

/// A container of one column's indexes.
pub(crate) fn container(column: &str, indexes: &[(IndexKind, Option<Vec<u8>>)]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat();
    let head = |start: i32| {
        let mut head = [&1i32.to_be_bytes()[..], &text(column), &(indexes.len() as i32).to_be_bytes()].concat();
        let mut start = start;
        for (kind, bytes) in indexes {
            head.extend(text(kind.name()));
            let length = bytes.as_ref().map_or(0, Vec::len) as i32;
            head.extend(if bytes.is_some() { start } else { -1 }.to_be_bytes());
            head.extend(length.to_be_bytes());
            start += length;
        }
        head.extend(0i32.to_be_bytes());
        head
    };
    let length = 16 + head(0).len() as i32;
    let magic = 1_493_475_289_347_502_i64.to_be_bytes();
    let mut out = [&magic[..], &1i32.to_be_bytes(), &length.to_be_bytes(), &head(length)].concat();
    indexes.iter().for_each(|(_, bytes)| out.extend(bytes.iter().flatten()));
    out
}

/// The index of a kind over the values of a column, with blocks or chunks of a few keys.
pub(crate) fn index(kind: IndexKind, version: u8, data_type: &DataType, values: &[Option<Datum>]) -> Vec<u8> {
    let key = |value: &Datum| match value {
        Datum::Float(v) => Key::Float(*v),
        Datum::Double(v) => Key::Double(*v),
        other => Key::of(other, data_type).unwrap(),
    };
    let keys: Vec<Option<Key>> = values.iter().map(|v| v.as_ref().map(key)).collect();
    let key_type = KeyType::of(data_type).unwrap();
    match kind {
        IndexKind::BloomFilter => bloom_filter(&keys),
        IndexKind::Bitmap => bitmap(version, key_type, &keys),
        IndexKind::Bsi => bsi(&keys),
        IndexKind::RangeBitmap => range_bitmap(key_type, &keys),
    }
}

fn bloom_filter(keys: &[Option<Key>]) -> Vec<u8> {
    let mut bits = vec![0u8; 2 * keys.len() + 1];
    let bytes = bits.len();
    for key in keys.iter().flatten() {
        bloom::places(bloom::hash(key), 4, bytes).for_each(|(at, bit)| bits[at] |= bit);
    }
    [&4i32.to_be_bytes()[..], &bits].concat()
}

fn encoded(key_type: KeyType, key: &Key) -> Vec<u8> {
    match (key, key_type) {
        (Key::Long(v), KeyType::Byte) => (*v as i8).to_be_bytes().to_vec(),
        (Key::Long(v), KeyType::Short) => (*v as i16).to_be_bytes().to_vec(),
        (Key::Long(v), KeyType::Int) => (*v as i32).to_be_bytes().to_vec(),
        (Key::Long(v), _) => v.to_be_bytes().to_vec(),
        (Key::Float(v), _) => v.to_be_bytes().to_vec(),
        (Key::Double(v), _) => v.to_be_bytes().to_vec(),
        (Key::Bytes(v), _) => [&(v.len() as i32).to_be_bytes()[..], v].concat(),
    }
}

fn serialized(rows: &RoaringBitmap) -> Vec<u8> {
    let mut bytes = vec![];
    rows.serialize_into(&mut bytes).unwrap();
    bytes
}

/// The different keys in order, and the rows of each; those without one.
fn by_key(keys: &[Option<Key>]) -> (Vec<(Key, RoaringBitmap)>, RoaringBitmap) {
    let (mut found, mut nulls): (Vec<(Key, RoaringBitmap)>, _) = (vec![], RoaringBitmap::new());
    for (row, key) in keys.iter().enumerate() {
        let Some(key) = key else {
            nulls.insert(row as u32);
            continue;
        };
        match found.binary_search_by(|(k, _)| k.compare(key)) {
            Ok(at) => found[at].1.insert(row as u32),
            Err(at) => {
                found.insert(at, (key.clone(), RoaringBitmap::from_iter([row as u32])));
                true
            }
        };
    }
    (found, nulls)
}

fn bitmap(version: u8, key_type: KeyType, keys: &[Option<Key>]) -> Vec<u8> {
    let (found, nulls) = by_key(keys);
    let mut body = vec![];
    let mut place = |rows: &RoaringBitmap| match (rows.len(), rows.min()) {
        (1, Some(row)) => (-1 - row as i32, -1),
        _ => {
            let bytes = serialized(rows);
            body.extend(&bytes);
            ((body.len() - bytes.len()) as i32, bytes.len() as i32)
        }
    };
    let null = place(&nulls);
    let entries: Vec<_> = found.iter().map(|(key, rows)| (encoded(key_type, key), place(rows))).collect();
    let mut out = vec![version];
    let int = |out: &mut Vec<u8>, value: i32| out.extend(value.to_be_bytes());
    int(&mut out, keys.len() as i32);
    int(&mut out, found.len() as i32);
    out.push(u8::from(!nulls.is_empty()));
    if !nulls.is_empty() {
        int(&mut out, null.0);
    }
    if version == 1 {
        for (key, (offset, _)) in entries.iter().rev() {
            out.extend(key);
            int(&mut out, *offset);
        }
        return [out, body].concat();
    }
    if !nulls.is_empty() {
        int(&mut out, null.1);
    }
    int(&mut out, entries.chunks(3).len() as i32);
    let mut blocks = vec![];
    for block in entries.chunks(3) {
        out.extend(&block[0].0);
        int(&mut out, blocks.len() as i32);
        int(&mut blocks, block.len() as i32);
        for (key, (offset, length)) in block {
            blocks.extend(key);
            int(&mut blocks, *offset);
            int(&mut blocks, *length);
        }
    }
    int(&mut out, blocks.len() as i32);
    [out, blocks, body].concat()
}

fn bit_slices(numbers: &BTreeMap<u32, u64>) -> (RoaringBitmap, Vec<RoaringBitmap>) {
    let bits = numbers.values().map(|n| 64 - n.leading_zeros()).max().unwrap_or(0).max(1);
    let slice = |bit| numbers.iter().filter(|(_, n)| *n >> bit & 1 == 1).map(|(row, _)| *row).collect();
    (numbers.keys().copied().collect(), (0..bits).map(slice).collect())
}

fn bsi(keys: &[Option<Key>]) -> Vec<u8> {
    let numbers = |negative: bool| -> BTreeMap<u32, u64> {
        let number = |(row, key): (usize, &Option<Key>)| match key {
            Some(Key::Long(v)) if (*v < 0) == negative => Some((row as u32, v.unsigned_abs())),
            _ => None,
        };
        keys.iter().enumerate().filter_map(number).collect()
    };
    let mut out = [&[1u8][..], &(keys.len() as i32).to_be_bytes()].concat();
    for numbers in [numbers(false), numbers(true)] {
        out.push(u8::from(!numbers.is_empty()));
        if numbers.is_empty() {
            continue;
        }
        let (existing, slices) = bit_slices(&numbers);
        out.push(1);
        out.extend(0i64.to_be_bytes());
        out.extend((numbers.values().max().copied().unwrap_or(0) as i64).to_be_bytes());
        out.extend(serialized(&existing));
        out.extend((slices.len() as i32).to_be_bytes());
        slices.iter().for_each(|slice| out.extend(serialized(slice)));
    }
    out
}

fn with_length(head: Vec<u8>) -> Vec<u8> {
    [&(head.len() as i32).to_be_bytes()[..], &head].concat()
}

fn ints(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|v| (*v as i32).to_be_bytes()).collect()
}

fn range_bitmap(key_type: KeyType, keys: &[Option<Key>]) -> Vec<u8> {
    let (found, _) = by_key(keys);
    let dictionary = dictionary(key_type, &found);
    let mut head = [vec![1u8], ints(&[keys.len(), found.len()])].concat();
    if let (Some((least, _)), Some((greatest, _))) = (found.first(), found.last()) {
        head.extend([encoded(key_type, least), encoded(key_type, greatest)].concat());
    }
    head.extend(ints(&[dictionary.len()]));
    let ranks = found.iter().enumerate().flat_map(|(rank, (_, rows))| rows.iter().map(move |row| (row, rank as u64)));
    let (existing, slices) = bit_slices(&ranks.collect());
    let (existing, slices) = (serialized(&existing), slices.iter().map(serialized).collect::<Vec<_>>());
    let mut places = vec![];
    let mut offset = 0;
    for slice in &slices {
        places.extend(ints(&[offset, slice.len()]));
        offset += slice.len();
    }
    let ranks_head = [vec![1u8, slices.len() as u8], ints(&[existing.len(), places.len()]), places].concat();
    [with_length(head), dictionary, with_length(ranks_head), existing, slices.concat()].concat()
}

fn dictionary(key_type: KeyType, found: &[(Key, RoaringBitmap)]) -> Vec<u8> {
    let (mut offsets, mut heads, mut all_keys) = (vec![], vec![], vec![]);
    for (number, chunk) in found.chunks(3).enumerate() {
        let keys: Vec<_> = chunk[1..].iter().map(|(key, _)| encoded(key_type, key)).collect();
        let key_offsets: Vec<usize> = (0..keys.len()).map(|at| keys[..at].iter().map(Vec::len).sum()).collect();
        let (key_offsets, keys_bytes) = (ints(&key_offsets), keys.concat());
        offsets.extend(ints(&[heads.len()]));
        heads.push(1u8);
        heads.extend(encoded(key_type, &chunk[0].0));
        heads.extend(ints(&[number * 3, all_keys.len(), keys.len()]));
        if key_type.is_fixed() {
            heads.extend(ints(&[keys_bytes.len(), encoded(key_type, &chunk[0].0).len()]));
        } else {
            heads.extend(ints(&[key_offsets.len(), keys_bytes.len()]));
            all_keys.extend(key_offsets);
        }
        all_keys.extend(keys_bytes);
    }
    let head = [vec![1u8], ints(&[found.chunks(3).len(), offsets.len(), heads.len()])].concat();
    [with_length(head), offsets, heads, all_keys].concat()
}
