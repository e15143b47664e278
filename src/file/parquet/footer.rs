//! The footer of a Parquet file.
//!
//! In: a file. Out: its metadata and the Arrow fields that the file's own schema stands for. The last 64 KiB come with
//! one request; a second is made only where the footer is longer. Schemas of Arrow that some writers keep in the
//! footer are not looked at. INT96 columns appear as `FixedSizeBinary(12)`, see [`super::int96`].
//!
//! ```text
//! file := … metadata (Thrift) | u32 LE length of metadata | "PAR1"
//! ```

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{Field, Fields};
use bytes::{Bytes, BytesMut};
use datafusion::common::HashMap;
use datafusion::execution::cache::cache_manager::FileMetadata;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader};

use super::schema::rebuild_type;
use super::{int96, thrift};
use crate::error::{Error, Result};
use crate::file::FooterCache;
use crate::file::guard::guarded;
use crate::storage::InputFile;

/// How much of the end of a file is read at once.
const TAIL_BYTES: u64 = 64 * 1024;
/// A file that is not larger comes whole where a request costs more than its bytes.
const WHOLE_BYTES: u64 = 256 * 1024;

/// Length and magic after the metadata.
const SUFFIX_BYTES: u64 = 8;

/// The decoded footer of one file.
pub(super) struct Footer {
    /// What the footer says; INT96 columns are of 12 fixed bytes here, and without statistics.
    pub metadata: Arc<ParquetMetaData>,
    /// The columns as Arrow fields without metadata, text as `Utf8`.
    pub fields: Fields,
    /// Which leaves are INT96 in the file; empty where none is.
    pub int96: Vec<bool>,
    /// The size of the file.
    pub size_bytes: u64,
}

/// A file, and its end as far as it was read for the footer: all of a small file.
#[derive(Debug, Clone)]
pub(super) struct Source {
    file: InputFile,
    tail_start: u64,
    tail: Bytes,
}

impl Source {
    /// A file of which nothing was read.
    pub fn new(file: InputFile) -> Self {
        Self { file, tail_start: 0, tail: Bytes::new() }
    }

    /// The file.
    pub fn file(&self) -> &InputFile {
        &self.file
    }

    /// Ranges of the file, without a request where all of them were read already.
    pub async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self.at_hand(ranges) {
            Some(here) => Ok(here),
            None => self.file.read_ranges(ranges).await,
        }
    }

    /// Ranges of the file where all of them were read already.
    pub fn at_hand(&self, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
        ranges.iter().map(|range| self.slice(range)).collect()
    }

    fn slice(&self, range: &Range<u64>) -> Option<Bytes> {
        let offset =
            |at: u64| usize::try_from(at.checked_sub(self.tail_start)?).ok().filter(|at| *at <= self.tail.len());
        let (start, end) = (offset(range.start)?, offset(range.end)?);
        (start < end).then(|| self.tail.slice(start..end))
    }
}

impl FileMetadata for Footer {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        self.metadata.memory_size() + self.fields.iter().map(|f| f.size()).sum::<usize>() + self.int96.capacity()
    }

    fn extra_info(&self) -> HashMap<String, String> {
        let page_index = self.metadata.column_index().is_some() && self.metadata.offset_index().is_some();
        HashMap::from_iter([("page_index".to_owned(), page_index.to_string())])
    }
}

impl Footer {
    /// The footer of a file, out of the cache where it is there.
    pub async fn load(file: &InputFile, cache: Option<&FooterCache>) -> Result<(Arc<Self>, Source)> {
        let size_bytes = file.size_bytes().await?;
        if let Some(footer) = cache.and_then(|c| c.get::<Self>(file, size_bytes)) {
            return Ok((footer, Source::new(file.clone())));
        }
        let (metadata, source) = fetch(file, size_bytes).await?;
        let footer = Arc::new(Self::decode(&metadata, size_bytes)?);
        if let Some(cache) = cache {
            cache.put(file, size_bytes, Arc::clone(&footer) as _);
        }
        Ok((footer, source))
    }

