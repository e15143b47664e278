//! Whether rows of which only bounds and NULL counts are known can hold one that a [`Predicate`] takes.
//!
//! In: a predicate, the number of rows, the [`ColumnStats`] of its columns. Out: `false` only where surely no row is
//! taken; what is unknown rejects nothing. Java: `LeafFunction.test(rowCount, min, max, nullCount)`.
//!
//! Bounds of `FLOAT` and `DOUBLE` do not tell of NaN, which engines order below or above all numbers. So they decide
//! equality, and ranges that are bounded on both sides; NaN is in neither.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::evaluate::as_seen;
use super::{ColumnRef, Leaf, Predicate, Test, holds};
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::datum::Datum;
use crate::spec::simple_stats::ColumnStats;

/// What is known of some rows.
#[derive(Clone, Copy)]
pub struct RowStats<'a> {
    /// How many there are.
    pub row_count: i64,
    /// The statistics of a column, by its field id; `None` where nothing is known.
    pub columns: &'a dyn Fn(i32) -> Option<&'a ColumnStats>,
}

impl Predicate {
    /// Whether one of the rows may be taken.
    pub fn may_match(&self, rows: RowStats<'_>) -> bool {
        match self {
            Predicate::And(list) => list.iter().all(|p| p.may_match(rows)) && float_ranges_may_match(list, rows),
            Predicate::Or(list) => list.iter().any(|p| p.may_match(rows)),
            Predicate::Leaf(leaf) => {
                (rows.columns)(leaf.column.id).is_none_or(|stats| leaf.may_match(rows.row_count, stats))
            }
        }
    }
}

impl Leaf {
    fn may_match(&self, row_count: i64, stats: &ColumnStats) -> bool {
        if self.test == Test::IsNull {
            return stats.null_count != Some(0);
        }
        if stats.null_count.is_some_and(|nulls| nulls >= row_count) {
            return false;
        }
        let bounds = Bounds::new(&self.column, stats);
        match &self.test {
            Test::Equal(v) => bounds.holds(v),
            Test::In(list) => bounds.holds_one_of(list),
            Test::NotEqual(v) => bounds.only().is_none_or(|only| only != v),
            Test::NotIn(list) => bounds.only().is_none_or(|only| !holds(list, only)),
            _ if is_float(&self.column.data_type) => true,
            Test::Less(v) => bounds.min_is(v, Ordering::is_lt),
            Test::LessOrEqual(v) => bounds.min_is(v, Ordering::is_le),
            Test::Greater(v) => bounds.max_is(v, Ordering::is_gt),
            Test::GreaterOrEqual(v) => bounds.max_is(v, Ordering::is_ge),
            Test::StartsWith(prefix) => bounds.hold_prefix(prefix),
            Test::IsNull | Test::IsNotNull => true,
        }
    }
}

/// The least and the greatest value of a column as a query sees them.
struct Bounds<'s> {
    min: Option<Cow<'s, Datum>>,
    max: Option<Cow<'s, Datum>>,
    is_float: bool,
}

impl<'s> Bounds<'s> {
    fn new(column: &ColumnRef, stats: &'s ColumnStats) -> Self {
        let known = |bound: &'s Option<Datum>| bound.as_ref().filter(|b| !is_nan(b));
        Self {
            min: known(&stats.min).map(|min| least_seen(min, &column.data_type)),
            max: known(&stats.max).map(greatest_seen),
            is_float: is_float(&column.data_type),
        }
    }

    /// Whether the least value compares so; yes where it is not known.
    fn min_is(&self, literal: &Datum, wanted: fn(Ordering) -> bool) -> bool {
        self.min.as_ref().and_then(|min| min.compare(literal)).is_none_or(wanted)
    }

    fn max_is(&self, literal: &Datum, wanted: fn(Ordering) -> bool) -> bool {
        self.max.as_ref().and_then(|max| max.compare(literal)).is_none_or(wanted)
    }

