//! The reference's loser tree, row by row: [`LoserTree`].
//!
//! Which of two versions of equal age comes out first is decided by how the tree happens to stand, and that by every row
//! before: so it must see all rows of a section.
//!
//! Java: `LoserTree`, `SortMergeReaderWithLoserTree`.

use std::cmp::Ordering;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;

use super::super::tournament::{Cursor, KeyBatch};
use super::{Popped, version};
use crate::error::{Error, Result};

/// Whether a leaf has won or lost, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    LostWithNewKey,
    LostWithSameKey,
    LostPopped,
    WonWithNewKey,
    WonWithSameKey,
    WonPopped,
}

impl State {
    fn has_won(self) -> bool {
        matches!(self, State::WonWithNewKey | State::WonWithSameKey | State::WonPopped)
    }
}

/// A run.
struct Leaf {
    cursor: Cursor,
    begun: bool,
    state: State,
    /// The node where the first leaf of the same key lost to it.
    first_same: Option<usize>,
}

impl Leaf {
    /// The row that it stands at; `None` at the end.
    fn head(&self) -> Option<Popped> {
        self.cursor.batch.as_ref().map(|batch| (Arc::clone(batch), self.cursor.row))
    }

    fn lost_to_same_at(&mut self, node: usize) {
        self.first_same = self.first_same.or(Some(node));
    }
}

/// The loser tree. Node 0 names the winner, the others the leaf that lost there.
pub struct LoserTree {
    leaves: Vec<Leaf>,
    nodes: Vec<Option<usize>>,
}

