//! How much a scan may hold of what was fetched or decoded ahead: [`Budget`].
//!
//! In: questions for room, each of a lane and with a place in it. Out: [`Held`] parts of the budget, which come back when
//! they are dropped. Every lane has the same share; in a lane the earliest place comes first, and none goes before it.
//! What is granted is reserved in the session's memory pool; where that refuses, nothing is granted until it is demanded.
//!
//! What a reader cannot do without is granted at once. A lane demands only what it has nothing granted before, so that
//! the limit holds as long as no single range is larger than a lane's share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use tokio::sync::oneshot;

/// The part of a limited memory pool that a scan takes at most is one of so many.
const POOL_PARTS: u64 = 4;

/// Where a range stands in its lane: the number of its file, and its own number in the file.
pub(super) type Place = (u64, u64);

/// The bytes that a scan may hold ahead.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: u64,
    reservation: Option<MemoryReservation>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    peak: u64,
    next_lane: u64,
    lanes: BTreeMap<u64, LaneState>,
}

#[derive(Debug, Default)]
struct LaneState {
    used: u64,
    waiting: BTreeMap<Place, Question>,
}

#[derive(Debug)]
struct Question {
    bytes: u64,
    answer: oneshot::Sender<Held>,
}

/// A part of a budget; it goes back when this is dropped.
#[derive(Debug)]
pub struct Held {
    budget: Arc<Budget>,
    lane: u64,
    bytes: u64,
    /// How much of it the memory pool knows of.
    pooled: u64,
}

impl Budget {
    /// A budget of `limit_bytes`, less where the memory pool is small.
    pub fn new(limit_bytes: u64, pool: Option<&Arc<dyn MemoryPool>>) -> Arc<Self> {
        let limit_bytes = match pool.map(|pool| pool.memory_limit()) {
            Some(MemoryLimit::Finite(most)) => limit_bytes.min(most as u64 / POOL_PARTS),
            _ => limit_bytes,
        };
        let reservation = pool.map(|pool| MemoryConsumer::new("PaimonScanExec").register(pool));
        Arc::new(Self { limit_bytes, reservation, state: Mutex::default() })
    }

    /// The most bytes that were held at a time.
    pub fn peak_bytes(&self) -> u64 {
        self.state().peak
    }

    /// What is held now.
    pub fn used_bytes(&self) -> u64 {
        self.state().used
    }

    /// The part of the budget that each lane has now.
    pub(super) fn share_bytes(&self) -> u64 {
        self.share_of(&self.state())
    }

    fn share_of(&self, state: &State) -> u64 {
        self.limit_bytes / (state.lanes.len() as u64).max(1)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new lane.
    pub(super) fn add_lane(&self) -> u64 {
        let mut state = self.state();
        let lane = state.next_lane;
        state.next_lane += 1;
        state.lanes.insert(lane, LaneState::default());
        lane
    }

    /// Ends a lane; what others wait for may have room now.
    pub(super) fn remove_lane(self: &Arc<Self>, lane: u64) {
        self.state().lanes.remove(&lane);
        self.answer();
    }

    /// Asks for room. The answer comes when there is some.
    pub(super) fn ask(self: &Arc<Self>, lane: u64, place: Place, bytes: u64) -> oneshot::Receiver<Held> {
        let (answer, receiver) = oneshot::channel();
        if let Some(lane) = self.state().lanes.get_mut(&lane) {
            lane.waiting.insert(place, Question { bytes, answer });
        }
        self.answer();
        receiver
    }

    /// Withdraws a question.
    pub(super) fn withdraw(self: &Arc<Self>, lane: u64, place: Place) {
        let withdrawn = self.state().lanes.get_mut(&lane).and_then(|lane| lane.waiting.remove(&place));
        if withdrawn.is_some() {
            self.answer();
        }
    }

    /// Answers a question that waits, whatever room there is.
    pub(super) fn demand(self: &Arc<Self>, lane: u64, place: Place) {
        let question = self.state().lanes.get_mut(&lane).and_then(|lane| lane.waiting.remove(&place));
        if let Some(question) = question {
            let _ = question.answer.send(self.hold(lane, question.bytes));
        }
    }

    /// Room for what cannot wait.
    pub(super) fn hold(self: &Arc<Self>, lane: u64, bytes: u64) -> Held {
        let pooled = if self.reserve(bytes) { bytes } else { 0 };
        self.state().take(lane, bytes);
        Held { budget: Arc::clone(self), lane, bytes, pooled }
    }

    /// Room, if there is some now.
    pub(super) fn try_hold(self: &Arc<Self>, lane: u64, bytes: u64) -> Option<Held> {
        let mut state = self.state();
        let fits = self.fits(&state, state.lanes.get(&lane)?, bytes) && self.reserve(bytes);
        fits.then(|| {
            state.take(lane, bytes);
            Held { budget: Arc::clone(self), lane, bytes, pooled: bytes }
        })
    }

    fn reserve(&self, bytes: u64) -> bool {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.reservation.as_ref().is_none_or(|reservation| reservation.try_grow(bytes).is_ok())
    }

    fn fits(&self, state: &State, lane: &LaneState, bytes: u64) -> bool {
        let in_share = lane.used == 0 || lane.used.saturating_add(bytes) <= self.share_of(state);
        in_share && state.used.saturating_add(bytes) <= self.limit_bytes
    }

    /// Answers the questions that there is room for.
    fn answer(self: &Arc<Self>) {
        let mut answers = vec![];
        let mut state = self.state();
        let lanes: Vec<u64> = state.lanes.keys().copied().collect();
        for lane in lanes {
            while let Some(question) = self.next_of(&mut state, lane) {
                answers.push((lane, question));
            }
        }
        drop(state);
        // What was withdrawn meanwhile comes back here: not under the lock.
        for (lane, Question { bytes, answer }) in answers {
            let _ = answer.send(Held { budget: Arc::clone(self), lane, bytes, pooled: bytes });
        }
    }

    /// Takes room for the first question of a lane, if there is some.
    fn next_of(&self, state: &mut State, lane: u64) -> Option<Question> {
        let of_lane = state.lanes.get(&lane)?;
        let bytes = of_lane.waiting.first_key_value()?.1.bytes;
        if !self.fits(state, of_lane, bytes) || !self.reserve(bytes) {
            return None;
        }
        state.take(lane, bytes);
        state.lanes.get_mut(&lane)?.waiting.pop_first().map(|(_, question)| question)
    }

    fn give_back(self: &Arc<Self>, lane: u64, bytes: u64, pooled: u64) {
        if let Some(reservation) = &self.reservation {
            reservation.shrink(usize::try_from(pooled).unwrap_or(usize::MAX));
        }
        let mut state = self.state();
        state.used = state.used.saturating_sub(bytes);
        if let Some(lane) = state.lanes.get_mut(&lane) {
            lane.used = lane.used.saturating_sub(bytes);
        }
        drop(state);
        self.answer();
    }
}

impl State {
    fn take(&mut self, lane: u64, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
        self.peak = self.peak.max(self.used);
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.used = lane.used.saturating_add(bytes);
        }
    }
}