    fn holds(&self, literal: &Datum) -> bool {
        self.min_is(literal, Ordering::is_le) && self.max_is(literal, Ordering::is_ge)
    }

    fn holds_one_of(&self, ascending: &[Datum]) -> bool {
        let from = ascending.partition_point(|literal| !self.min_is(literal, Ordering::is_le));
        ascending.get(from).is_some_and(|first| self.max_is(first, Ordering::is_ge))
    }

    /// The value of all rows that are not NULL, where that is known.
    fn only(&self) -> Option<&Datum> {
        let (Some(min), Some(max)) = (&self.min, &self.max) else { return None };
        (!self.is_float && min.compare(max) == Some(Ordering::Equal)).then_some(min)
    }

    fn hold_prefix(&self, prefix: &str) -> bool {
        let above =
            |min: &Datum| matches!(min, Datum::String(min) if min.as_str() > prefix && !min.starts_with(prefix));
        let below = |max: &Datum| matches!(max, Datum::String(max) if max.as_str() < prefix);
        !self.min.as_deref().is_some_and(above) && !self.max.as_deref().is_some_and(below)
    }
}

/// Ranges of one float column that are bounded on both sides.
fn float_ranges_may_match(conjuncts: &[Predicate], rows: RowStats<'_>) -> bool {
    let floats = conjuncts.iter().filter_map(|p| match p {
        Predicate::Leaf(leaf) if is_float(&leaf.column.data_type) => Some(leaf),
        _ => None,
    });
    let floats: Vec<&Leaf> = floats.collect();
    floats.iter().filter(|l| matches!(l.test, Test::Greater(_) | Test::GreaterOrEqual(_))).all(|lower| {
        let id = lower.column.id;
        let upper = floats.iter().find(|l| l.column.id == id && matches!(l.test, Test::Less(_) | Test::LessOrEqual(_)));
        let (Some(upper), Some(stats)) = (upper, (rows.columns)(id)) else { return true };
        let bounds = Bounds::new(&lower.column, stats);
        let above = match &lower.test {
            Test::Greater(v) => bounds.max_is(v, Ordering::is_gt),
            Test::GreaterOrEqual(v) => bounds.max_is(v, Ordering::is_ge),
            _ => true,
        };
        let below = match &upper.test {
            Test::Less(v) => bounds.min_is(v, Ordering::is_lt),
            Test::LessOrEqual(v) => bounds.min_is(v, Ordering::is_le),
            _ => true,
        };
        above && below
    })
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Float | TypeKind::Double)
}

fn is_nan(bound: &Datum) -> bool {
    match bound {
        Datum::Float(v) => v.is_nan(),
        Datum::Double(v) => v.is_nan(),
        _ => false,
    }
}

/// A lower bound of what a query sees: formats do not tell the zeros apart, ORC drops the trailing blanks of CHAR.
fn least_seen<'d>(min: &'d Datum, data_type: &DataType) -> Cow<'d, Datum> {
    match (min, &data_type.kind) {
        (Datum::Float(v), _) if *v == 0.0 => Cow::Owned(Datum::Float(-0.0)),
        (Datum::Double(v), _) if *v == 0.0 => Cow::Owned(Datum::Double(-0.0)),
        (Datum::String(text), TypeKind::Char(_)) => {
            let end = text.find(|c| c < ' ').unwrap_or(text.len());
            Cow::Owned(Datum::String(text.get(..end).unwrap_or_default().trim_end_matches(' ').to_owned()))
        }
        _ => as_seen(min, data_type),
    }
}

