//! The tail of an ORC file: what is in it, and where.
//!
//! In: a file, of which the last 64 KiB are read at first, and more only where the footer is longer. Out: a [`Tail`]
//! whose types form a tree and whose stripes lie inside the file: nothing later has to doubt them.
//!
//! ```text
//! file = "ORC" stripe* metadata footer postscript length-of-postscript(1)
//! ```
//! Footer and metadata may be compressed, the postscript never is; all are Protocol Buffers messages. The metadata
//! (statistics of stripes) is read where a predicate may pass over some.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::HashMap;
use datafusion::execution::cache::cache_manager::FileMetadata;

use super::codec::{ByteStream, Compression};
use super::protobuf::Message;
use crate::error::{Error, Result};
use crate::file::FooterCache;
use crate::storage::InputFile;

/// How much of the end of a file is read at first. Little in tests, so that small files have more.
const TAIL_BYTES: u64 = if cfg!(test) { 2 << 10 } else { 64 << 10 };
/// A file that is not larger comes whole where a request costs more than its bytes. Small in tests, so that parts are read.
const WHOLE_BYTES: u64 = if cfg!(test) { 1 << 10 } else { 256 << 10 };
/// The longest footer that is accepted, decompressed.
const MAX_FOOTER_BYTES: usize = 256 << 20;
/// The longest metadata that are looked at, decompressed.
const MAX_METADATA_BYTES: usize = 64 << 20;
/// The most rows of a row group.
const MAX_GROUP_ROWS: u64 = 1 << 24;
/// How deep types may be nested, so that recursion stays bounded.
const MAX_DEPTH: usize = 64;

/// What the tail of a file says.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    pub(super) compression: Compression,
    /// The types in the order of their numbers; the first one is the root, a struct.
    pub(super) types: Vec<OrcType>,
    pub(super) stripes: Vec<StripeInformation>,
    /// Where the metadata are: statistics of stripes.
    pub(super) metadata: Range<u64>,
    /// The rows of a row group, of which a stripe's index has an entry each; 0 where there is no index.
    pub(super) row_group_rows: u64,
    /// The metadata, decompressed, once they were asked for.
    pub(super) statistics: Option<Bytes>,
}

impl FileMetadata for Tail {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        let of_type = |found: &OrcType| {
            let names: usize = found.names.iter().map(|name| size_of::<String>() + name.len()).sum();
            size_of::<OrcType>() + found.children.len() * size_of::<u32>() + names
        };
        let types: usize = self.types.iter().map(of_type).sum();
        let stripes = self.stripes.len() * size_of::<StripeInformation>();
        size_of::<Self>() + types + stripes + self.statistics.as_ref().map_or(0, Bytes::len)
    }

    fn extra_info(&self) -> HashMap<String, String> {
        HashMap::from_iter([("stripes".to_owned(), self.stripes.len().to_string())])
    }
}

/// Declares the kinds of types once, in the order of their numbers in the format.
macro_rules! orc_kinds {
    ($($kind:ident),* $(,)?) => {
        /// The kind of a type, by its number in the format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum OrcKind {
            $($kind,)*
            Other(u64),
        }

        const KINDS: &[OrcKind] = &[$(OrcKind::$kind),*];
    };
}

orc_kinds! {
    Boolean, Byte, Short, Int, Long, Float, Double, String, Binary, Timestamp, List, Map, Struct, Union, Decimal, Date,
    Varchar, Char, TimestampInstant,
}

/// A type, which is also a column: its number in the list of types is the column's.
#[derive(Debug, Clone)]
pub(super) struct OrcType {
    pub(super) kind: OrcKind,
    pub(super) children: Vec<u32>,
    /// The names of a struct's children.
    pub(super) names: Vec<String>,
    pub(super) precision: u32,
    pub(super) scale: u32,
}

/// Where a stripe is, and how many rows it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StripeInformation {
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// The length of its indexes, with which it begins.
    pub index_bytes: u64,
    /// The length of its data.
    pub data_bytes: u64,
    /// The length of its footer, with which it ends.
    pub footer_bytes: u64,
    /// Its rows.
    pub rows: u64,
}

impl StripeInformation {
    /// The length of all of it.
    pub fn length_bytes(&self) -> u64 {
        // In range for all stripes that were read from a file: see `check_stripes`.
        self.index_bytes.saturating_add(self.data_bytes).saturating_add(self.footer_bytes)
    }

    pub(super) fn footer_range(&self) -> Range<u64> {
        let end = self.offset.saturating_add(self.length_bytes());
        end.saturating_sub(self.footer_bytes)..end
    }
}

