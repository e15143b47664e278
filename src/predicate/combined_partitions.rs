//! Partition columns whose values are combined: [`CombinedPartitions`].
//!
//! Where a partition column is not in the primary key and the engine combines versions, merging combines its values as
//! those of any other column: a sum of two versions is twice the partition's value, a retract makes NULL of it. Such a
//! column is not the same in all rows of a partition. In: a table's schema and options. Out: which columns these are, and
//! what of a predicate may still be asked of partitions. Java: `PartialUpdateMergeFunction`, `AggregateMergeFunction`, which
//! know nothing of partitions.

use std::collections::HashMap;

use crate::options::TableOptions;
use crate::options::enums::MergeEngine;
use crate::predicate::{Predicate, Test};
use crate::spec::data_type::DataField;
use crate::spec::table_schema::TableSchema;

/// Aggregate functions that make of equal values the same value.
const IDEMPOTENT: [&str; 9] = [
    "last_non_null_value",
    "last_value",
    "first_non_null_value",
    "first_not_null_value",
    "first_value",
    "max",
    "min",
    "bool_and",
    "bool_or",
];

/// Partition columns whose values are combined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CombinedPartitions {
    /// By the columns' ids.
    columns: HashMap<i32, Combined>,
}

#[derive(Debug, Clone, PartialEq)]
struct Combined {
    name: String,
    /// Whether all that comes of a partition's value is itself or NULL.
    stays: bool,
}

impl CombinedPartitions {
    /// Those of a table; none in a table without primary key, or whose engine picks one of the versions.
    pub fn new(schema: &TableSchema, options: &TableOptions) -> Self {
        let combines = matches!(options.merge_engine, MergeEngine::Aggregation | MergeEngine::PartialUpdate);
        if schema.primary_keys.is_empty() || !combines {
            return Self::default();
        }
        let outside = schema.partition_fields().into_iter().filter(|f| !schema.primary_keys.contains(&f.name));
        let combined = |field: DataField| {
            let stays = options.aggregate_function(&field.name).is_none_or(|f| IDEMPOTENT.contains(&f));
            (field.id, Combined { name: field.name, stays })
        };
        Self { columns: outside.map(combined).collect() }
    }

    /// Whether what is true of these is true of those of another branch, which has the same names.
    pub fn cover(&self, other: &Self) -> bool {
        let covers = |own: &Combined, other: &Combined| own.name == other.name && (other.stays || !own.stays);
        other.columns.values().all(|other| self.columns.values().any(|own| covers(own, other)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether a column is one of them.
    pub fn contains(&self, id: i32) -> bool {
        self.columns.contains_key(&id)
    }

    /// What of a predicate may be decided with the values of partitions: the conjuncts that take no row in which such a
    /// column is another than its partition's.
    pub fn of_partitions(&self, predicate: Predicate) -> Predicate {
        if self.is_empty() {
            return predicate;
        }
        let decided = |conjunct: &&Predicate| {
            let mut columns = conjunct.column_ids().into_iter().filter_map(|id| Some((id, self.columns.get(&id)?)));
            columns.all(|(id, combined)| combined.stays && takes_no_null(conjunct, id))
        };
        Predicate::all_of(predicate.conjuncts().into_iter().filter(decided).cloned())
    }
}

/// Whether a predicate takes no row in which a column is NULL.
fn takes_no_null(predicate: &Predicate, id: i32) -> bool {
    match predicate {
        Predicate::And(all) => all.iter().any(|p| takes_no_null(p, id)),
        Predicate::Or(any) => any.iter().all(|p| takes_no_null(p, id)),
        Predicate::Leaf(leaf) => leaf.column.id == id && leaf.test != Test::IsNull,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::predicate::testing::{column, int};

    fn combined(partition: &str, options: &[(&str, &str)]) -> CombinedPartitions {
        let schema = format!(
            r#"{{"version":3,"id":0,"fields":[{{"id":0,"name":"k","type":"INT NOT NULL"}},{{"id":1,"name":"p","type":"INT"}},
            {{"id":2,"name":"q","type":"INT"}}],"partitionKeys":[{partition}],"primaryKeys":["k"],"options":{{}}}}"#
        );
        let schema = TableSchema::from_json(schema.as_bytes()).unwrap();
        let options: BTreeMap<_, _> = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        CombinedPartitions::new(&schema, &TableOptions::effective(&options, &BTreeMap::new()).unwrap())
    }

    #[test]
    fn partition_columns_outside_the_key_are_combined_by_engines_that_combine() {
        let aggregation = ("merge-engine", "aggregation");
        for (options, want) in [
            (vec![], vec![]),
            (vec![("merge-engine", "first-row")], vec![]),
            (vec![aggregation], vec![(1, true), (2, true)]),
            (vec![("merge-engine", "partial-update")], vec![(1, true), (2, true)]),
            (vec![aggregation, ("fields.p.aggregate-function", "sum")], vec![(1, false), (2, true)]),
            (
                vec![aggregation, ("fields.default-aggregate-function", "sum"), ("fields.q.aggregate-function", "max")],
                vec![(1, false), (2, true)],
            ),
        ] {
            let columns = combined(r#""p","q""#, &options).columns;
            let stays: HashMap<_, _> = columns.into_iter().map(|(id, combined)| (id, combined.stays)).collect();
            assert_eq!(stays, want.into_iter().collect(), "{options:?}");
        }
        assert!(combined(r#""k""#, &[aggregation]).is_empty());
    }

    #[test]
    fn another_branch_must_not_combine_more() {
        let aggregation = ("merge-engine", "aggregation");
        let summed = ("fields.p.aggregate-function", "sum");
        let none = CombinedPartitions::default();
        let (p, q) = (combined(r#""p""#, &[aggregation]), combined(r#""q""#, &[aggregation]));
        let (both, sum) = (combined(r#""p","q""#, &[aggregation]), combined(r#""p""#, &[aggregation, summed]));
        for (own, other, want) in [
            (&none, &none, true),
            (&p, &none, true),
            (&none, &p, false),
            (&p, &q, false),
            (&p, &both, false),
            (&both, &q, true),
            (&p, &sum, false),
            (&sum, &p, true),
        ] {
            assert_eq!(own.cover(other), want, "{own:?} {other:?}");
        }
    }

    #[test]
    fn partitions_decide_what_takes_no_other_value() {
        let combined =
            combined(r#""p","q""#, &[("merge-engine", "aggregation"), ("fields.q.aggregate-function", "sum")]);
        let leaf = |id, test| Predicate::leaf(column(id, "INT"), test);
        let (k, p, q) = (leaf(0, Test::Less(int(5))), leaf(1, Test::NotEqual(int(1))), leaf(2, Test::Equal(int(1))));
        let p_is_null = leaf(1, Test::IsNull);
        let both = Predicate::any_of([p.clone(), k.clone()]);
        let each = Predicate::any_of([p.clone(), Predicate::all_of([k.clone(), leaf(1, Test::Equal(int(1)))])]);
        for (predicate, want) in [
            (k.clone(), k.clone()),
            (p.clone(), p.clone()),
            (q.clone(), Predicate::always()),
            (p_is_null.clone(), Predicate::always()),
            (leaf(1, Test::IsNotNull), leaf(1, Test::IsNotNull)),
            (both, Predicate::always()),
            (each.clone(), each),
            (Predicate::any_of([p.clone(), q.clone()]), Predicate::always()),
            (Predicate::all_of([k.clone(), p.clone(), q, p_is_null]), Predicate::all_of([k, p])),
        ] {
            assert_eq!(combined.of_partitions(predicate.clone()), want, "{predicate}");
        }
    }
}
