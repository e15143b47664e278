//! Searches in the snapshots of a branch.
//!
//! One listing gives the ids; then a few snapshots at a time are read, side by side, until the wanted one is between
//! two neighbours. Times and watermarks grow with the ids. A snapshot that expired since the listing counts as too old.
//! Of snapshots of the same time the last one is meant.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures::future::try_join_all;

use crate::error::Result;
use crate::plan::snapshot::SnapshotManager;
use crate::spec::snapshot::Snapshot;

/// How many snapshots are read side by side.
const PROBES: usize = 16;

/// The snapshots of a branch at one moment.
pub(super) struct History<'a> {
    manager: &'a SnapshotManager,
    /// Ascending.
    ids: Vec<i64>,
    /// Those read so far, by id; `None` for those that are gone.
    known: Mutex<BTreeMap<i64, Option<Snapshot>>>,
}

impl<'a> History<'a> {
    pub(super) async fn of(manager: &'a SnapshotManager) -> Result<Self> {
        Ok(Self { manager, ids: manager.snapshot_ids().await?, known: Mutex::default() })
    }

    /// The snapshot at a place, read once.
    async fn at(&self, index: usize) -> Result<Option<Snapshot>> {
        let Some(&id) = self.ids.get(index) else { return Ok(None) };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let snapshot = self.manager.try_snapshot(id).await?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, snapshot.clone());
        Ok(snapshot)
    }

    /// The oldest snapshot that is still there.
    pub(super) async fn oldest(&self) -> Result<Option<Snapshot>> {
        for index in 0..self.ids.len() {
            if let Some(snapshot) = self.at(index).await? {
                return Ok(Some(snapshot));
            }
        }
        Ok(None)
    }

    /// The newest snapshot.
    pub(super) async fn newest(&self) -> Result<Option<Snapshot>> {
        self.newest_where(|_| true).await
    }

    /// The newest snapshot that is wanted.
    pub(super) async fn newest_where(&self, wanted: impl Fn(&Snapshot) -> bool) -> Result<Option<Snapshot>> {
        let mut end = self.ids.len();
        // The newest one is likely it; then a few at once.
        let mut probes = 1;
        while end > 0 {
            let start = end.saturating_sub(probes);
            let read = try_join_all((start..end).rev().map(|i| self.at(i))).await?;
            if let Some(found) = read.into_iter().flatten().find(&wanted) {
                return Ok(Some(found));
            }
            (end, probes) = (start, PROBES);
        }
        Ok(None)
    }

    /// The last snapshot whose time is at or before a time.
    pub(super) async fn last_until(&self, millis: i64) -> Result<Option<Snapshot>> {
        let after = self.first_index(|s| Some(s.time_millis > millis)).await?;
        match after.checked_sub(1) {
            Some(index) => self.at(index).await,
            None => Ok(None),
        }
    }

    /// The snapshot that follows the last one before a time, where both exist.
    pub(super) async fn next_after_those_before(&self, millis: i64) -> Result<Option<Snapshot>> {
        match self.first_index(|s| Some(s.time_millis >= millis)).await? {
            0 => Ok(None),
            index => self.at(index).await,
        }
    }

    /// The first snapshot that passes; `None` of the test means that the snapshot does not say, and is passed over.
    pub(super) async fn first(&self, passes: impl Fn(&Snapshot) -> Option<bool>) -> Result<Option<Snapshot>> {
        let index = self.first_index(passes).await?;
        self.at(index).await
    }

    /// The place of the first snapshot that passes, or the number of snapshots. All behind one that passes do too, if
    /// they say.
    async fn first_index(&self, passes: impl Fn(&Snapshot) -> Option<bool>) -> Result<usize> {
        // Whatever is below `low` fails or does not say, `high` passes or is the end.
        let (mut low, mut high) = (0, self.ids.len());
        while high.saturating_sub(low) > PROBES {
            let probes = probes(low, high);
            let results = self.test(&probes, &passes).await?;
            let said = |wanted| probes.iter().zip(&results).filter(move |(_, r)| **r == Some(wanted)).map(|(i, _)| *i);
            let passing = said(true).next();
            let failing = said(false).rfind(|i| passing.is_none_or(|p| *i < p));
            if passing.is_none() && failing.is_none() {
                // None of them says anything: go through the first ones one by one.
                let end = low.saturating_add(PROBES);
                match self.first_of(low, end, &passes).await? {
                    Some(index) => return Ok(index),
                    None => low = end,
                }
            }
            high = passing.unwrap_or(high);
            low = failing.map_or(low, |i| i.saturating_add(1));
        }
        Ok(self.first_of(low, high, &passes).await?.unwrap_or(high))
    }

    /// The first place of a short range whose snapshot passes.
    async fn first_of(
        &self,
        low: usize,
        high: usize,
        passes: &impl Fn(&Snapshot) -> Option<bool>,
    ) -> Result<Option<usize>> {
        let range = (low..high).collect::<Vec<_>>();
        let results = self.test(&range, passes).await?;
        Ok(range.into_iter().zip(results).find(|(_, passes)| *passes == Some(true)).map(|(index, _)| index))
    }

    /// Reads snapshots side by side and tests them; one that is gone fails.
    async fn test(&self, indexes: &[usize], passes: &impl Fn(&Snapshot) -> Option<bool>) -> Result<Vec<Option<bool>>> {
        let read = try_join_all(indexes.iter().map(|i| self.at(*i))).await?;
        Ok(read.iter().map(|s| s.as_ref().map_or(Some(false), passes)).collect())
    }
}

