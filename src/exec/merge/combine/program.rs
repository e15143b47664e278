//! What is done with the versions of a chunk of keys: [`Program`].
//!
//! In: key by key the members that take part, and for each *track* the step. A track is a kind of columns that go the
//! same way: all of them, or those of a sequence group. Out: the members and steps that
//! [`Versions`](crate::exec::merge::aggregate::Versions) are made of; keys that are no rows of the table are not in it.

use crate::exec::merge::aggregate::{Member, Step};
use crate::spec::row_kind::RowKind;

/// A version of a key, with its place in the inputs.
#[derive(Debug, Clone, Copy)]
pub struct KeyVersion {
    /// Where it stands.
    pub member: Member,
    /// Its kind.
    pub kind: RowKind,
}

/// The steps of a chunk of keys.
#[derive(Debug)]
pub struct Program {
    members: Vec<Member>,
    offsets: Vec<u32>,
    tracks: Vec<Track>,
}

/// The steps of a kind of columns.
#[derive(Debug, Clone)]
struct Track {
    steps: Vec<Step>,
    /// Whether nothing else was pushed.
    only_aggregates: bool,
}

impl Program {
    /// No keys yet.
    pub fn new(tracks: usize) -> Self {
        let track = Track { steps: vec![], only_aggregates: true };
        Self { members: vec![], offsets: vec![0], tracks: vec![track; tracks] }
    }

    /// Keys whose versions are all aggregated, on one track: each key's end at one of `ends`.
    pub fn of_aggregates(versions: &[KeyVersion], ends: &[usize]) -> Self {
        let offset = |end: &usize| u32::try_from(*end).unwrap_or(u32::MAX);
        Self {
            members: versions.iter().map(|version| version.member).collect(),
            offsets: std::iter::once(0).chain(ends.iter().map(offset)).collect(),
            tracks: vec![Track { steps: vec![Step::Aggregate; versions.len()], only_aggregates: true }],
        }
    }

    /// A version of the current key takes part, with a step for each track.
    pub fn push(&mut self, member: Member, mut step: impl FnMut(usize) -> Step) {
        self.members.push(member);
        for (at, track) in self.tracks.iter_mut().enumerate() {
            let step = step(at);
            track.only_aggregates &= step == Step::Aggregate;
            track.steps.push(step);
        }
    }

    /// Ends the current key; one that is not kept leaves nothing behind.
    pub fn end_key(&mut self, kept: bool) {
        if kept {
            self.offsets.push(u32::try_from(self.members.len()).unwrap_or(u32::MAX));
            return;
        }
        let begin = self.offsets.last().map_or(0, |offset| *offset as usize);
        self.members.truncate(begin);
        self.tracks.iter_mut().for_each(|track| track.steps.truncate(begin));
    }

    /// How many keys there are.
    pub fn keys(&self) -> usize {
        self.offsets.len() - 1
    }

    /// All members, key by key.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Where each key's members begin, and at last their number.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The steps of a track.
    pub fn steps(&self, track: usize) -> &[Step] {
        self.tracks.get(track).map(|track| track.steps.as_slice()).unwrap_or_default()
    }

    /// Whether all steps of a track are [`Step::Aggregate`].
    pub fn only_aggregates(&self, track: usize) -> bool {
        self.tracks.get(track).is_some_and(|track| track.only_aggregates)
    }
}