impl LoserTree {
    /// A tree of these runs.
    pub async fn new(runs: Vec<BoxStream<'static, Result<KeyBatch>>>) -> Result<Self> {
        let leaf = |batches: BoxStream<'static, Result<KeyBatch>>| Leaf {
            cursor: Cursor::new(batches.fuse()),
            begun: false,
            state: State::WonWithNewKey,
            first_same: None,
        };
        let leaves: Vec<_> = runs.into_iter().map(leaf).collect();
        let mut tree = Self { nodes: vec![None; leaves.len()], leaves };
        for at in (0..tree.leaves.len()).rev() {
            tree.advance(at).await?;
            tree.adjust(at)?;
        }
        Ok(tree)
    }

    /// The rows of the least key that is left; none at the end.
    pub async fn next(&mut self) -> Result<Vec<Popped>> {
        self.go_on().await?;
        let mut group = vec![];
        while group.is_empty() || self.is_at_same_key()? {
            let Some(row) = self.pop()? else { break };
            group.push(row);
        }
        Ok(group)
    }

    /// Takes the runs whose rows were popped to their next rows.
    async fn go_on(&mut self) -> Result<()> {
        while let Some(winner) = self.winner()
            && self.state(winner)? == State::WonPopped
        {
            self.advance(winner).await?;
            self.adjust(winner)?;
        }
        Ok(())
    }

    /// The next row of the key that is the least one; `None` where there is none left.
    fn pop(&mut self) -> Result<Option<Popped>> {
        let Some(winner) = self.winner() else { return Ok(None) };
        if self.state(winner)? == State::WonPopped {
            return Ok(None);
        }
        let head = self.leaf(winner)?.head();
        self.leaf(winner)?.state = State::WonPopped;
        self.adjust(winner)?;
        Ok(head)
    }

    /// Whether there is another row of the key that was popped last.
    fn is_at_same_key(&mut self) -> Result<bool> {
        let Some(winner) = self.winner() else { return Ok(false) };
        let leaf = self.leaf(winner)?;
        Ok(leaf.state != State::WonPopped && leaf.cursor.batch.is_some())
    }

    async fn advance(&mut self, at: usize) -> Result<()> {
        let leaf = self.leaf(at)?;
        (leaf.first_same, leaf.state) = (None, State::WonWithNewKey);
        leaf.cursor.row += usize::from(leaf.begun && leaf.cursor.batch.is_some());
        leaf.begun = true;
        leaf.cursor.fill().await
    }

    /// Takes a leaf up the tree until it has lost, and what beat it from there on.
    fn adjust(&mut self, leaf: usize) -> Result<()> {
        let mut winner = Some(leaf);
        let mut node = (leaf + self.leaves.len()) / 2;
        while node > 0
            && let Some(at) = winner
        {
            match (self.loser(node)?, self.state(at)?) {
                (None, _) => self.leaf(at)?.state = State::LostWithNewKey,
                (Some(parent), State::WonWithNewKey) => self.meet_with_new_key(node, parent, at)?,
                (Some(parent), State::WonWithSameKey) => self.meet_with_same_key(node, parent, at)?,
                (Some(_), State::WonPopped) => {
                    // No other row of this key is in the tree, or the one that lost first is at hand.
                    let Some(same) = self.leaf(at)?.first_same else { break };
                    node = same;
                    let next = self.loser(node)?.ok_or_else(misled)?;
                    self.leaf(at)?.state = State::LostPopped;
                    self.leaf(next)?.state = State::WonWithSameKey;
                }
                (Some(_), _) => return Err(misled()),
            }
            if !self.state(at)?.has_won() {
                let slot = self.nodes.get_mut(node).ok_or_else(misled)?;
                winner = slot.replace(at);
            }
            node /= 2;
        }
        *self.nodes.first_mut().ok_or_else(misled)? = winner;
        Ok(())
    }

    /// A leaf that goes up with a key that may be another than the last one meets the loser of a node.
    fn meet_with_new_key(&mut self, node: usize, parent: usize, at: usize) -> Result<()> {
        match self.state(parent)? {
            State::LostWithNewKey => match self.compare_keys(parent, at)? {
                Ordering::Less => {}
                Ordering::Greater => {
                    self.leaf(parent)?.state = State::WonWithNewKey;
                    self.leaf(at)?.state = State::LostWithNewKey;
                }
                Ordering::Equal if self.compare_ages(parent, at)? == Ordering::Less => {
                    self.leaf(parent)?.state = State::LostWithSameKey;
                    self.leaf(at)?.lost_to_same_at(node);
                }
                Ordering::Equal => {
                    self.leaf(at)?.state = State::LostWithSameKey;
                    let parent = self.leaf(parent)?;
                    parent.state = State::WonWithNewKey;
                    parent.lost_to_same_at(node);
                }
            },
            State::LostPopped => {
                let popped = self.leaf(parent)?;
                (popped.state, popped.first_same) = (State::WonPopped, None);
                self.leaf(at)?.state = State::LostWithNewKey;
            }
            _ => return Err(misled()),
        }
        Ok(())
    }

    /// A leaf that goes up with the key of the last winner meets the loser of a node.
    fn meet_with_same_key(&mut self, node: usize, parent: usize, at: usize) -> Result<()> {
        match self.state(parent)? {
            State::LostWithSameKey if self.compare_ages(parent, at)? == Ordering::Greater => {
                self.leaf(at)?.state = State::LostWithSameKey;
                let parent = self.leaf(parent)?;
                parent.state = State::WonWithSameKey;
                parent.lost_to_same_at(node);
            }
            State::LostWithSameKey => self.leaf(at)?.lost_to_same_at(node),
            State::LostWithNewKey | State::LostPopped => {}
            _ => return Err(misled()),
        }
        Ok(())
    }

    /// Greater where the loser of a node now wins: where its key is less. A run that has ended loses.
    fn compare_keys(&self, parent: usize, at: usize) -> Result<Ordering> {
        self.compare(parent, at, |parent, at| at.0.keys.compare(at.1, &parent.0.keys, parent.1))
    }

    /// Greater where the loser of a node now wins: where its row is older.
    fn compare_ages(&self, parent: usize, at: usize) -> Result<Ordering> {
        self.compare(parent, at, |parent, at| version(&at).compare_age(&version(&parent)))
    }

    fn compare(&self, parent: usize, at: usize, by: impl Fn(Popped, Popped) -> Ordering) -> Result<Ordering> {
        let head = |leaf: usize| Ok::<_, Error>(self.leaves.get(leaf).ok_or_else(misled)?.head());
        Ok(match (head(parent)?, head(at)?) {
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
            (Some(parent), Some(at)) => by(parent, at),
        })
    }

    fn winner(&self) -> Option<usize> {
        self.nodes.first().copied().flatten()
    }

    fn loser(&self, node: usize) -> Result<Option<usize>> {
        self.nodes.get(node).copied().ok_or_else(misled)
    }

    fn state(&self, leaf: usize) -> Result<State> {
        self.leaves.get(leaf).map(|leaf| leaf.state).ok_or_else(misled)
    }

    fn leaf(&mut self, leaf: usize) -> Result<&mut Leaf> {
        self.leaves.get_mut(leaf).ok_or_else(misled)
    }
}

fn misled() -> Error {
    Error::internal("the loser tree is in no state that it can be in")
}
