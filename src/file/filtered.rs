//! Row filters for formats that decode all columns of a row at once.
//!
//! In: a request with row filters. Out: the same batches with only the wanted rows: the filters' columns are read beside
//! the wanted ones, and are dropped after the filters were applied.

use std::future::Future;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use futures::StreamExt;

use super::narrowing::RowFilter;
use super::prune_metrics::PruneMetrics;
use super::{BatchStream, ReadRequest};
use crate::error::{Error, Result};
use crate::spec::data_type::DataField;

/// Opens a file through `open`, which knows no row filters, and applies them.
pub async fn open_filtered<F>(mut request: ReadRequest, open: impl FnOnce(ReadRequest) -> F) -> Result<BatchStream>
where
    F: Future<Output = Result<BatchStream>>,
{
    let filters = std::mem::take(&mut request.narrowing.row_filters);
    if filters.is_empty() {
        return open(request).await;
    }
    let wanted = request.fields.len();
    let mut fields = std::mem::take(&mut request.fields);
    let metrics = request.narrowing.metrics.clone();
    let filters = filters.into_iter().map(|filter| placed(filter, &mut fields)).collect::<Result<Vec<_>>>()?;
    request.fields = fields;
    let rows = FilteredRows { wanted, filters, metrics };
    Ok(open(request).await?.map(move |batch| rows.of(batch?)).boxed())
}

/// A filter, and the positions of its columns among those that are read.
type Placed = (Arc<dyn RowFilter>, Vec<usize>);

/// Finds the filter's columns among `fields`, and adds those that lack.
fn placed(filter: Arc<dyn RowFilter>, fields: &mut Vec<DataField>) -> Result<Placed> {
    let mut columns = vec![];
    for field in filter.fields() {
        let at = fields.iter().position(|f| f.name == field.name);
        match at.and_then(|at| fields.get(at)) {
            Some(read) if read != field => return Err(Error::internal("a filter reads a column as another type")),
            _ => columns.push(at.unwrap_or(fields.len())),
        }
        if at.is_none() {
            fields.push(field.clone());
        }
    }
    Ok((filter, columns))
}

struct FilteredRows {
    wanted: usize,
    filters: Vec<Placed>,
    metrics: PruneMetrics,
}

impl FilteredRows {
    fn of(&self, mut batch: RecordBatch) -> Result<RecordBatch> {
        for (filter, columns) in &self.filters {
            if batch.num_rows() == 0 {
                break;
            }
            let matches = matches(filter.as_ref(), &batch.project(columns)?, &self.metrics)?;
            batch = filter_record_batch(&batch, &matches)?;
        }
        Ok(batch.project(&(0..self.wanted).collect::<Vec<_>>())?)
    }
}

/// Which rows of a batch of its columns a filter wants; counted.
pub fn matches(filter: &dyn RowFilter, batch: &RecordBatch, metrics: &PruneMetrics) -> Result<BooleanArray> {
    let timer = metrics.time_row_filter.timer();
    let matches = filter.matches(batch)?;
    timer.done();
    let matched = matches.true_count();
    metrics.rows_matched.add(matched);
    metrics.rows_pruned.add(matches.len().saturating_sub(matched));
    Ok(matches)
}