fn greatest_seen(max: &Datum) -> Cow<'_, Datum> {
    match max {
        Datum::Float(v) if *v == 0.0 => Cow::Owned(Datum::Float(0.0)),
        Datum::Double(v) if *v == 0.0 => Cow::Owned(Datum::Double(0.0)),
        _ => Cow::Borrowed(max),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::*;
    use super::*;

    fn stats(min: Option<Datum>, max: Option<Datum>, null_count: Option<i64>) -> ColumnStats {
        ColumnStats { min, max, null_count }
    }

    fn leaf(data_type: &str, test: Test) -> Predicate {
        Predicate::leaf(column(0, data_type), test)
    }

    fn may(predicate: &Predicate, stats: &ColumnStats) -> bool {
        predicate.may_match(RowStats { row_count: 10, columns: &|id| (id == 0).then_some(stats) })
    }

    #[test]
    fn bounds_decide() {
        let s = stats(Some(int(3)), Some(int(7)), Some(1));
        let list = |values: &[i32]| values.iter().copied().map(int).collect::<Vec<_>>();
        for (test, want) in [
            (Test::Equal(int(2)), false),
            (Test::Equal(int(3)), true),
            (Test::Equal(int(8)), false),
            (Test::Less(int(3)), false),
            (Test::LessOrEqual(int(3)), true),
            (Test::Greater(int(7)), false),
            (Test::GreaterOrEqual(int(7)), true),
            (Test::NotEqual(int(3)), true),
            (Test::In(list(&[1, 2, 8])), false),
            (Test::In(list(&[1, 5, 8])), true),
            (Test::In(vec![]), false),
            (Test::NotIn(list(&[3, 7])), true),
            (Test::IsNull, true),
            (Test::IsNotNull, true),
        ] {
            assert_eq!(may(&leaf("INT", test.clone()), &s), want, "{test:?}");
        }
        let only = stats(Some(int(3)), Some(int(3)), Some(0));
        assert!(!may(&leaf("INT", Test::NotEqual(int(3))), &only));
        assert!(!may(&leaf("INT", Test::NotIn(list(&[2, 3]))), &only));
        assert!(!may(&leaf("INT", Test::IsNull), &only));
    }

    #[test]
    fn what_is_unknown_rejects_nothing() {
        let nothing = ColumnStats::default();
        let low = stats(Some(int(5)), None, None);
        for test in [Test::Equal(int(9)), Test::Less(int(9)), Test::Greater(int(0)), Test::IsNull, Test::IsNotNull] {
            assert!(may(&leaf("INT", test.clone()), &nothing), "{test:?}");
            assert!(may(&leaf("INT", test.clone()), &low), "{test:?}");
        }
        assert!(!may(&leaf("INT", Test::Equal(int(4))), &low));
        let other = leaf("INT", Test::Equal(text("x")));
        assert!(may(&other, &stats(Some(int(1)), Some(int(2)), None)));
        assert!(leaf("INT", Test::Equal(int(1))).may_match(RowStats { row_count: 1, columns: &|_| None }));
    }

    #[test]
    fn of_nulls_alone_only_is_null_takes_one() {
        let nulls = stats(None, None, Some(10));
        assert!(may(&leaf("INT", Test::IsNull), &nulls));
        for test in [Test::IsNotNull, Test::NotEqual(int(1)), Test::Less(int(1)), Test::NotIn(vec![int(1)])] {
            assert!(!may(&leaf("INT", test), &nulls));
        }
    }

    #[test]
    fn prefixes() {
        let s = stats(Some(text("bb")), Some(text("cc")), None);
        for (prefix, want) in [
            ("a", false),
            ("b", true),
            ("ba", false),
            ("bb", true),
            ("c", true),
            ("cc", true),
            ("cca", false),
            ("d", false),
            ("", true),
        ] {
            assert_eq!(may(&leaf("STRING", Test::StartsWith(prefix.into())), &s), want, "{prefix}");
        }
    }

    #[test]
    fn nan_may_hide_behind_bounds_and_zeros_are_both_there() {
        let d = Datum::Double;
        let s = stats(Some(d(1.0)), Some(d(2.0)), Some(0));
        assert!(may(&leaf("DOUBLE", Test::Greater(d(5.0))), &s));
        assert!(may(&leaf("DOUBLE", Test::Less(d(0.0))), &s));
        let between = |low, high| {
            Predicate::And(vec![
                leaf("DOUBLE", Test::GreaterOrEqual(d(low))),
                leaf("DOUBLE", Test::LessOrEqual(d(high))),
            ])
        };
        assert!(!may(&between(3.0, 4.0), &s) && !may(&between(0.0, 0.5), &s) && may(&between(1.5, 4.0), &s));
        assert!(!may(&leaf("DOUBLE", Test::Equal(d(3.0))), &s));
        let one = stats(Some(d(1.0)), Some(d(1.0)), Some(0));
        assert!(may(&leaf("DOUBLE", Test::NotEqual(d(1.0))), &one));
        let zero = stats(Some(d(0.0)), Some(d(5.0)), Some(0));
        assert!(may(&leaf("DOUBLE", Test::Equal(d(-0.0))), &zero));
        let nan = stats(Some(d(f64::NAN)), Some(d(f64::NAN)), Some(0));
        assert!(may(&leaf("DOUBLE", Test::Equal(d(1.0))), &nan));
    }

    #[test]
    fn char_may_have_lost_its_blanks_and_timestamps_their_digits() {
        let blanks = stats(Some(text("ab  ")), Some(text("ab  ")), Some(0));
        assert!(may(&leaf("CHAR(4)", Test::Equal(text("ab"))), &blanks));
        assert!(!may(&leaf("STRING", Test::Equal(text("ab"))), &blanks));
        let at = |millis, nano_of_milli| Datum::Timestamp { millis, nano_of_milli };
        let s = stats(Some(at(5, 1_999)), Some(at(5, 1_999)), Some(0));
        assert!(may(&leaf("TIMESTAMP(6)", Test::Equal(at(5, 1_000))), &s));
    }

    fn stats_of(rows: &[Vec<Option<Datum>>], at: usize) -> ColumnStats {
        let values: Vec<&Datum> = rows.iter().filter_map(|r| r[at].as_ref()).collect();
        let by = |a: &&&Datum, b: &&&Datum| a.compare(b).unwrap();
        ColumnStats {
            min: values.iter().min_by(by).map(|v| (*v).clone()),
            max: values.iter().max_by(by).map(|v| (*v).clone()),
            null_count: Some((rows.len() - values.len()) as i64),
        }
    }

    proptest! {
        #[test]
        fn a_row_that_is_taken_is_never_lost(rows in rows(), predicate in predicates(), forget in 0..8u8) {
            let columns: Vec<_> = (0..3).map(|at| stats_of(&rows, at)).collect();
            let get = |id: i32| columns.get(id as usize).filter(|_| forget & (1 << id) == 0);
            let row_stats = RowStats { row_count: rows.len() as i64, columns: &get };
            let taken = rows.iter().any(|row| takes(&predicate, row));
            prop_assert!(!taken || predicate.may_match(row_stats), "{predicate}");
            let simple = Predicate::all_of([predicate.clone()]);
            prop_assert!(!taken || simple.may_match(row_stats));
        }

        #[test]
        fn simplifying_changes_nothing(rows in rows(), predicate in predicates()) {
            let same = predicate.residual(&mut |_| None);
            let weaker = predicate.on_columns(&|c| c.id == 0);
            for row in &rows {
                let want = takes(&predicate, row);
                prop_assert_eq!(takes(&same, row), want, "{} / {}", &predicate, &same);
                prop_assert!(!want || takes(&weaker, row));
                let mut decide = |leaf: &Leaf| (leaf.column.id < 2).then(|| {
                    leaf.evaluate(row[leaf.column.id as usize].as_ref()) == Some(true)
                });
                prop_assert_eq!(takes(&predicate.residual(&mut decide), row), want);
            }
        }
    }
}
