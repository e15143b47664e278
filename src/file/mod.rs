//! Data files: one file in, `RecordBatch`es out.
//!
//! A [`ReadRequest`] names the columns of the *file's* schema that are wanted, nested types already cut to the wanted
//! fields. Every format answers with batches of exactly [`arrow_schema`](crate::spec::arrow_type::arrow_schema) of
//! those columns: physical columns are found by name, a column that the file lacks is all NULL, and whatever a format
//! stores otherwise (INT96, shredded variants, arrays for maps, zones of ORC) is brought to the canonical type here.
//! This stage knows ranges of bytes below it, and nothing of tables or snapshots above it.

pub mod avro;
pub mod container;
pub mod file_predicate;
pub mod filtered;
pub mod footer_cache;
pub mod guard;
pub mod narrowing;
#[cfg(feature = "orc")]
pub mod orc;
pub mod parquet;
pub mod prefetch;
pub mod prune_metrics;
pub mod row;
pub mod spans;
pub mod warmup;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use futures::stream::BoxStream;
use tracing::{Instrument, debug_span};

use self::spans::in_span;
use crate::error::{Error, Result};
use crate::selection::RowSelection;
use crate::spec::data_type::DataField;
use crate::storage::InputFile;

pub use file_predicate::FilePredicate;
pub use footer_cache::FooterCache;
pub use narrowing::{FoundRows, Narrowing, PruneSwitches, RowFilter};
pub use prefetch::Lane;
pub use prune_metrics::PruneMetrics;

/// The batches of one file.
pub type BatchStream = BoxStream<'static, Result<RecordBatch>>;

/// What to read of one file.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// The file.
    pub file: InputFile,
    /// Its format, by the file's name.
    pub format: FileFormat,
    /// The wanted columns, as the schema has them that the file was written with. May be none: then the batches have
    /// only a number of rows.
    pub fields: Vec<DataField>,
    /// All columns of the file in the order they were written, for the formats whose files do not say it: row files.
    pub written: Vec<DataField>,
    /// Only the row groups, stripes or blocks whose first byte is in this range; `None` = all.
    pub range: Option<Range<u64>>,
    /// The rows that are wanted, by their position in the file; `None` = all.
    pub selection: Option<RowSelection>,
    /// The number of rows of a batch; the last one of a row group, stripe or block may be smaller.
    pub batch_size: usize,
    /// Table option `orc.timestamp-ltz.legacy.type`: LTZ columns of ORC files were shifted by the writer's zone.
    pub orc_legacy_ltz: bool,
    /// Where footers are kept between reads; `None` = each read fetches its own.
    pub footers: Option<Arc<FooterCache>>,
    /// What takes rows away besides `range` and `selection`. Row filters are applied exactly, whatever the format;
    /// a predicate by formats with statistics.
    pub narrowing: Narrowing,
    /// Through which it reads ahead.
    pub lane: Arc<Lane>,
    /// After so many rows no more are wanted, most likely; `None` = all are.
    pub limit: Option<usize>,
}

/// Opens a file; what must be known before its first batch is read here.
pub async fn open(request: ReadRequest) -> Result<BatchStream> {
    let path = request.file.path().clone();
    let opening = debug_span!("open", file = %path, format = ?request.format);
    let batches = open_format(request).instrument(opening).await?;
    Ok(in_span(batches, debug_span!("decode", file = %path)))
}

async fn open_format(request: ReadRequest) -> Result<BatchStream> {
    match request.format {
        FileFormat::Parquet => parquet::open(request).await,
        FileFormat::Avro => filtered::open_filtered(request, avro::open).await,
        FileFormat::Row => filtered::open_filtered(request, row::open).await,
        #[cfg(feature = "orc")]
        FileFormat::Orc => filtered::open_filtered(request, orc::open).await,
        #[cfg(not(feature = "orc"))]
        FileFormat::Orc => Err(Error::unsupported("ORC data files: this build lacks the feature 'orc'")),
    }
}

/// The rows of a file that may fulfil a request's predicate, as far as metadata tell; `None` where they do not.
pub async fn candidates(request: &ReadRequest) -> Result<Option<RowSelection>> {
    match request.format {
        FileFormat::Parquet => parquet::candidates(request).await,
        _ => Ok(None),
    }
}

/// Least values of the request's only column in parts of the file, each with the number of rows before the part, in the
/// file's order; none where metadata do not tell.
pub async fn samples(request: &ReadRequest) -> Result<Vec<(usize, ScalarValue)>> {
    match request.format {
        FileFormat::Parquet => parquet::samples(request).await,
        _ => Ok(vec![]),
    }
}

/// The format of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet
    Parquet,
    /// Apache ORC
    Orc,
    /// Apache Avro
    Avro,
    /// Paimon's own row files, of versions after 1.4
    Row,
}

impl FileFormat {
    /// The format that a file's name ends in: the last extension, or the one before a compression's
    /// (`x.json.gz`). Java: `DataFileMeta.fileFormat`.
    pub fn of_file_name(name: &str) -> Result<Self> {
        const COMPRESSIONS: [&str; 10] = ["gz", "zst", "zstd", "lz4", "snappy", "bz2", "deflate", "zlib", "lzo", "xz"];
        let mut parts = name.rsplit('.');
        let mut last = parts.next().unwrap_or_default();
        if COMPRESSIONS.contains(&last) {
            last = parts.next().unwrap_or_default();
        }
        match last {
            "parquet" => Ok(FileFormat::Parquet),
            "orc" => Ok(FileFormat::Orc),
            "avro" => Ok(FileFormat::Avro),
            "row" => Ok(FileFormat::Row),
            other => Err(Error::unsupported(format!("data files of format '{other}'")).in_file(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_in_the_name() {
        for (name, want) in [
            ("data-1.parquet", Some(FileFormat::Parquet)),
            ("data-1.zstd.orc", Some(FileFormat::Orc)),
            ("data-1.avro", Some(FileFormat::Avro)),
            ("data-1.parquet.gz", Some(FileFormat::Parquet)),
            ("data-1.row", Some(FileFormat::Row)),
            ("data-1.lance", None),
            ("noextension", None),
        ] {
            assert_eq!(FileFormat::of_file_name(name).ok(), want, "{name}");
        }
    }
}
