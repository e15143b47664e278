//! The bytes of Java's `Roaring64Bitmap`: a set of 64-bit numbers, as `rbm64` columns hold it.
//!
//! In: bytes. Out: [`Roaring64`], and bytes again, the same ones that Java writes after the same unions (only the order of
//! children inside a node of 17 to 48 of them may differ). The upper 48 bits of a number are a key in a radix tree, whose
//! leaves number the containers of lower 16 bits. All numbers are little endian, keys big endian.
//!
//! ```text
//! 00                                          the empty set
//! 01  keys u64  node  containers
//! node        type u8 (0 Node4, 1 Node16, 2 Node48, 3 Node256, 4 leaf)  children u16  prefix length u8  prefix
//!             Node4: child bytes [4] reversed          Node16: child bytes [16], each 8 of them reversed
//!             Node48: place of each of 256 child bytes or ff, each 8 reversed      Node256: 256 bits
//!             leaf: key [6]  slot u64                  inner nodes: then the child nodes
//! containers  arrays u32  { fe  slots u32  { 00 | 01 container } }  containers u64  array i32  slot i32
//! container   type u8 (0 runs, 1 bitmap, 2 array)  cardinality u32  body as in 32-bit Roaring
//! ```

use std::collections::BTreeMap;
use std::io;

use roaring::RoaringBitmap;

use crate::error::{Error, Result};

const KEY_LEN: usize = 6;
const NOT_TRIMMED: u8 = 0xfe;
const MAX_ARRAY_LEN: usize = 4096;
const LEAF: u8 = 4;

type Key = [u8; KEY_LEN];

/// A set of 64-bit numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Roaring64 {
    /// The slot of each key.
    keys: BTreeMap<Key, usize>,
    /// Containers in Java's slots: numbers below 65536.
    slots: Vec<Option<RoaringBitmap>>,
    /// Java's last slot in use.
    last_slot: usize,
}

impl Roaring64 {
    /// Reads a set.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut bytes = Bytes(bytes);
        match bytes.u8()? {
            0 => return Ok(Self::default()),
            1 => {}
            tag => return Err(corrupt(format_args!("tag {tag}"))),
        }
        bytes.u64()?;
        let mut keys = BTreeMap::new();
        read_node(&mut bytes, 0, &mut keys)?;
        let (slots, last_slot) = read_containers(&mut bytes)?;
        match keys.values().all(|slot| slots.get(*slot).is_some_and(Option::is_some)) {
            true => Ok(Self { keys, slots, last_slot }),
            false => Err(corrupt("a key without container")),
        }
    }

    /// Adds all numbers of another set.
    pub fn union(&mut self, other: &Self) {
        for (key, slot) in &other.keys {
            let Some(container) = other.slots.get(*slot).and_then(Option::as_ref) else { continue };
            match self.keys.get(key).and_then(|slot| self.slots.get_mut(*slot)) {
                Some(Some(mine)) => *mine |= container,
                Some(none) => *none = Some(container.clone()),
                None => {
                    let slot = self.next_slot();
                    if let Some(free) = self.slots.get_mut(slot) {
                        *free = Some(container.clone());
                    }
                    self.keys.insert(*key, slot);
                }
            }
        }
    }

    /// The next slot, after Java's rule of growth: by half of what there is.
    fn next_slot(&mut self) -> usize {
        let slot = if self.slots.is_empty() { 0 } else { self.last_slot + 1 };
        if slot >= self.slots.len() {
            let grown = self.slots.len() + self.slots.len() / 2;
            self.slots.resize(grown.max(slot + 1), None);
        }
        self.last_slot = slot;
        slot
    }

    /// Writes the set.
    pub fn write(&mut self) -> Result<Vec<u8>> {
        if self.keys.is_empty() {
            return Ok(vec![0]);
        }
        let mut out = vec![1];
        out.extend_from_slice(&(self.keys.len() as u64).to_le_bytes());
        let leaves: Vec<(Key, usize)> = self.keys.iter().map(|(key, slot)| (*key, *slot)).collect();
        write_node(&leaves, 0, &mut out);
        let count = |n: usize| u32::try_from(n).map_err(|_| corrupt("too many containers"));
        out.extend_from_slice(&1u32.to_le_bytes());
        out.push(NOT_TRIMMED);
        out.extend_from_slice(&count(self.slots.len())?.to_le_bytes());
        for slot in &mut self.slots {
            match slot {
                None => out.push(0),
                Some(container) => {
                    out.push(1);
                    write_container(container, &mut out)?;
                }
            }
        }
        out.extend_from_slice(&(self.keys.len() as u64).to_le_bytes());
        out.extend_from_slice(&0u32.to_le_bytes());
        out.extend_from_slice(&count(self.last_slot)?.to_le_bytes());
        Ok(out)
    }
}

fn read_node(bytes: &mut Bytes<'_>, depth: usize, keys: &mut BTreeMap<Key, usize>) -> Result<()> {
    let (kind, children, prefix) = (bytes.u8()?, bytes.u16()?, bytes.u8()?);
    bytes.take(usize::from(prefix))?;
    if kind == LEAF {
        let key = bytes.array::<KEY_LEN>()?;
        let slot = usize::try_from(bytes.u64()?).map_err(|_| corrupt("a slot beyond memory"))?;
        keys.insert(key, slot);
        return Ok(());
    }
    let body = match kind {
        0 => 4,
        1 => 16,
        2 => 256,
        3 => 32,
        other => return Err(corrupt(format_args!("node of type {other}"))),
    };
    bytes.take(body)?;
    // Each level below the root takes a byte of the key.
    if depth >= KEY_LEN || children > 256 {
        return Err(corrupt("a node that is too deep or too wide"));
    }
    (0..children).try_for_each(|_| read_node(bytes, depth + 1, keys))
}

