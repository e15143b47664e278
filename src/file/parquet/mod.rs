//! Parquet files.
//!
//! In: a [`ReadRequest`]. Out: batches of exactly the wanted schema. The stations of a read:
//!
//! ```text
//! footer ── schema (what is read, as what) ── access (which row groups) ── prune (which of them, which pages)
//!        ── pieces (what is fetched by itself) ── stream (fetch, decode, late filters) ── convert
//! ```
//! The footer of the file alone says how its columns are stored; the wanted fields say what becomes of them. Whatever
//! is wrong with the bytes is an error that names the file.

mod access;
mod bloom;
mod convert;
mod decoder;
mod footer;
mod found;
mod int96;
mod late;
mod page_index;
mod pieces;
mod prune;
mod sample;
mod schema;
mod sparse;
mod statistics;
mod stream;
#[cfg(test)]
mod tests;
mod thrift;
mod variant;

use futures::StreamExt;

use self::access::Group;
use self::decoder::Decoders;
use self::footer::Footer;
use self::late::LateFilters;
use self::prune::Pruner;
use self::schema::Projection;
use self::stream::RowGroups;
use super::{BatchStream, ReadRequest};
use crate::error::Result;
use crate::spec::data_type::DataField;
pub use sample::{candidates, samples};

/// Opens a Parquet file: reads its footer, and gives the stream of its batches.
pub async fn open(request: ReadRequest) -> Result<BatchStream> {
    let path = request.file.path().clone();
    open_file(request).await.map_err(|e| e.in_file(path))
}

async fn open_file(request: ReadRequest) -> Result<BatchStream> {
    let (mut footer, source) = Footer::load(&request.file, request.footers.as_deref()).await?;
    let narrowing = &request.narrowing;
    let projection = schema::project(&footer, &request.fields)?;
    let Some(filters) = LateFilters::new(&footer, narrowing, &projection.leaves, request.file.is_local())? else {
        return Ok(futures::stream::empty().boxed());
    };
    let leaves: Vec<usize> = projection.leaves.iter().copied().chain(filters.leaves()).collect();
    let mut groups = access::row_groups(&footer, &leaves, request.range.as_ref(), request.selection.as_ref())?;
    let mut pruner = Pruner::new(&footer, &request);
    if let Some(pruner) = &mut pruner {
        groups = pruner.narrow(&source, groups).await;
        footer = pruner.footer().clone();
    }
    if groups.is_empty() {
        filters.finish();
        return Ok(futures::stream::empty().boxed());
    }
    let batch_size = request.batch_size.max(1);
    if leaves.is_empty() {
        return Ok(unread_rows(request, projection, groups, batch_size));
    }
    let (cache, limit) = (request.footers.as_deref(), request.limit);
    footer = pieces::with_index(&source, footer, cache, &groups, &leaves, limit).await;
    groups = pieces::cut(&footer, groups, &leaves, limit);
    let metadata = page_index::for_decoder(&footer, &groups, &leaves);
    let read_as = match request.narrowing.row_filters.as_slice() {
        [] => None,
        _ => Some(schema::project(&footer, &all_fields(&request))?),
    };
    let decoders = Decoders::new(metadata, &projection, read_as.as_ref(), filters, batch_size)?;
    let lane = request.lane.file(&request.file);
    Ok(RowGroups::stream(source, groups, decoders, projection, pruner, (lane, request.limit)))
}

/// The wanted columns and those of the filters, each once.
fn all_fields(request: &ReadRequest) -> Vec<DataField> {
    let mut fields = request.fields.clone();
    for field in request.narrowing.row_filters.iter().flat_map(|filter| filter.fields()) {
        if !fields.iter().any(|f| f.name == field.name) {
            fields.push(field.clone());
        }
    }
    fields
}

/// Rows of which the file has no wanted column: their number is in the footer.
fn unread_rows(request: ReadRequest, projection: Projection, groups: Vec<Group>, batch_size: usize) -> BatchStream {
    let sizes = groups.into_iter().flat_map(move |group| {
        let rows = group.wanted_rows();
        (0..rows).step_by(batch_size).map(move |start| batch_size.min(rows - start))
    });
    let path = request.file.path().clone();
    let batches = sizes.map(move |rows| projection.unread(rows).map_err(|e| e.in_file(&path)));
    futures::stream::iter(batches).boxed()
}
