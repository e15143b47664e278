//! The bytes of one ORC stream: compressed chunks in, plain bytes out, one chunk in memory at a time.
//!
//! ```text
//! stream  = chunk*                                         (a file without compression: just the bytes)
//! chunk   = header(3, little endian: length << 1 | original) length × byte
//! ```
//!
//! A chunk never gives more than the file's compression block size, and the block size is at most 8 MiB because a
//! chunk's length has 23 bits: that bounds what foreign bytes make this allocate.

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{Error, Result};

/// The largest compression block: a chunk's length has 23 bits.
const MAX_BLOCK_BYTES: u64 = 1 << 23;

/// What is reserved at once on the word of foreign bytes; more grows with what is really there.
pub(super) const TRUSTED_BYTES: usize = 1 << 20;

/// How the chunks of a file are compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CompressionKind {
    #[default]
    None,
    Zlib,
    Snappy,
    Lz4,
    Zstd,
}

/// The compression of a file, from its postscript.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Compression {
    kind: CompressionKind,
    block_bytes: usize,
}

impl Compression {
    /// From the postscript's `CompressionKind` and block size.
    pub(super) fn new(kind: u64, block_bytes: u64) -> Result<Self> {
        let kind = match kind {
            0 => CompressionKind::None,
            1 => CompressionKind::Zlib,
            2 => CompressionKind::Snappy,
            3 => return Err(Error::unsupported("ORC compression LZO")),
            4 => CompressionKind::Lz4,
            5 => CompressionKind::Zstd,
            6 => return Err(Error::unsupported("ORC compression BROTLI")),
            other => return Err(Error::corrupt(format!("compression kind {other}, expected 0 to 6"))),
        };
        if kind != CompressionKind::None && block_bytes > MAX_BLOCK_BYTES {
            let message = format!("compression block size {block_bytes}, expected at most {MAX_BLOCK_BYTES}");
            return Err(Error::corrupt(message));
        }
        Ok(Self { kind, block_bytes: block_bytes.min(MAX_BLOCK_BYTES) as usize })
    }

    /// The most bytes that a chunk has when decompressed; `None` where nothing is compressed, and there are no chunks.
    pub(super) fn chunk_bytes(&self) -> Option<usize> {
        (self.kind != CompressionKind::None).then_some(self.block_bytes)
    }
}

/// The decompressor of one stream; its working memory serves all chunks.
enum Codec {
    None,
    Zlib(Box<Decompress>),
    Snappy(Box<snap::raw::Decoder>),
    Lz4,
    Zstd(zstd::bulk::Decompressor<'static>),
}

impl Codec {
    fn new(kind: CompressionKind) -> Result<Self> {
        Ok(match kind {
            CompressionKind::None => Codec::None,
            CompressionKind::Zlib => Codec::Zlib(Box::new(Decompress::new(false))),
            CompressionKind::Snappy => Codec::Snappy(Box::default()),
            CompressionKind::Lz4 => Codec::Lz4,
            CompressionKind::Zstd => Codec::Zstd(
                zstd::bulk::Decompressor::new()
                    .map_err(|e| Error::internal("no zstd decompressor could be made").caused_by(e))?,
            ),
        })
    }

    /// Replaces `out` by what the chunk holds, at most `block_bytes`.
    fn decompress(&mut self, chunk: &[u8], out: &mut Vec<u8>, block_bytes: usize) -> Result<()> {
        out.clear();
        let broken =
            |name: &str| Error::corrupt(format!("a {name} chunk does not decompress to {block_bytes} bytes or less"));
        match self {
            Codec::None => out.extend_from_slice(chunk),
            Codec::Zlib(inflate) => {
                // A few bytes more than the block, so that a full block still meets its end mark.
                out.reserve(block_bytes.saturating_add(64));
                inflate.reset(false);
                match inflate.decompress_vec(chunk, out, FlushDecompress::Finish) {
                    Ok(Status::StreamEnd) => {}
                    Ok(_) => return Err(broken("zlib")),
                    Err(e) => return Err(broken("zlib").caused_by(e)),
                }
            }
            Codec::Snappy(decoder) => {
                let length = snap::raw::decompress_len(chunk).map_err(|e| broken("snappy").caused_by(e))?;
                if length > block_bytes {
                    return Err(broken("snappy"));
                }
                out.resize(length, 0);
                decoder.decompress(chunk, out).map_err(|e| broken("snappy").caused_by(e))?;
            }
            Codec::Lz4 => {
                out.resize(block_bytes, 0);
                let length = lz4_flex::block::decompress_into(chunk, out).map_err(|e| broken("lz4").caused_by(e))?;
                out.truncate(length);
            }
            Codec::Zstd(decoder) => {
                out.reserve(block_bytes);
                decoder.decompress_to_buffer(chunk, out).map_err(|e| broken("zstd").caused_by(e))?;
            }
        }
        if out.len() > block_bytes {
            return Err(Error::corrupt(format!("a chunk holds {} bytes, expected at most {block_bytes}", out.len())));
        }
        Ok(())
    }
}

/// Where to begin in a stream: the numbers of the format's positions behind the offset of the chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// Bytes of the chunk that come before, decompressed.
    pub(super) bytes: usize,
    /// Values of the run that begins there that come before.
    pub(super) values: usize,
    /// Bits of the byte that begins there that come before.
    pub(super) bits: usize,
}

