//! A writer of Avro files, as much as tests need.

use std::io::Write;

/// All codecs.
pub(crate) const CODECS: [&str; 6] = ["null", "deflate", "snappy", "bzip2", "xz", "zstandard"];

/// The marker of the files that are written here.
pub(crate) const SYNC: [u8; 16] = *b"0123456789abcdef";

pub(crate) fn long(to: &mut Vec<u8>, value: i64) {
    let mut raw = ((value << 1) ^ (value >> 63)) as u64;
    while raw >= 0x80 {
        to.push(raw as u8 | 0x80);
        raw >>= 7;
    }
    to.push(raw as u8);
}

pub(crate) fn bytes(to: &mut Vec<u8>, value: &[u8]) {
    long(to, value.len() as i64);
    to.extend_from_slice(value);
}

pub(crate) fn header(schema: &str, codec: Option<&str>) -> Vec<u8> {
    let mut to = b"Obj\x01".to_vec();
    long(&mut to, 1 + i64::from(codec.is_some()));
    if let Some(codec) = codec {
        bytes(&mut to, b"avro.codec");
        bytes(&mut to, codec.as_bytes());
    }
    bytes(&mut to, b"avro.schema");
    bytes(&mut to, schema.as_bytes());
    long(&mut to, 0);
    to.extend(SYNC);
    to
}

pub(crate) fn compress(codec: &str, plain: &[u8]) -> Vec<u8> {
    let mut to = vec![];
    match codec {
        "deflate" => {
            let mut w = flate2::write::DeflateEncoder::new(&mut to, flate2::Compression::default());
            w.write_all(plain).unwrap();
            w.finish().unwrap();
        }
        "bzip2" => {
            let mut w = bzip2::write::BzEncoder::new(&mut to, bzip2::Compression::fast());
            w.write_all(plain).unwrap();
            w.finish().unwrap();
        }
        "xz" => {
            let mut w = liblzma::write::XzEncoder::new(&mut to, 0);
            w.write_all(plain).unwrap();
            w.finish().unwrap();
        }
        "zstandard" => {
            let mut w = zstd::stream::write::Encoder::new(&mut to, 1).unwrap();
            w.write_all(plain).unwrap();
            w.finish().unwrap();
        }
        "snappy" => {
            to = snap::raw::Encoder::new().compress_vec(plain).unwrap();
            to.extend(crc32fast::hash(plain).to_be_bytes());
        }
        _ => to.extend_from_slice(plain),
    }
    to
}

/// A file of blocks, each with its number of rows and plain bytes.
pub(crate) fn file(schema: &str, codec: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut to = header(schema, Some(codec));
    for (rows, plain) in blocks {
        long(&mut to, *rows);
        bytes(&mut to, &compress(codec, plain));
        to.extend(SYNC);
    }
    to
}
