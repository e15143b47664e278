//! Parquet files.
//!
//! In: a [`ReadRequest`]. Out: batches of exactly the wanted schema. The stations of a read:
//!
//! ```text
//! footer ── schema (what is read, as what) ── access (which row groups) ── stream (fetch, decode) ── convert
//! ```
//! The footer of the file alone says how its columns are stored; the wanted fields say what becomes of them. Whatever
//! is wrong with the bytes is an error that names the file.

mod access;
mod convert;
mod footer;
mod int96;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod thrift;
mod variant;

use futures::StreamExt;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};

use self::access::Access;
use self::footer::Footer;
use self::schema::Projection;
use self::stream::RowGroups;
use super::{BatchStream, ReadRequest};
use crate::error::{Error, Result};
use crate::file::guard::guarded;

/// Opens a Parquet file: reads its footer, and gives the stream of its batches.
pub async fn open(request: ReadRequest) -> Result<BatchStream> {
    let path = request.file.path().clone();
    open_file(request).await.map_err(|e| e.in_file(path))
}

async fn open_file(request: ReadRequest) -> Result<BatchStream> {
    let footer = Footer::load(&request.file, request.footers.as_deref()).await?;
    let projection = schema::project(&footer, &request.fields)?;
    let access = Access::new(&footer, &projection.leaves, request.range.as_ref(), request.selection.as_ref())?;
    let batch_size = request.batch_size.max(1);
    if projection.leaves.is_empty() {
        return Ok(unread_rows(request, projection, access, batch_size));
    }
    let decoder = decoder(&footer, &projection, access, batch_size)?;
    Ok(RowGroups::stream(request.file, decoder, projection))
}

fn decoder(footer: &Footer, projection: &Projection, access: Access, batch_size: usize) -> Result<ParquetPushDecoder> {
    let wrong = "the Parquet schema cannot be read as the wanted one";
    guarded(wrong, || {
        let options = ArrowReaderOptions::new().with_schema(projection.reader_schema.clone());
        let metadata = ArrowReaderMetadata::try_new(footer.metadata.clone(), options)
            .map_err(|e| Error::corrupt(wrong).caused_by(e))?;
        let mask = ProjectionMask::leaves(metadata.parquet_schema(), projection.leaves.iter().copied());
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(metadata)
            .with_projection(mask)
            .with_row_groups(access.row_groups)
            .with_batch_size(batch_size);
        if let Some(selection) = access.selection {
            builder = builder.with_row_selection(RowSelection::from_boolean_buffer(selection));
        }
        builder.build().map_err(|e| Error::corrupt(wrong).caused_by(e))
    })
}

/// Rows of which the file has no wanted column: their number is in the footer.
fn unread_rows(request: ReadRequest, projection: Projection, access: Access, batch_size: usize) -> BatchStream {
    let sizes = access
        .rows
        .into_iter()
        .flat_map(move |rows| (0..rows).step_by(batch_size).map(move |start| batch_size.min(rows - start)));
    let path = request.file.path().clone();
    let batches = sizes.map(move |rows| projection.unread(rows).map_err(|e| e.in_file(&path)));
    futures::stream::iter(batches).boxed()
}