/// A stream that is being read.
pub(super) struct ByteStream {
    rest: Bytes,
    /// What of the stream is before the first value that is wanted; its bytes are passed over at once.
    start: Start,
    codec: Codec,
    block_bytes: usize,
    /// The chunk that is being read: `plain` as it was in the file, or `inflated`.
    plain: Bytes,
    inflated: Vec<u8>,
    is_plain: bool,
    at: usize,
    /// Where bytes from both sides of a chunk's border are joined.
    joined: Vec<u8>,
}

impl ByteStream {
    pub(super) fn new(bytes: Bytes, compression: Compression) -> Result<Self> {
        let codec = if bytes.is_empty() { Codec::None } else { Codec::new(compression.kind)? };
        Ok(Self {
            rest: bytes,
            start: Start::default(),
            codec,
            block_bytes: compression.block_bytes,
            plain: Bytes::new(),
            inflated: vec![],
            is_plain: true,
            at: 0,
            joined: vec![],
        })
    }

    /// A stream whose bytes begin with a chunk, in which the first value is somewhere behind.
    pub(super) fn begun(bytes: Bytes, compression: Compression, start: Start) -> Result<Self> {
        let mut stream = Self::new(bytes, compression)?;
        let mut left = start.bytes;
        while left > 0 {
            if stream.chunk().is_empty() {
                stream.advance()?;
            }
            let passed = stream.chunk().len().min(left);
            stream.consume(passed);
            left -= passed;
        }
        stream.start = start;
        Ok(stream)
    }

    /// Where in its first run its first value is.
    pub(super) fn start(&self) -> Start {
        self.start
    }

    /// What is left of the chunk that is being read.
    pub(super) fn chunk(&self) -> &[u8] {
        let chunk = if self.is_plain { self.plain.as_ref() } else { self.inflated.as_slice() };
        chunk.get(self.at..).unwrap_or_default()
    }

    /// Marks bytes of [`chunk`](Self::chunk) as read.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Goes on to the next chunk with bytes in it; an error at the end of the stream.
    pub(super) fn advance(&mut self) -> Result<()> {
        if self.try_advance()? { Ok(()) } else { Err(Error::corrupt("a stream ends before its last value")) }
    }

    /// As [`advance`](Self::advance), but false at the end of the stream.
    fn try_advance(&mut self) -> Result<bool> {
        while self.chunk().is_empty() {
            if self.rest.is_empty() {
                return Ok(false);
            }
            self.at = 0;
            if matches!(self.codec, Codec::None) {
                self.plain = std::mem::take(&mut self.rest);
                continue;
            }
            let (is_original, chunk) = self.next_chunk()?;
            self.is_plain = is_original;
            if is_original {
                self.plain = chunk;
            } else {
                self.codec.decompress(&chunk, &mut self.inflated, self.block_bytes)?;
            }
        }
        Ok(true)
    }

    fn next_chunk(&mut self) -> Result<(bool, Bytes)> {
        let Some(&[a, b, c]) = self.rest.first_chunk::<3>() else {
            return Err(Error::corrupt("a stream ends inside the header of a chunk"));
        };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let length = (header >> 1) as usize;
        let end = length.saturating_add(3);
        if end > self.rest.len() {
            let left = self.rest.len().saturating_sub(3);
            return Err(Error::corrupt(format!("a chunk claims {length} bytes, {left} are left in its stream")));
        }
        let chunk = self.rest.split_to(end).split_off(3);
        Ok((header & 1 == 1, chunk))
    }

