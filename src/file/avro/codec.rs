//! The compressions of Avro blocks.
//!
//! In: the bytes of a block. Out: its plain bytes. The output grows with what was truly decompressed and is cut off at
//! [`MAX_PLAIN_BYTES`]; nothing is allocated because a header says so.
//!
//! ```text
//! null        plain          deflate     raw DEFLATE, no zlib header
//! bzip2, xz   one stream     zstandard   frames
//! snappy      raw snappy, then CRC-32 of the plain bytes, 4 bytes, big end first
//! ```

use std::cell::Cell;
use std::fmt;
use std::io::Read;

use bytes::Bytes;

use crate::error::{Error, Result};

/// The largest block, decompressed.
const MAX_PLAIN_BYTES: usize = 1 << 30;

/// The memory that the dictionary of an xz stream may take; the highest preset needs 65 MiB.
const XZ_MEMORY_BYTES: u64 = 128 << 20;

/// Raw snappy never shrinks data by more than this: a copy of 64 bytes takes two at least.
const SNAPPY_MAX_RATIO: usize = 32;

/// How far blocks of Zstandard mostly do not shrink.
const ZSTD_LIKELY_RATIO: usize = 8;

thread_local! {
    /// What the last decompressor of a thread leaves for the next one: it is large, and files may be small.
    static ZSTD: Cell<Option<zstd::bulk::Decompressor<'static>>> = const { Cell::new(None) };
}

/// A compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    Null,
    Deflate,
    Snappy,
    Bzip2,
    Xz,
    Zstandard,
}

impl Codec {
    /// By the value of `avro.codec`.
    pub(crate) fn of_name(name: &[u8]) -> Result<Self> {
        Ok(match name {
            b"null" | b"" => Codec::Null,
            b"deflate" => Codec::Deflate,
            b"snappy" => Codec::Snappy,
            b"bzip2" => Codec::Bzip2,
            b"xz" => Codec::Xz,
            b"zstandard" => Codec::Zstandard,
            other => return Err(Error::unsupported(format!("Avro codec '{}'", other.escape_ascii()))),
        })
    }
}

/// Decompresses the blocks of one file; what it learned of one helps with the next.
pub(crate) struct Decompressor {
    codec: Codec,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    /// The size of the largest block so far, decompressed.
    largest_bytes: usize,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decompressor({:?})", self.codec)
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        if let Some(bulk) = self.zstd.take() {
            // A thread that ends keeps nothing.
            let _ = ZSTD.try_with(|kept| kept.set(Some(bulk)));
        }
    }
}

impl Decompressor {
    pub(crate) fn new(codec: Codec) -> Self {
        Self { codec, zstd: None, largest_bytes: 0 }
    }

    /// The plain bytes of a block.
    pub(crate) fn decompress(&mut self, block: Bytes) -> Result<Bytes> {
        let plain = match self.codec {
            Codec::Null => return Ok(block),
            Codec::Snappy => snappy(&block),
            Codec::Zstandard => self.zstandard(&block),
            Codec::Deflate => self.drain(flate2::read::DeflateDecoder::new(&*block), block.len()),
            Codec::Bzip2 => self.drain(bzip2::read::BzDecoder::new(&*block), block.len()),
            Codec::Xz => liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, 0)
                .map_err(|e| self.broken(e))
                .and_then(|s| self.drain(liblzma::read::XzDecoder::new_stream(&*block, s), block.len())),
        }?;
        self.largest_bytes = self.largest_bytes.max(plain.len());
        Ok(plain.into())
    }

    fn broken(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::corrupt(format!("an Avro block is no {:?} data", self.codec)).caused_by(source)
    }

    /// A likely size of the next block.
    fn estimate(&self, compressed_bytes: usize) -> usize {
        let guess = self.largest_bytes.saturating_add(self.largest_bytes / 8);
        guess.max(compressed_bytes.saturating_mul(4)).min(compressed_bytes.saturating_mul(64).min(MAX_PLAIN_BYTES))
    }

    fn drain(&self, source: impl Read, compressed_bytes: usize) -> Result<Vec<u8>> {
        let mut plain = Vec::with_capacity(self.estimate(compressed_bytes));
        source.take(MAX_PLAIN_BYTES as u64 + 1).read_to_end(&mut plain).map_err(|e| self.broken(e))?;
        if plain.len() > MAX_PLAIN_BYTES {
            return Err(Error::unsupported(format!("an Avro block of more than {MAX_PLAIN_BYTES} bytes")));
        }
        Ok(plain)
    }

    /// In one go when the estimate suffices: that needs no window buffer. Else as a stream.
    fn zstandard(&mut self, block: &[u8]) -> Result<Vec<u8>> {
        // Metadata and text shrink well.
        let likely = block.len().saturating_mul(ZSTD_LIKELY_RATIO).min(MAX_PLAIN_BYTES);
        let mut plain = Vec::with_capacity(self.estimate(block.len()).max(likely));
        let bulk = match self.zstd.take().or_else(|| ZSTD.try_with(Cell::take).ok().flatten()) {
            Some(bulk) => Ok(bulk),
            None => zstd::bulk::Decompressor::new(),
        };
        let mut bulk = bulk.map_err(|e| self.broken(e))?;
        let done = bulk.decompress_to_buffer(block, &mut plain).is_ok();
        self.zstd = Some(bulk);
        if done {
            return Ok(plain);
        }
        let stream = zstd::stream::read::Decoder::with_buffer(block).map_err(|e| self.broken(e))?;
        self.drain(stream, block.len())
    }
}