/// Places inside a range that is longer than their number, evenly spaced and ascending.
fn probes(low: usize, high: usize) -> Vec<usize> {
    let length = high.saturating_sub(low);
    (1..=PROBES).map(|k| low.saturating_add(length.saturating_mul(k) / (PROBES + 1))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::snapshot::tests::{file, table};
    use crate::spec::snapshot::tests::snapshot;

    async fn manager(times: &[i64], watermarks: &[Option<i64>]) -> SnapshotManager {
        let files = times.iter().enumerate().map(|(i, time)| {
            let mut s = snapshot(i as i64 + 3, *time);
            s.raw_watermark = watermarks.get(i).copied().flatten();
            file(&s)
        });
        table("main", &files.collect::<Vec<_>>()).await
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    proptest! {
        #[test]
        fn searches_find_what_a_walk_finds(
            steps in prop::collection::vec((0_i64..3, 0_i64..3, 0_u8..4), 0..80), wanted in -1_i64..160,
        ) {
            let (mut time, mut watermark) = (0, 0);
            let (mut times, mut watermarks) = (vec![], vec![]);
            for (time_step, watermark_step, says) in steps {
                time += time_step;
                watermark += watermark_step;
                times.push(time);
                watermarks.push(match says { 0 => None, 1 => Some(i64::MIN), _ => Some(watermark) });
            }
            let place = |index: Option<usize>| index.map(|i| i as i64 + 3);
            let last = place(times.iter().rposition(|t| *t <= wanted));
            let next = times.iter().position(|t| *t >= wanted).filter(|i| *i > 0);
            let mark = place(watermarks.iter().position(|w| w.is_some_and(|w| w != i64::MIN && w >= wanted)));
            block_on(async {
                let m = manager(&times, &watermarks).await;
                let h = History::of(&m).await.unwrap();
                let id = |s: Option<Snapshot>| s.map(|s| s.id);
                prop_assert_eq!(id(h.last_until(wanted).await.unwrap()), last);
                prop_assert_eq!(id(h.next_after_those_before(wanted).await.unwrap()), place(next));
                let found = h.first(|s| s.watermark().map(|w| w >= wanted)).await.unwrap();
                prop_assert_eq!(id(found), mark);
                let newest = h.newest_where(|s| s.time_millis < wanted).await.unwrap();
                prop_assert_eq!(id(newest), place(times.iter().rposition(|t| *t < wanted)));
                Ok(())
            })?;
        }
    }
}