    /// Decodes the metadata of a file of that size.
    pub fn decode(bytes: &[u8], size_bytes: u64) -> Result<Self> {
        thrift::check_footer(bytes)?;
        let wrong = "the Parquet footer cannot be decoded";
        guarded(wrong, || {
            let metadata =
                ParquetMetaDataReader::decode_metadata(bytes).map_err(|e| Error::corrupt(wrong).caused_by(e))?;
            let (metadata, int96) = int96::as_fixed_bytes(metadata)?;
            let schema = parquet_to_arrow_schema(metadata.file_metadata().schema_descr(), None)
                .map_err(|e| Error::corrupt("the Parquet schema has no Arrow counterpart").caused_by(e))?;
            let fields = schema.fields().iter().map(|f| plain(f)).collect();
            Ok(Self { metadata: Arc::new(metadata), fields, int96, size_bytes })
        })
    }
}

/// The bytes of the metadata, and the file with the tail that was read for them.
async fn fetch(file: &InputFile, size_bytes: u64) -> Result<(Bytes, Source)> {
    if size_bytes < SUFFIX_BYTES {
        return Err(too_short(size_bytes));
    }
    let tail_start = match size_bytes {
        small if small <= WHOLE_BYTES && !file.is_local() => 0,
        _ => size_bytes.saturating_sub(TAIL_BYTES),
    };
    let tail = file.read_range(tail_start..size_bytes).await?;
    let source = Source { file: file.clone(), tail_start, tail };
    let metadata = metadata_range(&source.tail, size_bytes)?;
    if metadata.start >= tail_start {
        let bytes = source.slice(&metadata).unwrap_or_default();
        return Ok((bytes, source));
    }
    let head = file.read_range(metadata.start..tail_start).await?;
    let rest = source.slice(&(tail_start..metadata.end)).unwrap_or_default();
    let mut whole = BytesMut::with_capacity(head.len() + rest.len());
    whole.extend_from_slice(&head);
    whole.extend_from_slice(&rest);
    Ok((whole.freeze(), source))
}

fn too_short(size_bytes: u64) -> Error {
    Error::corrupt(format!("a file of {size_bytes} bytes is too short for Parquet"))
}

/// Where the metadata lies, from the end of the file.
fn metadata_range(tail: &[u8], size_bytes: u64) -> Result<Range<u64>> {
    let suffix = tail.last_chunk::<8>().ok_or_else(|| too_short(size_bytes))?;
    let end = FooterTail::try_new(suffix)
        .map_err(|_| Error::corrupt("the file does not end in 'PAR1' as Parquet files do"))?;
    if end.is_encrypted_footer() {
        return Err(Error::unsupported("encrypted Parquet files"));
    }
    let metadata_end = size_bytes.saturating_sub(SUFFIX_BYTES);
    let start = metadata_end.checked_sub(end.metadata_length() as u64).ok_or_else(|| {
        let length = end.metadata_length();
        Error::corrupt(format!("the Parquet footer claims {length} bytes in a file of {size_bytes}"))
    })?;
    Ok(start..metadata_end)
}

/// A field without metadata, so that arrays come out of plain types.
fn plain(field: &Field) -> Field {
    let data_type = rebuild_type(field.data_type(), &mut |child| plain(child));
    Field::new(field.name(), data_type, field.is_nullable())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_end_of_the_file_says_where_the_metadata_lies() {
        let tail = |length: u32, magic: &[u8]| [&[0u8; 10], &length.to_le_bytes()[..], magic].concat();
        assert_eq!(metadata_range(&tail(10, b"PAR1"), 100).unwrap(), 82..92);
        assert_eq!(metadata_range(&tail(92, b"PAR1"), 100).unwrap(), 0..92);
        for (tail, size, want) in [
            (tail(93, b"PAR1"), 100, "93 bytes"),
            (tail(1, b"PAR2"), 100, "PAR1"),
            (tail(1, b"PARE"), 100, "encrypted"),
            (b"PAR1".to_vec(), 4, "too short"),
            (vec![], 0, "too short"),
        ] {
            let error = metadata_range(&tail, size).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Footer::decode(&bytes, 1000);
        }
    }
}