type Slots = (Vec<Option<RoaringBitmap>>, usize);

fn read_containers(bytes: &mut Bytes<'_>) -> Result<Slots> {
    match bytes.u32()? {
        1 => {}
        other => return Err(corrupt(format_args!("{other} arrays of containers"))),
    }
    bytes.u8()?;
    let count = bytes.u32()? as usize;
    // A slot takes a byte at least.
    let mut slots = Vec::with_capacity(count.min(bytes.0.len()));
    for _ in 0..count {
        slots.push(match bytes.u8()? {
            0 => None,
            1 => Some(read_container(bytes)?),
            tag => return Err(corrupt(format_args!("container tag {tag}"))),
        });
    }
    bytes.u64()?;
    bytes.u32()?;
    let last_slot = bytes.u32()? as usize;
    if last_slot >= slots.len() { Err(corrupt("a last slot beyond the slots")) } else { Ok((slots, last_slot)) }
}

fn read_container(bytes: &mut Bytes<'_>) -> Result<RoaringBitmap> {
    let (kind, cardinality) = (bytes.u8()?, bytes.u32()? as usize);
    let mut values = RoaringBitmap::new();
    match kind {
        0 => {
            for _ in 0..bytes.u16()? {
                let (start, length) = (u32::from(bytes.u16()?), u32::from(bytes.u16()?));
                if start + length > u32::from(u16::MAX) {
                    return Err(corrupt("a run beyond its container"));
                }
                values.insert_range(start..=start + length);
            }
        }
        1 => {
            for word in 0..1024u32 {
                let mut bits = bytes.u64()?;
                while bits != 0 {
                    values.insert(word * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
        2 => {
            for value in bytes.take(cardinality.saturating_mul(2))?.chunks_exact(2) {
                let value: [u8; 2] = value.try_into().map_err(|_| corrupt("half a value"))?;
                values.insert(u32::from(u16::from_le_bytes(value)));
            }
        }
        other => return Err(corrupt(format_args!("container of type {other}"))),
    }
    values.optimize();
    Ok(values)
}

/// Writes the leaves of one subtree, which are in order and agree in the first `depth` bytes of their keys.
fn write_node(leaves: &[(Key, usize)], depth: usize, out: &mut Vec<u8>) {
    let byte = |leaf: &(Key, usize), at: usize| leaf.0.get(at).copied().unwrap_or_default();
    let (Some(first), Some(last)) = (leaves.first(), leaves.last()) else { return };
    let Some(split) = (depth..KEY_LEN).find(|at| byte(first, *at) != byte(last, *at)) else {
        out.extend_from_slice(&[LEAF, 0, 0, 0]);
        out.extend_from_slice(&first.0);
        out.extend_from_slice(&(first.1 as u64).to_le_bytes());
        return;
    };
    let children: Vec<&[(Key, usize)]> = leaves.chunk_by(|a, b| byte(a, split) == byte(b, split)).collect();
    let bytes: Vec<u8> = children.iter().filter_map(|child| child.first()).map(|leaf| byte(leaf, split)).collect();
    let (kind, body) = node_body(&bytes);
    out.push(kind);
    out.extend_from_slice(&(children.len() as u16).to_le_bytes());
    out.push((split - depth) as u8);
    out.extend(first.0.iter().take(split).skip(depth));
    out.extend_from_slice(&body);
    children.into_iter().for_each(|child| write_node(child, split + 1, out));
}

/// The type and body of a node with these child bytes.
fn node_body(children: &[u8]) -> (u8, Vec<u8>) {
    let padded = |len: usize| children.iter().copied().chain(std::iter::repeat(0)).take(len).collect::<Vec<u8>>();
    let reversed =
        |bytes: &[u8], by: usize| bytes.chunks(by).flat_map(|c| c.iter().rev().copied()).collect::<Vec<u8>>();
    match children.len() {
        0..=4 => (0, reversed(&padded(4), 4)),
        5..=16 => (1, reversed(&padded(16), 8)),
        17..=48 => {
            let place = |byte: u8| children.binary_search(&byte).map_or(0xff, |place| place as u8);
            (2, reversed(&(0..=u8::MAX).map(place).collect::<Vec<u8>>(), 8))
        }
        _ => {
            let bit = |byte: u8| u8::from(children.binary_search(&byte).is_ok());
            let octet = |i: u8| (0..8).fold(0, |bits, j| bits | (bit(i * 8 + j) << j));
            (3, (0..32).map(octet).collect())
        }
    }
}

/// Writes a container, whose body is that of the only container of a 32-bit Roaring bitmap.
fn write_container(container: &mut RoaringBitmap, out: &mut Vec<u8>) -> Result<()> {
    container.optimize();
    let mut standard = Vec::with_capacity(container.serialized_size());
    container.serialize_into(&mut standard).map_err(|e| corrupt("it cannot be written").caused_by(e))?;
    let has_runs = standard.first() == Some(&0x3b);
    let cardinality = container.len();
    let (kind, header) = match (has_runs, cardinality > MAX_ARRAY_LEN as u64) {
        (true, _) => (0, 4 + 1 + 4),
        (false, true) => (1, 4 + 4 + 4 + 4),
        (false, false) => (2, 4 + 4 + 4 + 4),
    };
    out.push(kind);
    out.extend_from_slice(&(cardinality as u32).to_le_bytes());
    out.extend_from_slice(standard.get(header..).unwrap_or_default());
    Ok(())
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("64-bit roaring bitmap: {what}"))
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| corrupt("it ends too early").caused_by(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| corrupt("it ends too early"))
    }

    fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
