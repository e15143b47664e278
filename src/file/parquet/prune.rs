//! Which row groups and pages a predicate passes over: [`Pruner`].
//!
//! In: a predicate on columns of the file, and row groups. Out: those row groups, narrowed to rows, that may hold a row
//! that fulfils it. The stations, the cheapest first; each sees what the one before it left:
//!
//! ```text
//! statistics of row groups ── Bloom filters (one request) ── page index (one request)
//! ```
//! A predicate that changes while the file is read is asked anew for the row groups that are not decoded yet. Pruning
//! spares work and never fails: what cannot be asked is counted, and read.

use std::sync::Arc;

use datafusion::common::pruning::PruningStatistics;
use datafusion::physical_expr::DynamicFilterTracking;
use datafusion::physical_optimizer::pruning::PruningPredicate;

use super::access::Group;
use super::footer::{Footer, Source};
use super::statistics::{GroupStatistics, PlainColumns};
use super::{bloom, page_index};
use crate::error::{Error, Result};
use crate::file::file_predicate::{ColumnQuestion, Question};
use crate::file::guard::guarded;
use crate::file::prune_metrics::count_left;
use crate::file::{FilePredicate, FooterCache, PruneMetrics, PruneSwitches, ReadRequest};

/// Pages that leave one of so many rows leave few: looking at each of these first would cost more than it spares.
const FEW_ROWS_OF: usize = 8;

/// Passes over parts of one file.
pub(super) struct Pruner {
    footer: Arc<Footer>,
    columns: PlainColumns,
    predicate: FilePredicate,
    tracking: DynamicFilterTracking,
    switches: PruneSwitches,
    metrics: PruneMetrics,
    footers: Option<Arc<FooterCache>>,
}

impl Pruner {
    /// A pruner for a file, where there is a predicate that statistics can say something of.
    pub fn new(footer: &Arc<Footer>, request: &ReadRequest) -> Option<Self> {
        let narrowing = &request.narrowing;
        let predicate = narrowing.predicate.clone().filter(|_| narrowing.switches.statistics)?;
        let columns = PlainColumns::new(footer, predicate.fields());
        let tracking = DynamicFilterTracking::classify(predicate.expr());
        let (switches, metrics) = (narrowing.switches, narrowing.metrics.clone());
        let (footer, footers) = (Arc::clone(footer), request.footers.clone());
        Some(Self { footer, columns, predicate, tracking, switches, metrics, footers })
    }

    /// What is left of `groups`. The footer has the page index afterwards where it was of use.
    pub async fn narrow(&mut self, source: &Source, groups: Vec<Group>) -> Vec<Group> {
        let Some(predicate) = self.question() else { return groups };
        let groups = self.by_statistics(&predicate, groups);
        let groups = self.by_bloom_filters(&predicate, source, groups).await;
        self.by_pages(source, groups).await
    }

    /// The footer, with the page index where it was loaded.
    pub fn footer(&self) -> &Arc<Footer> {
        &self.footer
    }

    /// What is left of `groups` where the predicate has changed since; `None` where it has not.
    pub fn renew(&mut self, groups: &[usize]) -> Option<Vec<bool>> {
        if groups.is_empty() || !self.tracking.watcher()?.changed() {
            return None;
        }
        let predicate = self.question()?;
        let kept = self.kept_groups(&predicate, groups)?;
        self.metrics.row_groups_dynamic.add(kept.iter().filter(|kept| !**kept).count());
        Some(kept)
    }

    /// What statistics are asked, as the predicate is now; `None` where nothing is to be learnt.
    fn question(&self) -> Question {
        self.stepping_aside(self.predicate.question()).flatten()
    }

    /// For each container whether it may hold a row that fulfils the predicate.
    fn ask(&self, predicate: &PruningPredicate, statistics: &dyn PruningStatistics) -> Option<Vec<bool>> {
        let timer = self.metrics.time_statistics.timer();
        let kept = guarded(UNASKED, || predicate.prune(statistics).map_err(|e| Error::internal(UNASKED).caused_by(e)));
        timer.done();
        self.stepping_aside(kept).filter(|kept| kept.len() == statistics.num_containers())
    }

