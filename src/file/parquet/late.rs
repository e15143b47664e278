//! Late materialisation: rows that a filter does not want are not decoded in the other columns.
//!
//! In: the row filters of a request. Out: predicates for the Parquet library's decoder. It decodes a filter's columns,
//! which are brought to the canonical types as those of the rows that are handed out, asks the filter, and goes on with
//! the rows that it wants. Which these are is gathered where somebody wants to know it ([`Found`]). A filter that only spares
//! work is left out where it would not: of a file that is not on a local disk the other columns come one wait later, so
//! that they must be large.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicate, RowFilter as DecoderFilter};
use parquet::file::metadata::ParquetMetaData;

use super::access::Group;
use super::footer::Footer;
use super::found::{Found, GroupRows};
use super::schema::{self, Projection};
use crate::error::{Error, Result};
use crate::file::filtered::matches;
use crate::file::{Narrowing, PruneMetrics, RowFilter};

/// What a wait for a store is worth: about so many bytes come in its time.
const WAIT_BYTES: u64 = if cfg!(test) { 90 } else { 4 << 20 };

/// The filters of one file.
pub(super) struct LateFilters {
    filters: Vec<LateFilter>,
    /// The leaves that are read of the rows that are left, where the file is not on a local disk.
    far_leaves: Option<Vec<usize>>,
    metrics: PruneMetrics,
    failed: Arc<Mutex<Option<Error>>>,
    found: Option<Found>,
}

/// A filter, and what of the file it looks at.
struct LateFilter {
    filter: Arc<dyn RowFilter>,
    projection: Arc<Projection>,
}

impl LateFilters {
    /// The filters of a file of which these leaves are read; `None` where no row of it can be wanted.
    pub fn new(footer: &Footer, narrowing: &Narrowing, leaves: &[usize], is_local: bool) -> Result<Option<Self>> {
        let mut late = vec![];
        for filter in &narrowing.row_filters {
            let projection = schema::project(footer, filter.fields())?;
            if !projection.leaves.is_empty() {
                late.push(LateFilter { filter: Arc::clone(filter), projection: Arc::new(projection) });
            } else if !filter.matches(&projection.unread(1)?)?.value(0) {
                // Without a column in the file, all rows are alike.
                return Ok(None);
            }
        }
        let of_filters: Vec<usize> = late.iter().flat_map(|late| late.projection.leaves.iter().copied()).collect();
        let others = leaves.iter().copied().filter(|leaf| !of_filters.contains(leaf));
        let (far_leaves, found) = ((!is_local).then(|| others.collect()), narrowing.found.clone().map(Found::new));
        Ok(Some(Self { filters: late, far_leaves, metrics: narrowing.metrics.clone(), failed: Arc::default(), found }))
    }

    /// The leaves that filters read.
    pub fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        self.filters.iter().flat_map(|filter| filter.projection.leaves.iter().copied())
    }

    /// The filters for a decoder of a row group; `None` where there are none. Where pages have left few rows anyway, or the
    /// rest is not worth a wait, only those that are needed.
    pub fn for_decoder(&self, metadata: &ParquetMetaData, group: &Group) -> Option<DecoderFilter> {
        let schema = metadata.file_metadata().schema_descr();
        let spares = !group.few_pages && self.is_worth_a_wait(metadata, group);
        let asked: Vec<_> = self.filters.iter().filter(|late| spares || late.filter.is_needed()).collect();
        let rows = self.found.as_ref().and_then(|found| found.begin(group, asked.len()));
        let predicate = |(number, late): (usize, &LateFilter)| {
            let mask = ProjectionMask::leaves(schema, late.projection.leaves.iter().copied());
            let (filter, projection) = (Arc::clone(&late.filter), Arc::clone(&late.projection));
            let (metrics, failed) = (self.metrics.clone(), Arc::clone(&self.failed));
            let rows = rows.clone().map(|rows| (number, rows));
            Box::new(LatePredicate { mask, filter, projection, metrics, failed, rows }) as Box<dyn ArrowPredicate>
        };
        let predicates: Vec<_> = asked.into_iter().enumerate().map(predicate).collect();
        (!predicates.is_empty()).then(|| DecoderFilter::new(predicates))
    }

    fn is_worth_a_wait(&self, metadata: &ParquetMetaData, group: &Group) -> bool {
        let Some(leaves) = &self.far_leaves else { return true };
        let chunk = |leaf: &usize| metadata.row_groups().get(group.position)?.columns().get(*leaf);
        let bytes = leaves.iter().filter_map(chunk).map(|chunk| u64::try_from(chunk.compressed_size()).unwrap_or(0));
        let wanted = u128::from(bytes.fold(0, u64::saturating_add)) * group.wanted_rows() as u128;
        wanted >= u128::from(WAIT_BYTES) * group.rows as u128
    }

    /// All row groups were read, or none needs to be.
    pub fn finish(&self) {
        if let Some(found) = &self.found {
            found.finish();
        }
    }

    /// Why a filter failed, if one did; the decoder tells it as an error of its own.
    pub fn take_failure(&self) -> Option<Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A filter as the decoder knows it.
struct LatePredicate {
    mask: ProjectionMask,
    filter: Arc<dyn RowFilter>,
    projection: Arc<Projection>,
    metrics: PruneMetrics,
    failed: Arc<Mutex<Option<Error>>>,
    /// Where it is said what the filter says, and the filter's number.
    rows: Option<(usize, Arc<Mutex<GroupRows>>)>,
}

impl ArrowPredicate for LatePredicate {
    fn projection(&self) -> &ProjectionMask {
        &self.mask
    }

    fn evaluate(&mut self, decoded: RecordBatch) -> Result<BooleanArray, ArrowError> {
        let batch = self.projection.apply(&decoded);
        let matches = batch.and_then(|batch| matches(self.filter.as_ref(), &batch, &self.metrics));
        if let (Some((number, rows)), Ok(matches)) = (&self.rows, &matches) {
            rows.lock().unwrap_or_else(PoisonError::into_inner).say(*number, matches);
        }
        matches.map_err(|e| {
            let text = e.to_string();
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            ArrowError::ComputeError(text)
        })
    }
}
