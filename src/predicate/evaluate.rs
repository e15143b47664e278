//! Evaluates a [`Predicate`] on values.
//!
//! In: the values of a row. Out: TRUE, FALSE or UNKNOWN, as SQL has it; a row is taken where it is TRUE. Where engines
//! disagree about NaN, the answer is TRUE: it may be taken, and whoever owns the filter looks again.

use std::borrow::Cow;
use std::cmp::Ordering;

use arrow::datatypes::TimeUnit;

use super::{Leaf, Predicate, Test, holds};
use crate::spec::arrow_type::timestamp_unit;
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::datum::Datum;

impl Predicate {
    /// What it says of a row; `None` is UNKNOWN. `value` gives the value of a column, `None` for NULL.
    pub fn evaluate<'v>(&self, value: &dyn Fn(&Leaf) -> Option<&'v Datum>) -> Option<bool> {
        match self {
            Predicate::And(list) => decided(list, value, false),
            Predicate::Or(list) => decided(list, value, true),
            Predicate::Leaf(leaf) => leaf.evaluate(value(leaf)),
        }
    }
}

/// `by` if one of the list says so; the opposite if all say that.
fn decided<'v>(list: &[Predicate], value: &dyn Fn(&Leaf) -> Option<&'v Datum>, by: bool) -> Option<bool> {
    let mut all = Some(!by);
    for predicate in list {
        match predicate.evaluate(value) {
            Some(said) if said == by => return Some(by),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

impl Leaf {
    /// What it says of a value of its column; `None` is UNKNOWN.
    pub fn evaluate(&self, value: Option<&Datum>) -> Option<bool> {
        let Some(value) = value else {
            return match self.test {
                Test::IsNull => Some(true),
                Test::IsNotNull => Some(false),
                _ => None,
            };
        };
        self.test.on_value(&as_seen(value, &self.column.data_type))
    }
}

impl Test {
    fn on_value(&self, value: &Datum) -> Option<bool> {
        let nan = is_nan(value);
        // A literal of another kind cannot be compared, which rejects nothing.
        let ordered =
            |literal: &Datum, wanted: fn(Ordering) -> bool| Some(nan || value.compare(literal).is_none_or(wanted));
        match self {
            Test::Equal(literal) => Some(value.compare(literal).is_none_or(Ordering::is_eq)),
            Test::NotEqual(literal) => Some(value.compare(literal).is_none_or(Ordering::is_ne)),
            Test::Less(literal) => ordered(literal, Ordering::is_lt),
            Test::LessOrEqual(literal) => ordered(literal, Ordering::is_le),
            Test::Greater(literal) => ordered(literal, Ordering::is_gt),
            Test::GreaterOrEqual(literal) => ordered(literal, Ordering::is_ge),
            Test::In(list) => Some(holds(list, value) || list.first().is_some_and(|l| l.compare(value).is_none())),
            Test::NotIn(list) => Some(!holds(list, value)),
            Test::IsNull => Some(false),
            Test::IsNotNull => Some(true),
            Test::StartsWith(prefix) => Some(match value {
                Datum::String(text) => text.starts_with(prefix.as_str()),
                _ => true,
            }),
        }
    }
}

fn is_nan(value: &Datum) -> bool {
    match value {
        Datum::Float(v) => v.is_nan(),
        Datum::Double(v) => v.is_nan(),
        _ => false,
    }
}

/// The value as a query sees it: of a timestamp only what the Arrow unit of its type holds. Writers may have kept more.
pub fn as_seen<'d>(value: &'d Datum, data_type: &DataType) -> Cow<'d, Datum> {
    let (Datum::Timestamp { millis, nano_of_milli }, TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p)) =
        (value, &data_type.kind)
    else {
        return Cow::Borrowed(value);
    };
    let (millis, nano_of_milli) = match timestamp_unit(*p) {
        TimeUnit::Second => (millis - millis.rem_euclid(1000), 0),
        TimeUnit::Millisecond => (*millis, 0),
        TimeUnit::Microsecond => (*millis, nano_of_milli - nano_of_milli.rem_euclid(1000)),
        TimeUnit::Nanosecond => return Cow::Borrowed(value),
    };
    Cow::Owned(Datum::Timestamp { millis, nano_of_milli })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{column, int};
    use super::*;

    fn leaf(data_type: &str, test: Test) -> Leaf {
        Leaf { column: column(1, data_type), test }
    }

    #[test]
    fn null_is_unknown_and_takes_no_row() {
        for test in [Test::Equal(int(1)), Test::NotEqual(int(1)), Test::NotIn(vec![int(1)]), Test::Less(int(1))] {
            assert_eq!(leaf("INT", test).evaluate(None), None);
        }
        assert_eq!(leaf("INT", Test::IsNull).evaluate(None), Some(true));
        assert_eq!(leaf("INT", Test::IsNotNull).evaluate(None), Some(false));
        let one = |test| Predicate::Leaf(leaf("INT", test));
        let null = |p: Predicate| p.evaluate(&|_| None);
        assert_eq!(null(Predicate::Or(vec![one(Test::Equal(int(1))), one(Test::IsNull)])), Some(true));
        assert_eq!(null(Predicate::And(vec![one(Test::Equal(int(1))), one(Test::IsNotNull)])), Some(false));
        assert_eq!(null(Predicate::And(vec![one(Test::Equal(int(1))), one(Test::IsNull)])), None);
        assert_eq!(null(Predicate::Or(vec![one(Test::Equal(int(1))), one(Test::IsNotNull)])), None);
        assert_eq!((null(Predicate::always()), null(Predicate::never())), (Some(true), Some(false)));
    }

    #[test]
    fn values_are_compared() {
        let list = || vec![int(1), int(5), int(9)];
        for (test, yes, no) in [
            (Test::Equal(int(5)), vec![5], vec![4, 6]),
            (Test::NotEqual(int(5)), vec![4, 6], vec![5]),
            (Test::Less(int(5)), vec![4], vec![5, 6]),
            (Test::LessOrEqual(int(5)), vec![4, 5], vec![6]),
            (Test::Greater(int(5)), vec![6], vec![5, 4]),
            (Test::GreaterOrEqual(int(5)), vec![6, 5], vec![4]),
            (Test::In(list()), vec![1, 5, 9], vec![0, 2, 10]),
            (Test::NotIn(list()), vec![0, 2, 10], vec![1, 5, 9]),
            (Test::In(vec![]), vec![], vec![1]),
            (Test::IsNotNull, vec![1], vec![]),
            (Test::IsNull, vec![], vec![1]),
        ] {
            for v in yes {
                assert_eq!(leaf("INT", test.clone()).evaluate(Some(&int(v))), Some(true), "{test:?} {v}");
            }
            for v in no {
                assert_eq!(leaf("INT", test.clone()).evaluate(Some(&int(v))), Some(false), "{test:?} {v}");
            }
        }
    }

    #[test]
    fn nan_may_be_on_either_side() {
        let nan = Datum::Double(f64::NAN);
        let at = |test| leaf("DOUBLE", test).evaluate(Some(&nan));
        let one = Datum::Double(1.0);
        assert_eq!(at(Test::Less(one.clone())), Some(true));
        assert_eq!(at(Test::GreaterOrEqual(one.clone())), Some(true));
        assert_eq!(at(Test::Equal(one.clone())), Some(false));
        assert_eq!(at(Test::NotEqual(one)), Some(true));
    }

    #[test]
    fn a_timestamp_is_compared_in_the_unit_that_is_seen() {
        let kept = Datum::Timestamp { millis: -1, nano_of_milli: 999_999 };
        let seen = |data_type, millis, nano_of_milli| {
            let test = Test::Equal(Datum::Timestamp { millis, nano_of_milli });
            leaf(data_type, test).evaluate(Some(&kept)) == Some(true)
        };
        assert!(seen("TIMESTAMP(0)", -1000, 0));
        assert!(seen("TIMESTAMP(3)", -1, 0));
        assert!(seen("TIMESTAMP(6)", -1, 999_000));
        assert!(seen("TIMESTAMP(9)", -1, 999_999) && !seen("TIMESTAMP(9)", -1, 999_000));
    }
}
