//! What a query says of rows, as far as metadata can use it: [`Predicate`].
//!
//! A predicate speaks of columns by their field ids and of values as [`Datum`]s of the column's own type; it knows
//! nothing of SQL. It may say less than the query's filter, never more: every row that the filter takes, the predicate
//! takes too. It is used to leave out manifests, files, row groups and rows, and a row that it takes is looked at again
//! by whoever owns the filter.
//!
//! There is no NOT: who makes a predicate turns it inwards (`NOT a < 5` is `a >= 5`), which is right in three-valued
//! logic, since NULL makes either UNKNOWN. Pure code: no I/O, no `async`.

pub mod bucket;
pub mod combined_partitions;
pub mod evaluate;
pub mod file_index;
pub mod file_stats;
pub mod literal;
pub mod simplify;
pub mod stats;

#[cfg(test)]
pub(crate) mod testing;

use std::cmp::Ordering;
use std::fmt;

use crate::spec::data_type::DataType;
use crate::spec::datum::Datum;

/// A condition on the columns of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// All of them; of none, it is true.
    And(Vec<Predicate>),
    /// At least one of them; of none, it is false.
    Or(Vec<Predicate>),
    /// One column compared with literals.
    Leaf(Leaf),
}

/// One column compared with literals.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The column.
    pub column: ColumnRef,
    /// How it is compared, and with what.
    pub test: Test,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    /// The field id.
    pub id: i32,
    /// The name in the table's schema, for messages.
    pub name: String,
    /// The type in the table's schema; literals are of this type.
    pub data_type: DataType,
}

/// What a leaf asks of its column. A comparison with NULL is UNKNOWN, which takes no row.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// `=`
    Equal(Datum),
    /// `<>`
    NotEqual(Datum),
    /// `<`
    Less(Datum),
    /// `<=`
    LessOrEqual(Datum),
    /// `>`
    Greater(Datum),
    /// `>=`
    GreaterOrEqual(Datum),
    /// `IN`, of literals that are not NULL, ascending and all different; of none, it takes no row. See [`Test::is_in`].
    In(Vec<Datum>),
    /// `NOT IN`, of literals that are not NULL, ascending and all different. See [`Test::is_not_in`].
    NotIn(Vec<Datum>),
    /// `IS NULL`
    IsNull,
    /// `IS NOT NULL`
    IsNotNull,
    /// `LIKE 'prefix%'`, on text.
    StartsWith(String),
}

impl Test {
    /// `IN`, with the literals put in order; `=` where there is one.
    pub fn is_in(literals: Vec<Datum>) -> Self {
        let mut literals = in_order(literals);
        match (literals.len(), literals.pop()) {
            (1, Some(only)) => Test::Equal(only),
            (_, last) => Test::In(literals.into_iter().chain(last).collect()),
        }
    }

    /// `NOT IN`, with the literals put in order; `<>` where there is one.
    pub fn is_not_in(literals: Vec<Datum>) -> Self {
        let mut literals = in_order(literals);
        match (literals.len(), literals.pop()) {
            (1, Some(only)) => Test::NotEqual(only),
            (_, last) => Test::NotIn(literals.into_iter().chain(last).collect()),
        }
    }
}

/// Ascending, each once.
fn in_order(mut literals: Vec<Datum>) -> Vec<Datum> {
    literals.sort_by(|a, b| a.compare(b).unwrap_or(Ordering::Equal));
    literals.dedup_by(|a, b| a.compare(b) == Some(Ordering::Equal));
    literals
}

/// Whether an ascending list holds a value.
fn holds(literals: &[Datum], value: &Datum) -> bool {
    literals.binary_search_by(|literal| literal.compare(value).unwrap_or(Ordering::Less)).is_ok()
}

impl Predicate {
    /// Takes every row.
    pub fn always() -> Self {
        Predicate::And(vec![])
    }

    /// Takes no row.
    pub fn never() -> Self {
        Predicate::Or(vec![])
    }

    /// A leaf.
    pub fn leaf(column: ColumnRef, test: Test) -> Self {
        Predicate::Leaf(Leaf { column, test })
    }

    /// Whether it surely takes every row.
    pub fn is_always(&self) -> bool {
        matches!(self, Predicate::And(all) if all.iter().all(Predicate::is_always))
    }

    /// Whether it surely takes no row.
    pub fn is_never(&self) -> bool {
        match self {
            Predicate::Or(any) => any.iter().all(Predicate::is_never),
            Predicate::Leaf(leaf) => matches!(&leaf.test, Test::In(list) if list.is_empty()),
            Predicate::And(_) => false,
        }
    }

    /// The ids of all columns that it speaks of.
    pub fn column_ids(&self) -> Vec<i32> {
        match self {
            Predicate::And(list) | Predicate::Or(list) => list.iter().flat_map(Predicate::column_ids).collect(),
            Predicate::Leaf(leaf) => vec![leaf.column.id],
        }
    }

    /// Whether one of its leaves is such.
    pub fn any_leaf(&self, is: &dyn Fn(&Leaf) -> bool) -> bool {
        match self {
            Predicate::And(list) | Predicate::Or(list) => list.iter().any(|p| p.any_leaf(is)),
            Predicate::Leaf(leaf) => is(leaf),
        }
    }

    /// The conjuncts at the top: predicates that must all hold.
    pub fn conjuncts(&self) -> Vec<&Predicate> {
        match self {
            Predicate::And(list) => list.iter().flat_map(Predicate::conjuncts).collect(),
            other => vec![other],
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, list: &[Predicate], word: &str, empty: &str| {
            if list.is_empty() {
                return f.write_str(empty);
            }
            f.write_str("(")?;
            for (i, p) in list.iter().enumerate() {
                write!(f, "{}{p}", if i == 0 { "" } else { word })?;
            }
            f.write_str(")")
        };
        match self {
            Predicate::And(all) => list(f, all, " AND ", "true"),
            Predicate::Or(any) => list(f, any, " OR ", "false"),
            Predicate::Leaf(leaf) => write!(f, "{} {:?}", leaf.column.name, leaf.test),
        }
    }
}
