//! Which buckets can hold rows that a [`Predicate`] takes: [`BucketKey::select`].
//!
//! In: a predicate and the columns by which rows are dealt to buckets. Out: the hashes of all keys that a taken row can
//! have, where these are few and all known ([`BucketSet`]); the number of buckets comes from each manifest entry. When
//! it cannot be told, the answer is `None`, and nothing is left out. Java: `BucketSelectConverter`, `BucketSelector`.
//!
//! Keys come from `=`, `IN` and `IS NULL` on every key column, below AND and OR in any form:
//! `(a = 1 AND b = 2) OR (a = 3 AND b IN (4, 5))` is three keys.

use std::collections::{HashMap, HashSet};

use super::{Leaf, Predicate, Test};
use crate::spec::bucket::{BucketFunction, BucketHash};
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::datum::Datum;
use crate::spec::table_schema::TableSchema;

/// With more keys than this, buckets are not told.
const MAX_KEYS: usize = 1000;

/// A key: one value for each column.
type Key = Vec<Option<Datum>>;

/// The values that a key column can have, by its id.
type Values = HashMap<i32, Vec<Option<Datum>>>;

/// How a table deals rows to buckets.
#[derive(Debug, Clone)]
pub struct BucketKey {
    fields: Vec<DataField>,
    function: BucketFunction,
}

/// Hashes of all keys that are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketSet {
    hashes: Vec<BucketHash>,
}

impl BucketKey {
    /// The key of a schema; `None` where it has none, or names columns that it does not have.
    pub fn new(schema: &TableSchema, function: BucketFunction) -> Option<Self> {
        let fields = schema.bucket_key_fields();
        (!fields.is_empty() && fields.len() == schema.bucket_keys().len()).then_some(Self { fields, function })
    }

    /// Whether rows of the other key are in the same buckets: the same columns, by id, of the same types, in the same
    /// order. Names do not count.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let same = |(a, b): (&DataField, &DataField)| a.id == b.id && a.data_type.kind == b.data_type.kind;
        self.function == other.function
            && self.fields.len() == other.fields.len()
            && self.fields.iter().zip(&other.fields).all(same)
    }

    /// Whether files of a schema deal rows to buckets alike.
    pub fn is_of(&self, schema: &TableSchema) -> bool {
        let function = schema.options.get("bucket-function.type").map_or("default", String::as_str);
        let theirs = BucketFunction::parse(function).ok().and_then(|function| Self::new(schema, function));
        theirs.is_some_and(|theirs| self.agrees_with(&theirs))
    }

    /// The buckets of the rows that a predicate takes; `None` where that may be any.
    pub fn select(&self, predicate: &Predicate) -> Option<BucketSet> {
        let types = || self.fields.iter().map(|f| &f.data_type);
        let keys = self.keys(predicate, &Values::new())?;
        let hashes = keys.iter().map(|key| self.function.hash(types(), key).ok());
        Some(BucketSet { hashes: hashes.collect::<Option<_>>()? })
    }

    /// All keys of the rows that are taken, where the columns in `known` have no other values than these.
    fn keys(&self, predicate: &Predicate, known: &Values) -> Option<Vec<Key>> {
        match predicate {
            Predicate::And(list) => self.keys_of_conjuncts(list, known),
            Predicate::Leaf(_) => self.keys_of_conjuncts(std::slice::from_ref(predicate), known),
            Predicate::Or(list) => {
                let mut keys = vec![];
                for one in list {
                    keys.extend(self.keys(one, known)?);
                    if keys.len() > MAX_KEYS {
                        return None;
                    }
                }
                Some(keys)
            }
        }
    }

    fn keys_of_conjuncts(&self, list: &[Predicate], known: &Values) -> Option<Vec<Key>> {
        let mut values = known.clone();
        for predicate in list {
            if let Predicate::Leaf(leaf) = predicate
                && let Some(some) = self.values(leaf)
            {
                let both = match values.remove(&leaf.column.id) {
                    Some(others) => others.into_iter().filter(|v| some.contains(v)).collect(),
                    None => some,
                };
                values.insert(leaf.column.id, both);
            }
        }
        let each = self.fields.iter().map(|f| values.get(&f.id)).collect::<Option<Vec<_>>>();
        if let Some(keys) = each.and_then(|each| product(&each)) {
            return Some(keys);
        }
        let of_ors = list.iter().filter(|p| matches!(p, Predicate::Or(_))).filter_map(|p| self.keys(p, &values));
        of_ors.min_by_key(Vec::len)
    }

    /// The values of a key column that a leaf takes, where these can be listed as they were hashed.
    fn values(&self, leaf: &Leaf) -> Option<Vec<Option<Datum>>> {
        let field = self.fields.iter().find(|f| f.id == leaf.column.id)?;
        let literals = match &leaf.test {
            Test::IsNull => return Some(vec![None]),
            Test::Equal(one) => std::slice::from_ref(one),
            Test::In(some) if some.len() <= MAX_KEYS => some.as_slice(),
            _ => return None,
        };
        match field.data_type.kind {
            // Hashed with its milliseconds, seen without.
            TypeKind::Timestamp(0) | TypeKind::TimestampLtz(0) => None,
            TypeKind::Char(length) => {
                let spelled = literals.iter().map(|literal| with_blanks(literal, length));
                Some(spelled.collect::<Option<Vec<_>>>()?.into_iter().flatten().map(Some).collect())
            }
            _ => Some(literals.iter().cloned().map(Some).collect()),
        }
    }
}

