//! The steps of `partial-update`: newer values replace older ones, column by column or group by group.
//!
//! In: the versions of a key, and the sequences of their groups. Out: steps for track 0, the columns of no group, and
//! three tracks for each group: its sequence columns, its plain columns, and those with a function. Java:
//! `PartialUpdateMergeFunction`.
//!
//! | | no group | sequence | plain | with function |
//! |---|---|---|---|---|
//! | add, not older | fold | set | set | fold |
//! | add, older | fold | | | fold reversed |
//! | retract, not older | | set | clear | retract |
//! | retract, older | | | | retract |
//! | a first version that is a retract, before all else | set | set | set | set |
//! | a delete that removes the row | set | set | set | set |
//!
//! A version without a sequence in a group does nothing to the group. Whether a column stands before or after its
//! sequence columns makes no difference: once the sequence was replaced, the version equals it and is still not older.

use std::cmp::Ordering;

use super::program::{KeyVersion, Program};
use super::runs::Inputs;
use super::sequence::SequenceEncoder;
use crate::error::{Error, Result};
use crate::exec::merge::aggregate::{Member, Step};
use crate::spec::row_kind::RowKind;

/// What a group's tracks are, from its first one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupTrack {
    /// Its sequence columns.
    Sequence,
    /// Its columns without a function.
    Plain,
    /// Its columns with one.
    Function,
}

/// The track of the columns of no group.
pub const UNGROUPED_TRACK: usize = 0;
const TRACKS_PER_GROUP: usize = 3;

/// A track of group `group`.
pub fn track(group: usize, track: GroupTrack) -> usize {
    1 + group * TRACKS_PER_GROUP + track as usize
}

/// The engine's options, as far as the wanted columns are concerned.
#[derive(Debug)]
pub struct PartialUpdate {
    /// Option `ignore-delete`.
    pub ignore_delete: bool,
    /// Option `partial-update.remove-record-on-delete`.
    pub remove_on_delete: bool,
    /// Whether the table has sequence groups, of wanted columns or others.
    pub grouped: bool,
    /// The groups that matter for the wanted columns.
    pub groups: Vec<Group>,
}

/// A sequence group.
#[derive(Debug)]
pub struct Group {
    /// Makes its sequences comparable.
    pub encoder: SequenceEncoder,
    /// Whether its deletes remove the whole row.
    pub removes_record: bool,
}

/// How a version stands to what its key has in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    /// It has no sequence in the group.
    None,
    NotOlder,
    Older,
}

/// Writes the steps of keys.
pub struct Steps<'a> {
    rules: &'a PartialUpdate,
    inputs: &'a Inputs<'a>,
    /// For each group the version that the key's sequence is of; none at first.
    current: Vec<Option<Member>>,
    ages: Vec<Age>,
}

impl<'a> Steps<'a> {
    /// A writer for versions that stand in `inputs`.
    pub fn new(rules: &'a PartialUpdate, inputs: &'a Inputs<'a>) -> Self {
        let groups = rules.groups.len();
        Self { rules, inputs, current: vec![None; groups], ages: vec![Age::None; groups] }
    }

    /// Appends a key with its versions, oldest first.
    pub fn push_key(&mut self, program: &mut Program, versions: &[KeyVersion]) -> Result<()> {
        self.current.fill(None);
        let (mut filled, mut has_add, mut deleted) = (false, false, false);
        for version in versions {
            if version.kind.is_add() {
                self.add(program, version.member);
                (filled, has_add, deleted) = (true, true, false);
                continue;
            }
            if !filled {
                self.set_all(program, version.member);
                filled = true;
            }
            deleted = self.retract(program, *version)?;
        }
        program.end_key(has_add && !deleted);
        Ok(())
    }

    /// The version's values replace all that the key has.
    fn set_all(&mut self, program: &mut Program, member: Member) {
        program.push(member, |_| Step::Set);
        self.current.fill(Some(member));
    }

    fn add(&mut self, program: &mut Program, member: Member) {
        self.compare(member);
        let ages = &self.ages;
        program.push(member, |track| match group_of(track, ages) {
            None => Step::Aggregate,
            Some((_, Age::None)) => Step::Skip,
            Some((GroupTrack::Function, Age::NotOlder)) => Step::Aggregate,
            Some((GroupTrack::Function, Age::Older)) => Step::AggregateReversed,
            Some((_, Age::NotOlder)) => Step::Set,
            Some((_, Age::Older)) => Step::Skip,
        });
        self.take_over(member);
    }

    /// Takes a version back; whether that removes the row.
    fn retract(&mut self, program: &mut Program, version: KeyVersion) -> Result<bool> {
        let is_delete = version.kind == RowKind::Delete;
        if self.rules.ignore_delete {
            return Ok(false);
        }
        if !self.rules.grouped {
            if !self.rules.remove_on_delete {
                return Err(Error::unsupported(NO_RULE));
            }
            if is_delete {
                self.set_all(program, version.member);
            }
            return Ok(is_delete);
        }
        self.compare(version.member);
        let removes = |(group, age): (&Group, &Age)| group.removes_record && *age == Age::NotOlder;
        if is_delete && self.rules.groups.iter().zip(&self.ages).any(removes) {
            self.set_all(program, version.member);
            return Ok(true);
        }
        let ages = &self.ages;
        program.push(version.member, |track| match group_of(track, ages) {
            None | Some((_, Age::None)) => Step::Skip,
            Some((GroupTrack::Function, _)) => Step::Retract,
            Some((_, Age::Older)) => Step::Skip,
            Some((GroupTrack::Sequence, Age::NotOlder)) => Step::Set,
            Some((GroupTrack::Plain, Age::NotOlder)) => Step::Clear,
        });
        self.take_over(version.member);
        Ok(false)
    }

    /// Finds the age of a version in each group.
    fn compare(&mut self, member: Member) {
        for (group, (age, current)) in self.ages.iter_mut().zip(&self.current).enumerate() {
            let values = self.inputs.sequences(member.input, group);
            *age = match values {
                Some(values) if !values.is_absent(member.row as usize) => {
                    let current = current.and_then(|c| Some((self.inputs.sequences(c.input, group)?, c.row)));
                    let order = |(other, row)| values.compare(member.row as usize, other, row as usize);
                    if current.map(order) == Some(Ordering::Less) { Age::Older } else { Age::NotOlder }
                }
                _ => Age::None,
            };
        }
    }

    /// The version's sequences become the key's where they are not older.
    fn take_over(&mut self, member: Member) {
        for (current, age) in self.current.iter_mut().zip(&self.ages) {
            if *age == Age::NotOlder {
                *current = Some(member);
            }
        }
    }
}

/// Which track of a group, and the age there; none for the columns of no group.
fn group_of(track: usize, ages: &[Age]) -> Option<(GroupTrack, Age)> {
    let at = track.checked_sub(1)?;
    let age = ages.get(at / TRACKS_PER_GROUP).copied().unwrap_or(Age::None);
    let track = match at % TRACKS_PER_GROUP {
        0 => GroupTrack::Sequence,
        1 => GroupTrack::Plain,
        _ => GroupTrack::Function,
    };
    Some((track, age))
}

const NO_RULE: &str = "a delete record in a table of merge-engine 'partial-update' that says nothing of deletes by \
    'ignore-delete', 'partial-update.remove-record-on-delete' or a 'sequence-group'";
