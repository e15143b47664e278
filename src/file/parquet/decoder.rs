//! Decoders of row groups: [`Decoders`].
//!
//! In: a footer, what is read of the file as what, and row filters. Out: a decoder for each row group, of its own, so
//! that any of them can be left out until it is asked.

use std::sync::Arc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::file::metadata::ParquetMetaData;

use super::access::Group;
use super::late::LateFilters;
use super::schema::Projection;
use crate::error::{Error, Result};
use crate::file::guard::guarded;

/// What the decoders of a file's row groups have in common.
pub(super) struct Decoders {
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    batch_size: usize,
    /// The row filters that they apply.
    pub filters: LateFilters,
}

impl Decoders {
    /// Decoders of the columns of `projection`; `read_as` has the filters' columns besides, where
    /// there are filters.
    pub fn new(
        metadata: Arc<ParquetMetaData>,
        projection: &Projection,
        read_as: Option<&Projection>,
        filters: LateFilters,
        batch_size: usize,
    ) -> Result<Self> {
        guarded(WRONG, || {
            let options =
                ArrowReaderOptions::new().with_schema(Arc::clone(&read_as.unwrap_or(projection).reader_schema));
            let metadata =
                ArrowReaderMetadata::try_new(metadata, options).map_err(|e| Error::corrupt(WRONG).caused_by(e))?;
            let mask = ProjectionMask::leaves(metadata.parquet_schema(), projection.leaves.iter().copied());
            Ok(Self { metadata, mask, batch_size, filters })
        })
    }

    /// The decoder of one row group.
    pub fn of(&self, group: &Group) -> Result<ParquetPushDecoder> {
        guarded(WRONG, || {
            let mut builder = ParquetPushDecoderBuilder::new_with_metadata(self.metadata.clone())
                .with_projection(self.mask.clone())
                .with_row_groups(vec![group.position])
                .with_batch_size(self.batch_size);
            if let Some(filter) = self.filters.for_decoder(self.metadata.metadata(), group) {
                builder = builder.with_row_filter(filter);
            }
            if let Some(selection) = &group.selection {
                builder = builder.with_row_selection(RowSelection::from_boolean_buffer(selection.clone()));
            }
            builder.build().map_err(|e| Error::corrupt(WRONG).caused_by(e))
        })
    }
}

const WRONG: &str = "the Parquet schema cannot be read as the wanted one";
