//! Smaller predicates that take the same rows: [`Predicate::all_of`], [`Predicate::any_of`], [`Predicate::residual`].
//!
//! In: predicates. Out: flat ones, in which truths and falsehoods are gone and equalities of one column under an OR are
//! one IN.

use std::collections::HashMap;

use super::{ColumnRef, Leaf, Predicate, Test};
use crate::spec::datum::Datum;

impl Predicate {
    /// The AND of predicates, simplified.
    pub fn all_of(list: impl IntoIterator<Item = Predicate>) -> Self {
        let mut flat = vec![];
        for predicate in list {
            match predicate {
                Predicate::And(inner) => flat.extend(inner),
                other if other.is_never() => return Predicate::never(),
                other => flat.push(other),
            }
        }
        if flat.iter().any(Predicate::is_never) {
            return Predicate::never();
        }
        flat.retain(|p| !p.is_always());
        only(flat).unwrap_or_else(Predicate::And)
    }

    /// The OR of predicates, simplified.
    pub fn any_of(list: impl IntoIterator<Item = Predicate>) -> Self {
        let mut flat = vec![];
        for predicate in list {
            match predicate {
                Predicate::Or(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        if flat.iter().any(Predicate::is_always) {
            return Predicate::always();
        }
        flat.retain(|p| !p.is_never());
        only(with_one_in(flat)).unwrap_or_else(Predicate::Or)
    }

    /// What is left of it where the leaves on some columns are decided: `decide` says whether a leaf takes the rows in
    /// question, `None` where that depends on the row.
    pub fn residual(&self, decide: &mut dyn FnMut(&Leaf) -> Option<bool>) -> Self {
        match self {
            Predicate::And(list) => Predicate::all_of(list.iter().map(|p| p.residual(decide))),
            Predicate::Or(list) => Predicate::any_of(list.iter().map(|p| p.residual(decide))),
            Predicate::Leaf(leaf) => match decide(leaf) {
                Some(true) => Predicate::always(),
                Some(false) => Predicate::never(),
                None => self.clone(),
            },
        }
    }

    /// What it says of some columns alone: it takes all rows that this one takes.
    pub fn on_columns(&self, of_these: &dyn Fn(&ColumnRef) -> bool) -> Self {
        self.residual(&mut |leaf| (!of_these(&leaf.column)).then_some(true))
    }

    /// The same of other columns: `rename` gives the column that stands for one, `None` where there is none. What cannot
    /// be said then is left out.
    pub fn with_columns(&self, rename: &dyn Fn(&ColumnRef) -> Option<ColumnRef>) -> Self {
        match self {
            Predicate::And(list) => Predicate::all_of(list.iter().map(|p| p.with_columns(rename))),
            Predicate::Or(list) => Predicate::any_of(list.iter().map(|p| p.with_columns(rename))),
            Predicate::Leaf(leaf) => match rename(&leaf.column) {
                Some(column) => Predicate::leaf(column, leaf.test.clone()),
                None => Predicate::always(),
            },
        }
    }
}

/// The only element, or the list.
fn only(mut list: Vec<Predicate>) -> Result<Predicate, Vec<Predicate>> {
    match list.len() {
        1 => list.pop().ok_or(list),
        _ => Err(list),
    }
}

/// Brings the equalities of one column together.
fn with_one_in(list: Vec<Predicate>) -> Vec<Predicate> {
    let mut places: HashMap<i32, usize> = HashMap::new();
    let mut merged: Vec<(Predicate, Vec<Datum>)> = vec![];
    for predicate in list {
        let Predicate::Leaf(Leaf { column, test: test @ (Test::Equal(_) | Test::In(_)) }) = predicate else {
            merged.push((predicate, vec![]));
            continue;
        };
        let literals = match &test {
            Test::Equal(one) => vec![one.clone()],
            Test::In(some) => some.clone(),
            _ => vec![],
        };
        match places.get(&column.id).and_then(|at| merged.get_mut(*at)) {
            Some((_, others)) => others.extend(literals),
            None => {
                places.insert(column.id, merged.len());
                merged.push((Predicate::leaf(column, test), literals));
            }
        }
    }
    let rebuilt = merged.into_iter().map(|(predicate, literals)| match predicate {
        Predicate::Leaf(leaf) if !literals.is_empty() => Predicate::leaf(leaf.column, Test::is_in(literals)),
        other => other,
    });
    rebuilt.collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{column, int};
    use super::*;

    fn leaf(id: i32, test: Test) -> Predicate {
        Predicate::leaf(column(id, "INT"), test)
    }

    fn equal(id: i32, value: i32) -> Predicate {
        leaf(id, Test::Equal(int(value)))
    }

    #[test]
    fn truths_and_falsehoods_go_and_equalities_become_one() {
        use Predicate as P;
        assert_eq!(
            P::all_of([P::always(), equal(1, 2), P::And(vec![equal(2, 3)])]),
            P::And(vec![equal(1, 2), equal(2, 3)])
        );
        assert_eq!(P::all_of([equal(1, 2), P::always()]), equal(1, 2));
        assert_eq!(P::all_of([equal(1, 2), P::never()]), P::never());
        assert_eq!(P::any_of([equal(1, 2), P::always()]), P::always());
        assert_eq!(P::any_of([]), P::never());
        let got = P::any_of([equal(1, 3), equal(2, 0), leaf(1, Test::In(vec![int(1), int(3)])), P::never()]);
        assert_eq!(got, P::Or(vec![leaf(1, Test::In(vec![int(1), int(3)])), equal(2, 0)]));
        assert_eq!(P::any_of([equal(1, 3), equal(1, 3)]), equal(1, 3));
    }

    #[test]
    fn a_residual_says_the_rest() {
        let p = Predicate::any_of([
            Predicate::all_of([equal(1, 1), equal(2, 5)]),
            Predicate::all_of([equal(1, 2), equal(2, 6)]),
        ]);
        let with_first =
            |value| p.residual(&mut |leaf| (leaf.column.id == 1).then(|| leaf.test == Test::Equal(int(value))));
        assert_eq!(with_first(1), equal(2, 5));
        assert_eq!(with_first(2), equal(2, 6));
        assert!(with_first(3).is_never());
        let firsts = p.on_columns(&|c| c.id == 1);
        assert_eq!(firsts, leaf(1, Test::In(vec![int(1), int(2)])));
        assert!(Predicate::any_of([equal(1, 1), equal(2, 1)]).on_columns(&|c| c.id == 1).is_always());
        assert!(p.with_columns(&|_| None).is_always());
    }
}