impl Held {
    /// Gives back what is more than `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let surplus = self.bytes.saturating_sub(bytes);
        if surplus > 0 {
            let pooled = self.pooled.min(surplus);
            self.bytes -= surplus;
            self.pooled -= pooled;
            self.budget.give_back(self.lane, surplus, pooled);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.give_back(self.lane, self.bytes, self.pooled);
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use proptest::prelude::*;

    use super::*;

    fn answered(receiver: &mut oneshot::Receiver<Held>) -> Option<Held> {
        receiver.try_recv().ok()
    }

    #[test]
    fn the_earliest_place_comes_first_and_lanes_have_equal_shares() {
        let budget = Budget::new(100, None);
        let (a, b) = (budget.add_lane(), budget.add_lane());
        let first = answered(&mut budget.ask(a, (0, 0), 40)).unwrap();
        let mut later = budget.ask(a, (1, 0), 5);
        assert!(answered(&mut later).is_some());
        let mut large = budget.ask(a, (0, 1), 30);
        let mut small = budget.ask(a, (0, 2), 1);
        assert!(answered(&mut large).is_none() && answered(&mut small).is_none(), "none goes before another");
        let other = answered(&mut budget.ask(b, (0, 0), 50)).unwrap();
        assert_eq!(budget.used_bytes(), 90);
        drop(first);
        assert!(answered(&mut large).is_some() && answered(&mut small).is_some());
        drop(other);
        assert_eq!((budget.used_bytes(), budget.peak_bytes()), (0, 90));
    }

    #[test]
    fn what_is_demanded_is_granted_and_what_is_withdrawn_is_not() {
        let budget = Budget::new(10, None);
        let lane = budget.add_lane();
        let mut large = budget.ask(lane, (0, 0), 50);
        let mut next = budget.ask(lane, (0, 1), 5);
        assert!(answered(&mut large).is_none());
        budget.demand(lane, (0, 0));
        let mut held = answered(&mut large).unwrap();
        held.shrink_to(5);
        assert!(answered(&mut next).is_some());
        drop(budget.ask(lane, (0, 2), 50));
        budget.withdraw(lane, (0, 2));
        budget.demand(lane, (0, 2));
        drop(held);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_pool_that_refuses_leaves_only_what_is_demanded() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(400));
        let others = MemoryConsumer::new("others").register(&pool);
        others.try_grow(380).unwrap();
        let budget = Budget::new(1000, Some(&pool));
        let lane = budget.add_lane();
        assert!(answered(&mut budget.ask(lane, (0, 0), 20)).is_some());
        let mut refused = budget.ask(lane, (0, 1), 30);
        assert!(answered(&mut refused).is_none() && budget.try_hold(lane, 30).is_none());
        budget.demand(lane, (0, 1));
        let held = answered(&mut refused);
        assert!(held.is_some() && pool.reserved() == 380);
        drop(held);
        assert_eq!((budget.used_bytes(), pool.reserved()), (0, 380));
        let all = Budget::new(1000, Some(&pool));
        assert_eq!(all.limit_bytes, 100, "a part of the pool at most");
    }

    proptest! {
        /// Whatever is asked, withdrawn and dropped: the limit holds, and in the end nothing is held.
        #[test]
        fn the_limit_holds(steps in proptest::collection::vec((0u64..3, 0u64..40, 1u64..34, 0u8..4), 0..80)) {
            let budget = Budget::new(100, None);
            let lanes = [budget.add_lane(), budget.add_lane(), budget.add_lane()];
            let (mut open, mut held) = (vec![], vec![]);
            for (number, (lane, place, bytes, action)) in steps.into_iter().enumerate() {
                let lane = lanes[lane as usize];
                match action {
                    0 | 1 => open.push((lane, (place, number as u64), budget.ask(lane, (place, number as u64), bytes))),
                    2 => if let Some((lane, place, _)) = open.pop() { budget.withdraw(lane, place) },
                    _ => { held.pop(); }
                }
                for (_, _, receiver) in &mut open {
                    held.extend(answered(receiver));
                }
                prop_assert!(budget.used_bytes() <= 100);
            }
            drop(open);
            drop(held);
            lanes.into_iter().for_each(|lane| budget.remove_lane(lane));
            prop_assert!(budget.peak_bytes() <= 100);
            prop_assert_eq!(budget.used_bytes(), 0);
        }
    }
}
