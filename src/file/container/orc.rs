//! Metadata files in ORC. Top-level columns that are not wanted are not decoded.

use arrow::array::RecordBatch;
use bytes::Bytes;
use orc_rust::ArrowReaderBuilder;
use orc_rust::error::OrcError;
use orc_rust::projection::ProjectionMask;

use super::{BATCH_ROWS, Projection};
use crate::error::{Error, Result};

/// The magic at both ends, a postscript of a few bytes and its length.
const MIN_FILE_BYTES: usize = 3 + 3 + 1;

/// Reads a whole file.
pub(super) fn read(bytes: Bytes, projection: &Projection) -> Result<Vec<RecordBatch>> {
    check_tail(&bytes)?;
    let broken = |e: OrcError| Error::corrupt("the metadata file is no ORC").caused_by(e);
    let mut reader = ArrowReaderBuilder::try_new(bytes).map_err(broken)?.with_batch_size(BATCH_ROWS);
    if let Projection::Fields(fields) = projection {
        let names: Vec<_> = fields.keys().collect();
        let mask = ProjectionMask::named_roots(reader.file_metadata().root_data_type(), &names);
        reader = reader.with_projection(mask);
    }
    reader.build().map(|batch| projection.prune(&batch?)).collect()
}

/// The last byte is the length of the postscript, which ends in the magic.
fn check_tail(bytes: &[u8]) -> Result<()> {
    let length = bytes.last().map_or(0, |n| usize::from(*n));
    let postscript = bytes.len().checked_sub(length + 1).and_then(|at| bytes.get(at..bytes.len() - 1));
    let ends_in_magic = postscript.is_some_and(|p| p.ends_with(b"ORC"));
    if bytes.len() < MIN_FILE_BYTES || !ends_in_magic {
        return Err(Error::corrupt("expected the postscript of an ORC file at the end of the metadata file"));
    }
    Ok(())
}