impl BucketSet {
    /// The buckets among `total_buckets`; `None` where that is not positive: then it may be any.
    pub fn buckets(&self, total_buckets: i32) -> Option<HashSet<i32>> {
        if total_buckets <= 0 {
            return None;
        }
        self.hashes.iter().map(|hash| hash.bucket(total_buckets)).collect()
    }
}

/// Every combination; `None` where there are too many.
fn product(columns: &[&Vec<Option<Datum>>]) -> Option<Vec<Key>> {
    let combinations = columns.iter().try_fold(1usize, |all, values| all.checked_mul(values.len()));
    combinations.filter(|n| *n <= MAX_KEYS)?;
    Some(columns.iter().fold(vec![vec![]], |keys: Vec<Key>, values| {
        let extended =
            keys.iter().flat_map(|key| values.iter().map(|value| key.iter().cloned().chain([value.clone()]).collect()));
        extended.collect()
    }))
}

/// What a writer may have hashed where a reader sees this text: ORC drops the trailing blanks of CHAR.
fn with_blanks(literal: &Datum, length: u32) -> Option<Vec<Datum>> {
    let Datum::String(text) = literal else { return None };
    let missing = (length as usize).saturating_sub(text.chars().count());
    let spelled = |blanks: usize| Datum::String(format!("{text}{}", " ".repeat(blanks)));
    (missing <= MAX_KEYS).then(|| (0..=missing).map(spelled).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{self, column, int, text};
    use super::*;

    fn key(columns: &[(i32, &str)]) -> BucketKey {
        let field = |(id, t): &(i32, &str)| DataField::new(*id, format!("c{id}"), column(*id, t).data_type);
        BucketKey { fields: columns.iter().map(field).collect(), function: BucketFunction::Default }
    }

    fn ints(columns: &[i32]) -> BucketKey {
        key(&columns.iter().map(|id| (*id, "INT")).collect::<Vec<_>>())
    }

    fn leaf(id: i32, test: Test) -> Predicate {
        Predicate::leaf(column(id, "INT"), test)
    }

    fn is(id: i32, value: i32) -> Predicate {
        leaf(id, Test::Equal(int(value)))
    }

    fn keys(key: &BucketKey, predicate: &Predicate) -> Option<Vec<Vec<Option<i32>>>> {
        let number = |value: Option<Datum>| match value {
            Some(Datum::Int(v)) => Some(v),
            _ => None,
        };
        let mut keys: Vec<Vec<_>> =
            key.keys(predicate, &Values::new())?.into_iter().map(|key| key.into_iter().map(number).collect()).collect();
        keys.sort();
        Some(keys)
    }

    #[test]
    fn every_key_column_must_be_told() {
        use Predicate::{And, Or};
        let two = ints(&[1, 2]);
        let in_3_4 = || leaf(2, Test::In(vec![int(3), int(4)]));
        let pair = |a, b| vec![Some(a), Some(b)];
        for (predicate, want) in [
            (And(vec![is(1, 1), is(2, 2), is(7, 7)]), Some(vec![pair(1, 2)])),
            (And(vec![is(1, 1), in_3_4()]), Some(vec![pair(1, 3), pair(1, 4)])),
            (is(1, 1), None),
            (And(vec![is(1, 1), leaf(2, Test::Less(int(3)))]), None),
            (
                Or(vec![And(vec![is(1, 1), is(2, 2)]), And(vec![is(1, 3), is(2, 4)])]),
                Some(vec![pair(1, 2), pair(3, 4)]),
            ),
            (Or(vec![And(vec![is(1, 1), is(2, 2)]), is(1, 3)]), None),
            (
                And(vec![is(1, 1), Or(vec![in_3_4(), leaf(2, Test::IsNull)])]),
                Some(vec![vec![Some(1), None], pair(1, 3), pair(1, 4)]),
            ),
            (And(vec![is(1, 1), Or(vec![in_3_4(), is(9, 9)])]), None),
            (And(vec![is(1, 1), is(1, 2), is(2, 2)]), Some(vec![])),
            (Predicate::always(), None),
            (Predicate::never(), Some(vec![])),
        ] {
            assert_eq!(keys(&two, &predicate), want, "{predicate}");
        }
    }

    #[test]
    fn too_many_keys_are_not_told() {
        let many = |id, n| leaf(id, Test::In((0..n).map(int).collect()));
        let two = ints(&[1, 2]);
        assert_eq!(keys(&two, &Predicate::And(vec![many(1, 40), many(2, 25)])).map(|k| k.len()), Some(1000));
        assert_eq!(keys(&two, &Predicate::And(vec![many(1, 40), many(2, 26)])), None);
        assert_eq!(keys(&two, &Predicate::And(vec![many(1, 2000), many(2, 2000)])), None);
    }

    #[test]
    fn char_is_tried_with_blanks_and_cut_times_are_not_told() {
        let by_char = key(&[(1, "CHAR(4)")]);
        let ab = Predicate::leaf(column(1, "CHAR(4)"), Test::Equal(text("ab")));
        assert_eq!(by_char.select(&ab).unwrap().hashes.len(), 3);
        let at =
            Predicate::leaf(column(1, "TIMESTAMP(0)"), Test::Equal(Datum::Timestamp { millis: 0, nano_of_milli: 0 }));
        assert_eq!(key(&[(1, "TIMESTAMP(0)")]).select(&at), None);
        let array = Predicate::leaf(column(1, "ARRAY<INT>"), Test::IsNull);
        let by_mod = BucketKey { function: BucketFunction::Mod, ..key(&[(1, "ARRAY<INT>")]) };
        assert_eq!(by_mod.select(&array), None);
    }

    #[test]
    fn the_number_of_buckets_is_that_of_each_entry() {
        let set = ints(&[1]).select(&is(1, 42)).unwrap();
        // 907821237 is the hash of INT 42.
        assert_eq!(set.buckets(8), Some([907_821_237 % 8].into()));
        assert_eq!(set.buckets(3), Some([907_821_237 % 3].into()));
        assert_eq!((set.buckets(0), set.buckets(-1)), (None, None));
    }

    #[test]
    fn schemas_agree_by_ids_types_order_and_function() {
        let a = key(&[(1, "INT"), (2, "STRING")]);
        let mut renamed = a.clone();
        renamed.fields[0].name = "other".into();
        renamed.fields[0].data_type.nullable = false;
        assert!(a.agrees_with(&renamed));
        for other in [key(&[(1, "INT")]), key(&[(2, "STRING"), (1, "INT")]), key(&[(1, "BIGINT"), (2, "STRING")])] {
            assert!(!a.agrees_with(&other));
        }
        assert!(!a.agrees_with(&BucketKey { function: BucketFunction::Hive, ..a.clone() }));
    }

    proptest! {
        #[test]
        fn the_bucket_of_a_row_that_is_taken_is_selected(
            rows in testing::rows(),
            predicate in testing::predicates(),
            columns in proptest::sample::subsequence(vec![0usize, 1, 2], 1..=2),
        ) {
            let key = key(&columns.iter().map(|at| (*at as i32, testing::TYPES[*at])).collect::<Vec<_>>());
            if let Some(set) = key.select(&predicate) {
                let buckets = set.buckets(7).unwrap();
                for row in rows.iter().filter(|row| testing::takes(&predicate, row)) {
                    let values: Vec<_> = columns.iter().map(|at| row[*at].clone()).collect();
                    let hash = key.function.hash(key.fields.iter().map(|f| &f.data_type), &values).unwrap();
                    prop_assert!(buckets.contains(&hash.bucket(7).unwrap()), "{}", predicate);
                }
            }
        }
    }
}
