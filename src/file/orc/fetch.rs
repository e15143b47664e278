//! Fetches parts of stripes: [`Fetch`].
//!
//! In: a [`Part`]. Out: the streams of the wanted columns, once for each run of row groups that may hold wanted rows. A
//! stripe that is small or wanted whole comes with one request, another one with two, first its footer, then its streams,
//! near ones together. Where row groups may be left out, the indexes of the columns come with the footer:
//!
//! ```text
//! row groups      |  0  |  1  |  2  |  3  |  4  |
//! predicate       | yes | no  | yes | yes | yes |      statistics of the index
//! selection       | yes | yes | yes | yes | no  |
//! fetched         |-----|     |-----------|            positions of the index
//! ```
//! An index that cannot be used is counted, and the stripe is read without it.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::at_hand::AtHand;
use super::codec::Start;
use super::parts::Part;
use super::prune::columns;
use super::stripe::{Common, StreamKey, Stripe, StripeFooter};
use super::stripe_index::StripeIndex;
use super::tail::{Source, StripeInformation, Tail};
use crate::error::Result;
use crate::file::prune_metrics::count_left;
use crate::file::{FilePredicate, Narrowing};
use crate::selection::RowSelection;
use crate::spec::data_type::DataField;

/// A stripe whose data are not longer is fetched whole. Small in tests, so that small files have larger stripes.
const WHOLE_BYTES: u64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// The longest indexes of a stripe that are fetched before it is known which of them are needed.
const INDEX_BYTES: u64 = 256 << 10;

/// The most row groups of a stripe whose index is asked.
const MAX_ROW_GROUPS: u64 = 1 << 16;

/// What is needed to fetch parts of stripes.
pub(super) struct Fetch {
    pub(super) source: Source,
    pub(super) tail: Arc<Tail>,
    /// The numbers of the wanted columns.
    pub(super) columns: HashSet<u32>,
    /// The rows that are wanted.
    pub(super) selection: Option<RowSelection>,
    pub(super) narrowing: Narrowing,
}

/// Rows of a stripe, and which bytes of the file they need.
pub(super) struct Cut {
    pub(super) rows: Range<u64>,
    /// The row whose values the bytes begin with.
    pub(super) first_row: u64,
    pub(super) by_index: bool,
    /// The bytes of each stream, and where in them to begin.
    pub(super) streams: Vec<(StreamKey, Range<u64>, Start)>,
}

impl Cut {
    /// Rows of a stripe whose streams are fetched from their first byte to their last.
    fn whole(rows: Range<u64>, streams: Vec<(StreamKey, Range<u64>)>) -> Self {
        let streams = streams.into_iter().map(|(key, range)| (key, range, Start::default())).collect();
        Self { rows, first_row: 0, by_index: false, streams }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.streams.iter().map(|(_, range, _)| range.clone())
    }

    fn stripe(self, at_hand: &AtHand<'_>, common: &Arc<Common>) -> Result<Stripe> {
        let Self { rows, first_row, by_index, streams } = self;
        let stream = |(key, range, start): (StreamKey, Range<u64>, Start)| Ok((key, (at_hand.get(&range)?, start)));
        let streams = streams.into_iter().map(stream).collect::<Result<_>>()?;
        Ok(Stripe { rows, first_row, by_index, common: Arc::clone(common), streams })
    }
}

impl Fetch {
    /// About how much is fetched of a part: columns and rows are taken to be of one size.
    pub(super) fn bytes(&self, part: &Part) -> u64 {
        let stripe = &part.stripe;
        let (wanted, all) = (self.columns.len() as u64, (self.tail.types.len() as u64).max(1));
        let rows = part.rows.end.saturating_sub(part.rows.start);
        let share = |bytes: u128, part: u64, all: u64| bytes * u128::from(part.min(all)) / u128::from(all.max(1));
        let data = share(share(u128::from(stripe.data_bytes), wanted, all), rows, stripe.rows);
        u64::try_from(data).unwrap_or(u64::MAX).saturating_add(stripe.footer_bytes)
    }

    /// Whether it is worth a request to leave row groups of a part out.
    pub(super) fn is_large(&self, part: &Part) -> bool {
        part.stripe.index_bytes > 0 && part.stripe.data_bytes > WHOLE_BYTES && self.bytes(part) > WHOLE_BYTES
    }

    /// Fetches what of a part may hold wanted rows.
    pub(super) async fn part(&self, part: &Part) -> Result<Vec<Stripe>> {
        if self.columns.is_empty() {
            return Ok(vec![Stripe::of_rows(part.rows.clone())]);
        }
        let asks_index = self.asks_index(part);
        let (mut at_hand, footer) = self.footer(&part.stripe, asks_index).await?;
        let chosen = if asks_index { self.choose(part, &footer, &mut at_hand).await } else { Ok(None) };
        let cuts = chosen.unwrap_or_else(|_| {
            self.narrowing.metrics.errors.add(1);
            None
        });
        let cuts = cuts.unwrap_or_else(|| vec![Cut::whole(part.rows.clone(), footer.wanted(&self.columns))]);
        at_hand.read(cuts.iter().flat_map(Cut::ranges)).await?;
        let common = footer.common(&self.tail);
        cuts.into_iter().map(|cut| cut.stripe(&at_hand, &common)).collect()
    }