impl OrcKind {
    fn from_number(number: u64) -> Self {
        usize::try_from(number).ok().and_then(|i| KINDS.get(i).copied()).unwrap_or(Self::Other(number))
    }
}

impl OrcType {
    /// What the type is called in messages.
    pub(super) fn describe(&self) -> String {
        match self.kind {
            OrcKind::Decimal => format!("decimal({},{})", self.precision, self.scale),
            OrcKind::Other(number) => format!("type {number}"),
            OrcKind::TimestampInstant => "timestamp with local time zone".to_owned(),
            kind => format!("{kind:?}").to_ascii_lowercase(),
        }
    }
}

/// A file of which the end is in memory.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// `None` where the end is all of the file.
    file: Option<InputFile>,
    end_offset: u64,
    end: Bytes,
}

impl Source {
    /// Ranges of the file, in the order asked for; those inside the end cost no request.
    pub(super) async fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let missing: Vec<_> = ranges.iter().filter(|r| self.at_hand(r).is_none()).cloned().collect();
        let read = match &self.file {
            _ if missing.is_empty() => vec![],
            Some(file) => file.read_ranges(&missing).await?,
            None => return Err(Error::corrupt(format!("the file ends before the bytes {missing:?}"))),
        };
        let mut read = read.into_iter();
        let bytes = ranges.iter().map(|r| self.at_hand(r).or_else(|| read.next()));
        bytes.map(|b| b.ok_or_else(|| Error::internal("the store gave fewer ranges than were asked for"))).collect()
    }

    /// The statistics of stripes, decompressed; they are kept in the cache with the tail.
    pub(super) async fn statistics(&self, tail: &Tail, cache: Option<&FooterCache>) -> Result<Bytes> {
        if let Some(statistics) = &tail.statistics {
            return Ok(statistics.clone());
        }
        let bytes = self.read(std::slice::from_ref(&tail.metadata)).await?.pop().unwrap_or_default();
        let plain = Bytes::from(ByteStream::new(bytes, tail.compression)?.read_to_end(MAX_METADATA_BYTES)?);
        if let (Some(cache), Some(file)) = (cache, &self.file) {
            let tail = Tail { statistics: Some(plain.clone()), ..tail.clone() };
            cache.put(file, file.size_bytes().await?, Arc::new(tail));
        }
        Ok(plain)
    }

    async fn tail(&self, size: u64) -> Result<Arc<Tail>> {
        let postscript = PostScript::parse(&self.end, size)?;
        let footer = self.read(std::slice::from_ref(&postscript.footer_range)).await?.pop().unwrap_or_default();
        Ok(Arc::new(Tail::parse(footer, &postscript)?))
    }

    /// A range inside the end of the file.
    pub(super) fn at_hand(&self, range: &Range<u64>) -> Option<Bytes> {
        let start = usize::try_from(range.start.checked_sub(self.end_offset)?).ok()?;
        let end = usize::try_from(range.end.checked_sub(self.end_offset)?).ok()?;
        (start <= end && end <= self.end.len()).then(|| self.end.slice(start..end))
    }
}

/// The tail of a file, out of the cache where it is there.
pub(super) async fn read_tail(file: &InputFile, cache: Option<&FooterCache>) -> Result<(Arc<Tail>, Source)> {
    let size = file.size_bytes().await?;
    if let Some(tail) = cache.and_then(|cache| cache.get::<Tail>(file, size)) {
        let source = Source { file: Some(file.clone()), end_offset: size, end: Bytes::new() };
        return Ok((tail, source));
    }
    let start = match size {
        small if small <= WHOLE_BYTES && !file.is_local() => 0,
        _ => size.saturating_sub(TAIL_BYTES),
    };
    let end = match size {
        0 => Bytes::new(),
        _ => file.read_range(start..size).await?,
    };
    let source = Source { file: Some(file.clone()), end_offset: start, end };
    let tail = source.tail(size).await?;
    if let Some(cache) = cache {
        cache.put(file, size, Arc::clone(&tail) as _);
    }
    Ok((tail, source))
}

/// The tail of a file that is in memory as a whole. Reads of the source are done at once.
pub(super) async fn tail_of_bytes(bytes: Bytes) -> Result<(Arc<Tail>, Source)> {
    let size = bytes.len() as u64;
    let source = Source { file: None, end_offset: 0, end: bytes };
    source.tail(size).await.map(|tail| (tail, source))
}

/// What the postscript says.
#[derive(Debug)]
struct PostScript {
    compression: Compression,
    footer_range: Range<u64>,
    /// Where the metadata begins, and all stripes have ended.
    stripes_end: u64,
}

