//! `collect`: the elements of lists, all of them or each once.
//!
//! In: versions of an ARRAY column. Out: each key's elements in the order in which they came, NULL elements among them;
//! with `distinct` each only once. A retract removes one occurrence, the first, for each of its elements.
//! Java: `FieldCollectAgg`. In release 1.4 bytes are compared by identity, so that none are ever equal, floats in rows take
//! -0.0 for 0.0 and NaN for nothing, and NULL beside rows fails; here, as in later releases, all are compared by value.

use std::collections::{HashMap, HashSet};

use arrow::array::ArrayRef;
use arrow::datatypes::DataType as ArrowType;

use super::fold::{Operations, Subject};
use super::lists::{ListOutput, Lists};
use super::value_bytes::value_bytes;
use super::{Aggregator, Member, Versions};
use crate::error::Result;

/// `collect`.
#[derive(Debug)]
pub(super) struct Collect {
    pub subject: Subject,
    pub arrow_type: ArrowType,
    pub distinct: bool,
    /// Whether elements are rows, lists or maps: then Java takes the accumulator for distinct without a look.
    pub constructed: bool,
}

type Seen = HashSet<Box<[u8]>>;

/// A list.
enum Elements {
    /// One of the inputs, as it is.
    Input(Member),
    /// One that was put together; `seen` are its elements, where that is known.
    Collected { elements: Vec<Member>, seen: Option<Seen> },
}

impl Aggregator for Collect {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let lists = Lists::new(versions)?;
        let mut output = ListOutput::new(versions.key_count());
        self.subject.fold(versions, &mut CollectOperations { function: self, lists: &lists }, |list| {
            let elements = list.map(|list| elements_of(&lists, list)).transpose()?;
            output.push(elements.map(|elements| elements.into_iter().map(Some)));
            Ok(())
        })?;
        output.gather(&self.arrow_type, &lists.children)
    }
}

struct CollectOperations<'a> {
    function: &'a Collect,
    lists: &'a Lists<'a>,
}

fn elements_of(lists: &Lists<'_>, list: Elements) -> Result<Vec<Member>> {
    match list {
        Elements::Input(member) => Ok(lists.elements(member)?.collect()),
        Elements::Collected { elements, .. } => Ok(elements),
    }
}

impl Operations for CollectOperations<'_> {
    type Value = Elements;

    fn read(&self, member: Member) -> Result<Option<Elements>> {
        Ok(self.lists.read(member)?.map(Elements::Input))
    }

    fn aggregate(&mut self, acc: Option<Elements>, input: Option<Elements>) -> Result<Option<Elements>> {
        match (acc, input) {
            (None, None) => Ok(None),
            (acc, input) if self.function.distinct => self.union(acc, input).map(Some),
            (Some(acc), Some(input)) => {
                let mut elements = elements_of(self.lists, acc)?;
                match input {
                    Elements::Input(member) => elements.extend(self.lists.elements(member)?),
                    Elements::Collected { elements: more, .. } => elements.extend(more),
                }
                Ok(Some(Elements::Collected { elements, seen: None }))
            }
            (acc, input) => Ok(acc.or(input)),
        }
    }

    /// The accumulator stays the accumulator: the order of elements is of no concern, and it is distinct already.
    fn aggregate_reversed(&mut self, acc: Option<Elements>, input: Option<Elements>) -> Result<Option<Elements>> {
        self.aggregate(acc, input)
    }

    fn retract(&mut self, acc: Option<Elements>, input: Option<Elements>) -> Option<Result<Option<Elements>>> {
        Some(match (acc, input) {
            (None, _) => Ok(None),
            (acc, None) => Ok(acc),
            (Some(acc), Some(input)) => self.without(acc, input).map(Some),
        })
    }
}

impl CollectOperations<'_> {
    fn bytes(&self, element: Member) -> Result<Box<[u8]>> {
        value_bytes(self.lists.child(element)?, element.row as usize)
    }

    fn union(&self, acc: Option<Elements>, input: Option<Elements>) -> Result<Elements> {
        let (mut elements, mut seen) = match acc {
            None => (vec![], Seen::new()),
            Some(Elements::Collected { elements, seen: Some(seen) }) => (elements, seen),
            Some(list) => self.seen(elements_of(self.lists, list)?)?,
        };
        for element in input.map(|list| elements_of(self.lists, list)).transpose()?.into_iter().flatten() {
            if seen.insert(self.bytes(element)?) {
                elements.push(element);
            }
        }
        Ok(Elements::Collected { elements, seen: Some(seen) })
    }

    /// The elements of an accumulator that is not known to be distinct.
    fn seen(&self, list: Vec<Member>) -> Result<(Vec<Member>, Seen)> {
        let (mut elements, mut seen) = (Vec::with_capacity(list.len()), Seen::new());
        for element in list {
            if seen.insert(self.bytes(element)?) || self.function.constructed {
                elements.push(element);
            }
        }
        Ok((elements, seen))
    }

    fn without(&self, acc: Elements, input: Elements) -> Result<Elements> {
        let retracted = elements_of(self.lists, input)?;
        if retracted.is_empty() {
            return Ok(acc);
        }
        let mut counts: HashMap<Box<[u8]>, usize> = HashMap::new();
        for element in retracted {
            *counts.entry(self.bytes(element)?).or_default() += 1;
        }
        let mut elements = vec![];
        for element in elements_of(self.lists, acc)? {
            match counts.get_mut(&self.bytes(element)?) {
                Some(count) if *count > 0 => *count -= 1,
                _ => elements.push(element),
            }
        }
        Ok(Elements::Collected { elements, seen: None })
    }
}