    /// Fetches some rows of a stripe, whatever its index says.
    pub(super) async fn without_index(&self, stripe: &StripeInformation, rows: Range<u64>) -> Result<Stripe> {
        let (mut at_hand, footer) = self.footer(stripe, false).await?;
        let cut = Cut::whole(rows, footer.wanted(&self.columns));
        at_hand.read(cut.ranges()).await?;
        cut.stripe(&at_hand, &footer.common(&self.tail))
    }

    /// The footer of a stripe, and what came with it.
    async fn footer(&self, stripe: &StripeInformation, asks_index: bool) -> Result<(AtHand<'_>, StripeFooter)> {
        let footer = stripe.footer_range();
        let data_start = stripe.offset.saturating_add(stripe.index_bytes);
        let index = Some(stripe.offset..data_start).filter(|_| asks_index && stripe.index_bytes <= INDEX_BYTES);
        let all = self.columns.len() + 1 >= self.tail.types.len();
        let mut at_hand = AtHand::new(&self.source);
        if stripe.data_bytes <= WHOLE_BYTES || (all && !asks_index) {
            let start = index.map_or(data_start, |index| index.start);
            at_hand.read(std::iter::once(start..footer.end)).await?;
        } else {
            at_hand.read(index.into_iter().chain([footer.clone()])).await?;
        }
        let parsed = StripeFooter::parse(at_hand.get(&footer)?, &self.tail, stripe)?;
        Ok((at_hand, parsed))
    }

    /// Whether the index of the part's stripe may leave something out.
    fn asks_index(&self, part: &Part) -> bool {
        let (rows, group_rows) = (part.stripe.rows, self.tail.row_group_rows);
        if group_rows == 0 || rows <= group_rows || part.stripe.index_bytes == 0 {
            return false;
        }
        if rows.div_ceil(group_rows) > MAX_ROW_GROUPS {
            return false;
        }
        let is_cut = part.rows != (0..part.stripe.rows);
        is_cut || self.predicate().is_some() || self.selected(part).contains(&false)
    }

    /// For each row group of a part whether the selection wants a row of it.
    fn selected(&self, part: &Part) -> Vec<bool> {
        part.row_groups(self.tail.row_group_rows).map(|group| group.wanted_rows(self.selection.as_ref()) > 0).collect()
    }

    /// Asks the index which row groups to fetch, and where they are; `None` where all of the stripe is fetched.
    async fn choose(&self, part: &Part, footer: &StripeFooter, at_hand: &mut AtHand<'_>) -> Result<Option<Vec<Cut>>> {
        let predicate = self.predicate();
        let asked = predicate.iter().flat_map(|(_, columns)| columns).map(|(column, _)| *column);
        let columns = self.columns.iter().copied().chain(asked).collect();
        let index = StripeIndex::load(&self.tail, part, footer, &columns, at_hand).await?;
        let selected = self.selected(part);
        let mut kept = selected.clone();
        if let Some((predicate, columns)) = &predicate {
            let timer = self.narrowing.metrics.time_statistics.timer();
            let matching = index.matching(predicate, columns)?;
            timer.done();
            kept.iter_mut().zip(matching).for_each(|(kept, matching)| *kept &= matching);
        }
        let is_whole = part.rows == (0..part.stripe.rows) && !kept.contains(&false);
        let cuts = if is_whole { None } else { Some(index.cuts(footer, &self.columns, &kept)?) };
        if predicate.is_some() {
            self.count_rows(part, &selected, &kept);
        }
        Ok(cuts)
    }

    /// Counts the rows of the row groups that are read, of those that were looked at.
    fn count_rows(&self, part: &Part, looked_at: &[bool], kept: &[bool]) {
        let rows = |groups: &[bool]| {
            let groups = part.row_groups(self.tail.row_group_rows).zip(groups).filter(|(_, wanted)| **wanted);
            groups.map(|(group, _)| group.wanted_rows(self.selection.as_ref())).sum::<u64>()
        };
        let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        count_left(&self.narrowing.metrics.page_rows, count(rows(looked_at)), count(rows(kept)));
    }

    /// The predicate, and the columns of whose statistics it can be asked, with their numbers.
    fn predicate(&self) -> Option<(&FilePredicate, Vec<(u32, &DataField)>)> {
        let switches = &self.narrowing.switches;
        let predicate = self.narrowing.predicate.as_ref().filter(|_| switches.statistics && switches.page_index)?;
        let columns = columns(&self.tail, predicate.fields());
        (!columns.is_empty()).then_some((predicate, columns))
    }
}