    fn stepping_aside<T>(&self, result: Result<T>) -> Option<T> {
        result.inspect_err(|_| self.metrics.errors.add(1)).ok()
    }

    fn kept_groups(&self, predicate: &PruningPredicate, positions: &[usize]) -> Option<Vec<bool>> {
        self.ask(predicate, &GroupStatistics::new(&self.footer, &self.columns, positions))
    }

    fn by_statistics(&self, predicate: &PruningPredicate, groups: Vec<Group>) -> Vec<Group> {
        let before = groups.len();
        let positions: Vec<usize> = groups.iter().map(|g| g.position).collect();
        let left = retain(groups, self.kept_groups(predicate, &positions));
        count_left(&self.metrics.row_groups, before, left.len());
        left
    }

    async fn by_bloom_filters(&self, predicate: &PruningPredicate, source: &Source, groups: Vec<Group>) -> Vec<Group> {
        let wanted = predicate.literal_columns();
        if !self.switches.bloom_filters || groups.is_empty() || wanted.is_empty() {
            return groups;
        }
        let positions: Vec<usize> = groups.iter().map(|g| g.position).collect();
        let loaded = bloom::load(source, &self.footer, &self.columns, &wanted, &positions).await;
        let Some(Some(filters)) = self.stepping_aside(loaded) else { return groups };
        let before = groups.len();
        let may_match = |filters| self.ask(predicate, filters).is_none_or(|kept| kept.first() != Some(&false));
        let left = retain(groups, Some(filters.iter().map(|filters| may_match(filters)).collect()));
        count_left(&self.metrics.row_groups_bloom, before, left.len());
        left
    }

    /// Page by page; each conjunct that is about one column says which pages of it may match.
    async fn by_pages(&mut self, source: &Source, groups: Vec<Group>) -> Vec<Group> {
        let conjuncts = if self.switches.page_index && !groups.is_empty() { self.page_predicates() } else { vec![] };
        if conjuncts.is_empty() {
            return groups;
        }
        let loaded = page_index::load(source, &self.footer, self.footers.as_deref()).await;
        let Some(Some(footer)) = self.stepping_aside(loaded) else { return groups };
        self.footer = footer;
        let wanted: usize = groups.iter().map(Group::wanted_rows).sum();
        let narrow = |group: Group| {
            let before = group.wanted_rows();
            let group = page_index::narrow(self.footer(), group, &conjuncts, |p, s| self.ask(p, s))?;
            let few_pages = group.wanted_rows().saturating_mul(FEW_ROWS_OF) <= before;
            Some(Group { few_pages, ..group })
        };
        let left: Vec<Group> = groups.into_iter().filter_map(narrow).collect();
        count_left(&self.metrics.page_rows, wanted, left.iter().map(Group::wanted_rows).sum());
        left
    }

    /// The conjuncts that the pages of one column can answer.
    fn page_predicates(&self) -> Vec<page_index::ColumnPredicate> {
        let Some(questions) = self.stepping_aside(self.predicate.column_questions()) else { return vec![] };
        let of_pages = |question: &ColumnQuestion| {
            let (column, predicate) = (self.columns.get(&question.column)?.clone(), Arc::clone(&question.predicate));
            page_index::has_index(&self.footer, column.leaf)
                .then_some(page_index::ColumnPredicate { column, predicate })
        };
        questions.iter().filter_map(of_pages).collect()
    }
}

const UNASKED: &str = "statistics of the Parquet file could not be asked";

/// The groups that are kept; all where nothing is known.
fn retain(groups: Vec<Group>, kept: Option<Vec<bool>>) -> Vec<Group> {
    match kept {
        Some(kept) => groups.into_iter().zip(kept).filter_map(|(group, kept)| kept.then_some(group)).collect(),
        None => groups,
    }
}