    /// The next byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        if self.chunk().is_empty() {
            self.advance()?;
        }
        let byte = self.chunk().first().copied().unwrap_or_default();
        self.at += 1;
        Ok(byte)
    }

    /// The next `length` bytes in one piece; `length` must be small (a run of at most 512 numbers).
    pub(super) fn take(&mut self, length: usize) -> Result<&[u8]> {
        if self.chunk().len() < length {
            let mut joined = std::mem::take(&mut self.joined);
            joined.clear();
            let read = self.read(length, &mut joined);
            self.joined = joined;
            return read.map(|()| self.joined.as_slice());
        }
        let start = self.at;
        self.at += length;
        let chunk = if self.is_plain { self.plain.as_ref() } else { self.inflated.as_slice() };
        Ok(chunk.get(start..self.at).unwrap_or_default())
    }

    /// Appends the next `length` bytes to `out`.
    pub(super) fn read(&mut self, length: usize, out: &mut Vec<u8>) -> Result<()> {
        out.reserve(length.min(TRUSTED_BYTES));
        let mut left = length;
        while left > 0 {
            if self.chunk().is_empty() {
                self.advance()?;
            }
            let chunk = self.chunk();
            let part = chunk.get(..left).unwrap_or(chunk);
            out.extend_from_slice(part);
            let read = part.len();
            left -= read;
            self.consume(read);
        }
        Ok(())
    }

    /// All bytes that are left, at most `limit`.
    pub(super) fn read_to_end(mut self, limit: usize) -> Result<Vec<u8>> {
        let mut out = vec![];
        while self.try_advance()? {
            let chunk = self.chunk();
            out.extend_from_slice(chunk);
            let read = chunk.len();
            self.consume(read);
            if out.len() > limit {
                return Err(Error::corrupt(format!("metadata is longer than {limit} bytes")));
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn compress(kind: u64, plain: &[u8]) -> Vec<u8> {
        match kind {
            1 => {
                let mut e = flate2::write::DeflateEncoder::new(vec![], flate2::Compression::default());
                e.write_all(plain).unwrap();
                e.finish().unwrap()
            }
            2 => snap::raw::Encoder::new().compress_vec(plain).unwrap(),
            4 => lz4_flex::block::compress(plain),
            _ => zstd::bulk::compress(plain, 1).unwrap(),
        }
    }

    /// A stream of chunks of `block` bytes; every third one is stored as it is.
    pub(in crate::file::orc) fn stream_of(kind: u64, plain: &[u8], block: usize) -> Vec<u8> {
        let mut out = vec![];
        for (i, part) in plain.chunks(block).enumerate() {
            let (original, body) = if i % 3 == 2 { (1, part.to_vec()) } else { (0, compress(kind, part)) };
            out.extend_from_slice(&((body.len() as u32) << 1 | original).to_le_bytes()[..3]);
            out.extend_from_slice(&body);
        }
        out
    }

    proptest! {
        #[test]
        fn every_codec_gives_back_what_was_compressed(
            plain in proptest::collection::vec(0u8..4, 0..2000),
            kind in prop_oneof![Just(1u64), Just(2), Just(4), Just(5)],
            block in 1usize..300,
            piece in 1usize..50,
        ) {
            let compression = Compression::new(kind, block as u64).unwrap();
            let bytes = Bytes::from(stream_of(kind, &plain, block));
            prop_assert_eq!(&ByteStream::new(bytes.clone(), compression).unwrap().read_to_end(usize::MAX).unwrap(), &plain);
            let mut stream = ByteStream::new(bytes, compression).unwrap();
            for want in plain.chunks(piece) {
                prop_assert_eq!(stream.take(want.len()).unwrap(), want);
            }
            prop_assert!(stream.byte().is_err());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0u64..7) {
            if let Ok(compression) = Compression::new(kind, 1000) {
                let stream = ByteStream::new(Bytes::from(bytes), compression).unwrap();
                let _ = stream.read_to_end(1 << 20);
            }
        }
    }

    #[test]
    fn a_chunk_that_grows_beyond_the_block_is_corrupt() {
        for kind in [1, 2, 4, 5] {
            let bytes = Bytes::from(stream_of(kind, &[7; 5000], 5000));
            let stream = ByteStream::new(bytes, Compression::new(kind, 1000).unwrap()).unwrap();
            assert!(stream.read_to_end(usize::MAX).is_err(), "{kind}");
        }
        assert!(Compression::new(5, 1 << 24).is_err());
        assert!(Compression::new(3, 1000).is_err());
        assert!(Compression::new(9, 1000).is_err());
    }
}