fn snappy(block: &[u8]) -> Result<Vec<u8>> {
    let broken = |e: snap::Error| Error::corrupt("an Avro block is no Snappy data").caused_by(e);
    let (data, sum) =
        block.split_last_chunk::<4>().ok_or_else(|| Error::corrupt("an Avro block of Snappy data lacks its CRC-32"))?;
    let length = snap::raw::decompress_len(data).map_err(broken)?;
    if length > data.len().saturating_mul(SNAPPY_MAX_RATIO) || length > MAX_PLAIN_BYTES {
        return Err(Error::corrupt(format!("an Avro block of Snappy data claims {length} plain bytes")));
    }
    let mut plain = vec![0; length];
    let written = snap::raw::Decoder::new().decompress(data, &mut plain).map_err(broken)?;
    plain.truncate(written);
    let (want, got) = (u32::from_be_bytes(*sum), crc32fast::hash(&plain));
    if want != got {
        return Err(Error::corrupt(format!("an Avro block has CRC-32 {got:08x}, expected {want:08x}")));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::avro::testing::{CODECS, compress};

    #[test]
    fn a_wrong_sum_and_an_unknown_codec_are_refused() {
        let mut block = compress("snappy", b"hello hello hello");
        *block.last_mut().unwrap() ^= 1;
        let error = Decompressor::new(Codec::Snappy).decompress(block.into()).unwrap_err();
        assert!(error.to_string().contains("CRC-32"), "{error}");
        assert!(Codec::of_name(b"lzo").is_err());
    }

    #[test]
    fn a_block_larger_than_the_estimate_is_read() {
        for codec in CODECS {
            let mut d = Decompressor::new(Codec::of_name(codec.as_bytes()).unwrap());
            for size in [3_000_000, 10, 4_000_000, 0] {
                let plain = vec![7u8; size];
                assert!(d.decompress(compress(codec, &plain).into()).unwrap() == plain, "{codec} {size}");
            }
        }
    }

    proptest! {
        #[test]
        fn blocks_round_trip(codec in proptest::sample::select(&CODECS[..]), plain: Vec<u8>) {
            let mut d = Decompressor::new(Codec::of_name(codec.as_bytes()).unwrap());
            prop_assert_eq!(d.decompress(compress(codec, &plain).into()).unwrap(), plain);
        }

        #[test]
        fn changed_bytes_never_panic(
            codec in proptest::sample::select(&CODECS[..]), plain: Vec<u8>, at: prop::sample::Index, byte: u8,
        ) {
            let mut block = compress(codec, &plain);
            let at = at.index(block.len().max(1));
            if let Some(b) = block.get_mut(at) { *b = byte }
            let _ = Decompressor::new(Codec::of_name(codec.as_bytes()).unwrap()).decompress(block.into());
        }
    }
}
