//! Which stripes a predicate passes over.
//!
//! In: the tail of a file, a predicate on its columns, the stripes that are wanted. Out: those of them that may hold a row
//! that fulfils it, by the statistics of stripes in the file's metadata. Pruning spares work and never fails: what cannot
//! be asked is counted, and read.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};

use super::statistics::{ColumnBounds, stripe_statistics, wrong_number};
use super::tail::{Source, StripeInformation, Tail};
use crate::error::{Error, Result};
use crate::file::guard::guarded;
use crate::file::prune_metrics::count_left;
use crate::file::{FilePredicate, FooterCache, Narrowing};
use crate::spec::data_type::{DataField, DataType};
use crate::spec::datum::Datum;
use crate::spec::datum_array::datums_to_array;

/// Stripes, each with the position of its first row.
type Stripes = VecDeque<(usize, StripeInformation)>;

/// What is left of the wanted stripes.
pub(super) async fn narrow(
    (tail, source): (&Tail, &Source),
    wanted: Stripes,
    narrowing: &Narrowing,
    cache: Option<&FooterCache>,
) -> Stripes {
    let Some(predicate) = narrowing.predicate.as_ref().filter(|_| narrowing.switches.statistics) else { return wanted };
    if wanted.is_empty() {
        return wanted;
    }
    let timer = narrowing.metrics.time_statistics.timer();
    let kept = match kept((tail, source), &wanted, predicate, cache).await {
        Ok(kept) => kept,
        Err(_) => {
            narrowing.metrics.errors.add(1);
            return wanted;
        }
    };
    timer.done();
    let before = wanted.len();
    let left: Stripes = wanted.into_iter().zip(kept).filter_map(|(stripe, kept)| kept.then_some(stripe)).collect();
    count_left(&narrowing.metrics.row_groups, before, left.len());
    left
}

/// For each of the wanted stripes whether it may hold a row that is.
async fn kept(
    (tail, source): (&Tail, &Source),
    wanted: &Stripes,
    predicate: &FilePredicate,
    cache: Option<&FooterCache>,
) -> Result<Vec<bool>> {
    let columns = columns(tail, predicate.fields());
    if columns.is_empty() || tail.metadata.is_empty() {
        return Ok(vec![true; wanted.len()]);
    }
    let bytes = source.statistics(tail, cache).await?;
    let types: Vec<_> = columns.iter().map(|(number, field)| (*number, &field.data_type)).collect();
    let found = stripe_statistics(&bytes, &types)?;
    if found.len() != tail.stripes.len() {
        return Err(wrong_number(found.len(), tail.stripes.len()));
    }
    let of_stripe = tail.stripes.iter().zip(found);
    let is_wanted = |stripe: &StripeInformation| wanted.iter().any(|(_, wanted)| wanted == stripe);
    let (rows, bounds) = of_stripe.filter(|(stripe, _)| is_wanted(stripe)).map(|(s, found)| (s.rows, found)).unzip();
    ask(predicate, &Statistics { columns, rows, bounds })
}

/// For each part of the file that statistics speak of whether it may hold a row that fulfils the predicate as it is now.
pub(super) fn ask(predicate: &FilePredicate, statistics: &Statistics<'_>) -> Result<Vec<bool>> {
    let Some(question) = predicate.question()? else { return Ok(vec![true; statistics.rows.len()]) };
    guarded(UNASKED, || question.prune(statistics).map_err(|e| Error::internal(UNASKED).caused_by(e)))
}

const UNASKED: &str = "statistics of the ORC file could not be asked";

/// The fields that are columns of the file, with their numbers.
pub(super) fn columns<'f>(tail: &Tail, fields: &'f [DataField]) -> Vec<(u32, &'f DataField)> {
    let Some(root) = tail.types.first() else { return vec![] };
    let number = |field: &DataField| {
        let at = root.names.iter().position(|name| *name == field.name)?;
        root.children.get(at).copied()
    };
    fields.iter().filter_map(|field| Some((number(field)?, field))).collect()
}

/// Statistics of stripes or row groups as DataFusion's pruning asks for them.
pub(super) struct Statistics<'f> {
    /// The columns, with their numbers.
    pub(super) columns: Vec<(u32, &'f DataField)>,
    /// The rows of each stripe or row group.
    pub(super) rows: Vec<u64>,
    /// For each stripe or row group what is known of each column.
    pub(super) bounds: Vec<Vec<ColumnBounds>>,
}

impl Statistics<'_> {
    fn of(&self, column: &Column) -> Option<(&DataType, impl Iterator<Item = Option<&ColumnBounds>>)> {
        let at = self.columns.iter().position(|(_, field)| field.name == column.name)?;
        let data_type = &self.columns.get(at)?.1.data_type;
        Some((data_type, self.bounds.iter().map(move |stripe| stripe.get(at))))
    }

    fn values(&self, column: &Column, value: impl Fn(&ColumnBounds) -> Option<Datum>) -> Option<ArrayRef> {
        let (data_type, bounds) = self.of(column)?;
        let values: Vec<_> = bounds.map(|bounds| bounds.and_then(&value)).collect();
        if values.iter().all(Option::is_none) {
            return None;
        }
        datums_to_array(data_type, &values).ok()
    }
}

impl PruningStatistics for Statistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(column, |bounds| bounds.min.clone())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(column, |bounds| bounds.max.clone())
    }

    fn num_containers(&self) -> usize {
        self.rows.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let (data_type, bounds) = self.of(column)?;
        if data_type.is_nested() {
            return None;
        }
        let nulls = bounds.zip(&self.rows).map(|(bounds, rows)| match bounds?.has_null? {
            false => Some(0),
            true => bounds?.values.and_then(|values| rows.checked_sub(values)),
        });
        Some(Arc::new(UInt64Array::from_iter(nulls)))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(UInt64Array::from_iter_values(self.rows.iter().copied())))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
