//! What a leaf asks of an index: [`Question`].
//!
//! In: a test, whose literals are as a query sees them, and the type of the column in the file. Out: the same in
//! [`Key`]s, as an index stores values; every row that passes the test is in the answer. Indexes hold timestamps in
//! milliseconds up to 3 digits, in microseconds beyond, whatever the unit that a query sees; and what a NaN is less than
//! is not the same for all engines.

use std::ops::Bound;

use arrow::datatypes::TimeUnit;

use super::key::Key;
use crate::predicate::Test;
use crate::spec::arrow_type::timestamp_unit;
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::datum::Datum;

/// Keys between two bounds.
pub(super) type KeyRange = (Bound<Key>, Bound<Key>);

/// What is asked of the rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Question {
    /// Which have one of these values.
    OneOf(Vec<Key>),
    /// Which have a value, none of these.
    NoneOf(Vec<Key>),
    /// Which have a value in one of these ranges.
    Within(Vec<KeyRange>),
    /// Which are NULL.
    IsNull,
    /// Which have a value.
    IsNotNull,
}

/// How what a query sees of a value lies to what an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// It is the same.
    Same,
    /// A query sees only whole seconds of the index's milliseconds.
    Coarser,
    /// A query sees nanoseconds, the index holds microseconds.
    Finer,
}

impl Unit {
    fn of(data_type: &DataType) -> Self {
        match data_type.kind {
            TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => match timestamp_unit(p) {
                TimeUnit::Second => Unit::Coarser,
                TimeUnit::Millisecond | TimeUnit::Microsecond => Unit::Same,
                TimeUnit::Nanosecond => Unit::Finer,
            },
            _ => Unit::Same,
        }
    }
}

impl Question {
    /// What a test asks of a column of a type; `None` where an index cannot be asked.
    pub fn new(test: &Test, data_type: &DataType) -> Option<Self> {
        let unit = Unit::of(data_type);
        let key = |literal: &Datum| Key::of(literal, data_type);
        match test {
            Test::IsNull => Some(Question::IsNull),
            Test::IsNotNull => Some(Question::IsNotNull),
            Test::Equal(literal) => one_of(std::slice::from_ref(literal), data_type, unit),
            Test::In(literals) => one_of(literals, data_type, unit),
            Test::NotEqual(_) | Test::NotIn(_) if unit != Unit::Same => None,
            Test::NotEqual(literal) => Some(Question::NoneOf(vec![key(literal)?])),
            Test::NotIn(literals) => Some(Question::NoneOf(literals.iter().map(key).collect::<Option<_>>()?)),
            Test::Less(literal) => Some(below(key(literal)?, false, unit)),
            Test::LessOrEqual(literal) => Some(below(key(literal)?, true, unit)),
            Test::Greater(literal) => Some(above(key(literal)?, false, unit)),
            Test::GreaterOrEqual(literal) => Some(above(key(literal)?, true, unit)),
            Test::StartsWith(prefix) => match data_type.kind {
                TypeKind::Char(_) | TypeKind::VarChar(_) => Some(starting_with(prefix.as_bytes())),
                _ => None,
            },
        }
    }
}

/// Both zeros are one value for some engines.
fn one_of(literals: &[Datum], data_type: &DataType, unit: Unit) -> Option<Question> {
    let mut keys = vec![];
    for literal in literals {
        match Key::of(literal, data_type)? {
            Key::Float(0.0) => keys.extend([Key::Float(-0.0), Key::Float(0.0)]),
            Key::Double(0.0) => keys.extend([Key::Double(-0.0), Key::Double(0.0)]),
            key => keys.push(key),
        }
    }
    if unit == Unit::Coarser {
        let second = |key: Key| (Bound::Included(key.clone()), Bound::Included(end_of_second(key)));
        return Some(Question::Within(keys.into_iter().map(second).collect()));
    }
    Some(Question::OneOf(keys))
}

/// The last millisecond of the second that a query sees.
fn end_of_second(key: Key) -> Key {
    match key {
        Key::Long(millis) => Key::Long(millis.saturating_add(999)),
        other => other,
    }
}

fn below(key: Key, inclusive: bool, unit: Unit) -> Question {
    let mut ranges = vec![];
    // NaN is below all numbers where it is negative.
    match &key {
        Key::Float(_) => ranges.push((Bound::Included(Key::Float(f32::NAN)), Bound::Unbounded)),
        Key::Double(_) => ranges.push((Bound::Included(Key::Double(f64::NAN)), Bound::Unbounded)),
        _ => {}
    }
    let end = match (key, unit) {
        (Key::Float(0.0), _) if inclusive => Bound::Included(Key::Float(0.0)),
        (Key::Double(0.0), _) if inclusive => Bound::Included(Key::Double(0.0)),
        (key, Unit::Coarser) if inclusive => Bound::Included(end_of_second(key)),
        (key, Unit::Finer) => Bound::Included(key),
        (key, _) if inclusive => Bound::Included(key),
        (key, _) => Bound::Excluded(key),
    };
    ranges.push((Bound::Unbounded, end));
    Question::Within(ranges)
}

fn above(key: Key, inclusive: bool, unit: Unit) -> Question {
    let start = match (key, unit) {
        (Key::Float(0.0), _) if inclusive => Bound::Included(Key::Float(-0.0)),
        (Key::Double(0.0), _) if inclusive => Bound::Included(Key::Double(-0.0)),
        (key, Unit::Coarser) if !inclusive => Bound::Excluded(end_of_second(key)),
        (key, Unit::Finer) => Bound::Included(key),
        (key, _) if inclusive => Bound::Included(key),
        (key, _) => Bound::Excluded(key),
    };
    Question::Within(vec![(start, Bound::Unbounded)])
}

/// From the prefix to the least text that is above all that begin with it.
fn starting_with(prefix: &[u8]) -> Question {
    let mut end = prefix.to_vec();
    while end.last() == Some(&u8::MAX) {
        end.pop();
    }
    let end = match end.last_mut() {
        Some(last) => {
            *last += 1;
            Bound::Excluded(Key::Bytes(end))
        }
        None => Bound::Unbounded,
    };
    Question::Within(vec![(Bound::Included(Key::Bytes(prefix.to_vec())), end)])
}