impl PostScript {
    /// From the end of a file of `size` bytes.
    fn parse(end: &[u8], size: u64) -> Result<Self> {
        let Some((&length, before)) = end.split_last() else {
            return Err(Error::corrupt("the file is empty, expected an ORC file"));
        };
        let start = before.len().checked_sub(usize::from(length));
        let Some(bytes) = start.and_then(|start| before.get(start..)) else {
            return Err(Error::corrupt(format!("a postscript of {length} bytes in a file of {size}")));
        };
        let (mut footer, mut metadata, mut kind, mut block, mut magic) = (0, 0, 0, 256 << 10, None);
        let mut message = Message::new(bytes);
        while let Some((number, value)) = message.next()? {
            match number {
                1 => footer = value.number()?,
                2 => kind = value.number()?,
                3 => block = value.number()?,
                5 => metadata = value.number()?,
                8000 => magic = Some(value.bytes()?),
                _ => {}
            }
        }
        if magic != Some(b"ORC") {
            return Err(Error::corrupt("the postscript does not end in 'ORC': no ORC file, or cut off"));
        }
        let footer_end = size.checked_sub(u64::from(length) + 1);
        let footer_start = footer_end.and_then(|end| end.checked_sub(footer));
        let stripes_end = footer_start.and_then(|start| start.checked_sub(metadata));
        let (Some(footer_end), Some(footer_start), Some(stripes_end)) = (footer_end, footer_start, stripes_end) else {
            let message = format!("a footer of {footer} and metadata of {metadata} bytes in a file of {size}");
            return Err(Error::corrupt(message));
        };
        Ok(Self { compression: Compression::new(kind, block)?, footer_range: footer_start..footer_end, stripes_end })
    }
}

impl Tail {
    fn parse(footer: Bytes, postscript: &PostScript) -> Result<Self> {
        let bytes = ByteStream::new(footer, postscript.compression)?.read_to_end(MAX_FOOTER_BYTES)?;
        let (mut types, mut stripes, mut rows, mut row_group_rows) = (vec![], vec![], 0, 0);
        let mut message = Message::new(&bytes);
        while let Some((number, value)) = message.next()? {
            match number {
                3 => stripes.push(stripe_information(value.bytes()?)?),
                4 => types.push(orc_type(value.bytes()?)?),
                6 => rows = value.number()?,
                // More is no row group: then the stripes are read whole.
                8 => row_group_rows = Some(value.number()?).filter(|rows| *rows <= MAX_GROUP_ROWS).unwrap_or(0),
                10 => return Err(Error::unsupported("ORC column encryption")),
                _ => {}
            }
        }
        check_types(&types)?;
        check_stripes(&stripes, rows, postscript.stripes_end)?;
        let metadata = postscript.stripes_end..postscript.footer_range.start;
        Ok(Self { compression: postscript.compression, types, stripes, metadata, row_group_rows, statistics: None })
    }
}

fn stripe_information(bytes: &[u8]) -> Result<StripeInformation> {
    let mut stripe = StripeInformation::default();
    let mut message = Message::new(bytes);
    while let Some((number, value)) = message.next()? {
        match number {
            1 => stripe.offset = value.number()?,
            2 => stripe.index_bytes = value.number()?,
            3 => stripe.data_bytes = value.number()?,
            4 => stripe.footer_bytes = value.number()?,
            5 => stripe.rows = value.number()?,
            _ => {}
        }
    }
    Ok(stripe)
}

fn orc_type(bytes: &[u8]) -> Result<OrcType> {
    let mut kind = OrcKind::Boolean;
    let (mut children, mut names, mut precision, mut scale) = (vec![], vec![], 0, 0);
    let mut message = Message::new(bytes);
    while let Some((number, value)) = message.next()? {
        match number {
            1 => kind = OrcKind::from_number(value.number()?),
            2 => value.numbers_u32(&mut children)?,
            3 => names.push(value.text()?),
            5 => precision = value.number_u32()?,
            6 => scale = value.number_u32()?,
            _ => {}
        }
    }
    let expected = match kind {
        OrcKind::Struct => names.len(),
        OrcKind::List => 1,
        OrcKind::Map => 2,
        OrcKind::Union | OrcKind::Other(_) => children.len(),
        _ => 0,
    };
    if children.len() != expected {
        let message = format!("a type {kind:?} has {} children, expected {expected}", children.len());
        return Err(Error::corrupt(message));
    }
    Ok(OrcType { kind, children, names, precision, scale })
}

