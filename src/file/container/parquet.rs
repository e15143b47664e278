//! Metadata files in Parquet. Columns that are not wanted are not decoded.

use arrow::array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use super::{BATCH_ROWS, Projection};
use crate::error::{Error, Result};

/// Reads a whole file. Types are those of Parquet: the Arrow schema that some writers add is of their choice.
pub(super) fn read(bytes: Bytes, columns: &[&str], projection: &Projection) -> Result<Vec<RecordBatch>> {
    let broken = |e: ParquetError| Error::corrupt("the metadata file is no Parquet").caused_by(e);
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let mut reader = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options).map_err(broken)?;
    if *projection != Projection::All {
        let mask = ProjectionMask::columns(reader.parquet_schema(), columns.iter().copied());
        reader = reader.with_projection(mask);
    }
    let batches = reader.with_batch_size(BATCH_ROWS).build().map_err(broken)?;
    batches.map(|batch| Ok(batch?)).collect()
}
