//! A tournament over the heads of sorted runs: [`LoserTree`].
//!
//! In: a comparison of two runs by their heads. Out: the run whose head is least, after each change of a head in
//! `log2(runs)` comparisons. Each inner node holds the run that lost the match there; the winner stands above the root:
//!
//! ```text
//!            winner
//!              |
//!           loser[1]
//!          /        \
//!     loser[2]    loser[3]
//!      /    \      /    \
//!    run 0 run 1 run 2 run 3
//! ```

/// Knows the least of some runs. `less(a, b)` must say whether run `a` comes before run `b`; ties go by the number of
/// the run, so the order is total.
#[derive(Debug)]
pub struct LoserTree {
    /// `losers[0]` is the winner; the others as drawn above.
    losers: Vec<usize>,
}

impl LoserTree {
    /// Plays all matches among `runs` runs.
    pub fn new(runs: usize, mut less: impl FnMut(usize, usize) -> bool) -> Self {
        // winners[node]: who leaves a node upwards; leaves are the nodes `runs..2 * runs`.
        let mut winners = vec![0; runs];
        winners.extend(0..runs);
        let mut losers = vec![0; runs.max(1)];
        for node in (1..runs).rev() {
            let (a, b) = (winners.get(2 * node).copied(), winners.get(2 * node + 1).copied());
            let (a, b) = (a.unwrap_or(0), b.unwrap_or(0));
            let (winner, loser) = if less(a, b) { (a, b) } else { (b, a) };
            set(&mut winners, node, winner);
            set(&mut losers, node, loser);
        }
        let champion = winners.get(1).copied().unwrap_or(0);
        set(&mut losers, 0, if runs == 1 { 0 } else { champion });
        Self { losers }
    }

    /// The run whose head is least.
    pub fn winner(&self) -> usize {
        self.losers.first().copied().unwrap_or(0)
    }

    /// The run whose head would be least if the winner's run ended; `None` when there is only one run.
    pub fn runner_up(&self, mut less: impl FnMut(usize, usize) -> bool) -> Option<usize> {
        let mut best = None;
        self.path(self.winner(), |loser| {
            if best.is_none_or(|b| less(loser, b)) {
                best = Some(loser);
            }
        });
        best
    }

    /// Plays the winner's matches again after its head changed.
    pub fn replay(&mut self, mut less: impl FnMut(usize, usize) -> bool) {
        let mut winner = self.winner();
        let mut node = (winner + self.losers.len()) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get_mut(node)
                && less(*loser, winner)
            {
                std::mem::swap(loser, &mut winner);
            }
            node /= 2;
        }
        set(&mut self.losers, 0, winner);
    }

    /// Visits the losers between a run's leaf and the root.
    fn path(&self, run: usize, mut visit: impl FnMut(usize)) {
        let mut node = (run + self.losers.len()) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get(node) {
                visit(*loser);
            }
            node /= 2;
        }
    }
}

fn set(list: &mut [usize], at: usize, value: usize) {
    if let Some(place) = list.get_mut(at) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn heads_come_out_in_order(mut runs in proptest::collection::vec(proptest::collection::vec(0u8..20, 0..12), 1..9)) {
            runs.iter_mut().for_each(|r| r.sort_unstable());
            let mut want: Vec<u8> = runs.concat();
            want.sort_unstable();
            let mut at = vec![0; runs.len()];
            // A run that has ended is greater than all.
            let head = |at: &[usize], r: usize| (runs[r].get(at[r]).copied().map_or(u32::MAX, u32::from), r);
            let mut tree = LoserTree::new(runs.len(), |a, b| head(&at, a) < head(&at, b));
            let mut got = vec![];
            while let Some(value) = runs[tree.winner()].get(at[tree.winner()]) {
                let second = (0..runs.len()).filter(|r| *r != tree.winner()).min_by_key(|r| head(&at, *r));
                prop_assert_eq!(tree.runner_up(|a, b| head(&at, a) < head(&at, b)), second);
                got.push(*value);
                at[tree.winner()] += 1;
                tree.replay(|a, b| head(&at, a) < head(&at, b));
            }
            prop_assert_eq!(got, want);
        }
    }
}