/// Types must form a tree, numbered so that a child comes after its parent: then walking down ends.
fn check_types(types: &[OrcType]) -> Result<()> {
    if types.first().map(|root| root.kind) != Some(OrcKind::Struct) {
        return Err(Error::corrupt("the root type is no struct"));
    }
    let mut depths: Vec<Option<usize>> = vec![None; types.len()];
    if let Some(root) = depths.first_mut() {
        *root = Some(0);
    }
    for (number, orc_type) in types.iter().enumerate() {
        let Some(depth) = depths.get(number).copied().flatten() else {
            return Err(Error::corrupt(format!("type {number} is nobody's child")));
        };
        for child in &orc_type.children {
            let child = *child as usize;
            match depths.get_mut(child) {
                Some(slot) if child > number && slot.is_none() && depth < MAX_DEPTH => *slot = Some(depth + 1),
                _ => return Err(Error::corrupt(format!("type {child} cannot be a child of type {number}"))),
            }
        }
    }
    Ok(())
}

fn check_stripes(stripes: &[StripeInformation], rows: u64, stripes_end: u64) -> Result<()> {
    let mut sum = 0u64;
    for (number, stripe) in stripes.iter().enumerate() {
        let end = [stripe.index_bytes, stripe.data_bytes, stripe.footer_bytes]
            .iter()
            .try_fold(stripe.offset, |end, bytes| end.checked_add(*bytes));
        if end.is_none_or(|end| end > stripes_end) {
            let message = format!("stripe {number} {stripe:?} does not end before byte {stripes_end}");
            return Err(Error::corrupt(message));
        }
        sum = sum.saturating_add(stripe.rows);
    }
    if sum != rows {
        return Err(Error::corrupt(format!("the stripes have {sum} rows, expected {rows}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaf(kind: OrcKind) -> OrcType {
        OrcType { kind, children: vec![], names: vec![], precision: 0, scale: 0 }
    }

    fn parent(children: &[u32]) -> OrcType {
        let names = children.iter().map(u32::to_string).collect();
        OrcType { children: children.to_vec(), names, ..leaf(OrcKind::Struct) }
    }

    #[test]
    fn types_must_be_a_tree() {
        assert!(check_types(&[parent(&[1, 2]), leaf(OrcKind::Int), parent(&[3]), leaf(OrcKind::Int)]).is_ok());
        for types in [
            vec![],
            vec![leaf(OrcKind::Int)],
            vec![parent(&[0])],
            vec![parent(&[1, 1]), leaf(OrcKind::Int)],
            vec![parent(&[7])],
            vec![parent(&[]), leaf(OrcKind::Int)],
            vec![parent(&[1]), parent(&[2]), parent(&[1])],
        ] {
            assert!(check_types(&types).is_err(), "{types:?}");
        }
        let deep: Vec<_> = (1..=100).map(|i| parent(&[i])).chain([leaf(OrcKind::Int)]).collect();
        assert!(check_types(&deep).is_err());
    }

    #[test]
    fn stripes_must_lie_before_the_tail() {
        let stripe = |offset, data_bytes| StripeInformation { offset, data_bytes, rows: 2, ..Default::default() };
        assert!(check_stripes(&[stripe(3, 7), stripe(10, 10)], 4, 20).is_ok());
        assert!(check_stripes(&[stripe(3, 7)], 3, 20).is_err());
        assert!(check_stripes(&[stripe(3, 18)], 2, 20).is_err());
        assert!(check_stripes(&[stripe(3, u64::MAX)], 2, 20).is_err());
    }

    #[test]
    fn a_postscript_must_be_one() {
        // footer 5, no compression, metadata 2, magic
        let postscript = [0x08, 5, 0x10, 0, 0x28, 2, 0x82, 0xf4, 0x03, 3, b'O', b'R', b'C'];
        let file = |length: u8| [&[0; 7][..], &postscript, &[length]].concat();
        let parsed = PostScript::parse(&file(13), 21).unwrap();
        assert_eq!((parsed.footer_range, parsed.stripes_end), (2..7, 0));
        assert!(PostScript::parse(&file(13), 18).is_err());
        for bytes in [vec![], vec![0], vec![9, 1], file(200), file(0)] {
            assert!(PostScript::parse(&bytes, bytes.len() as u64).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_footer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u64..6) {
            let _ = PostScript::parse(&bytes, bytes.len() as u64);
            if let Ok(compression) = Compression::new(kind, 1000) {
                let _ = Tail::parse(Bytes::from(bytes), &PostScript { compression, footer_range: 0..0, stripes_end: 100 });
            }
        }
    }
}
