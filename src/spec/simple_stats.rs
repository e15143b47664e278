//! Bounds and NULL counts of columns, as manifests keep them. Java: `SimpleStats`, `SimpleStatsConverter`.

/// Serialized bounds (each a `BinaryRow` with its arity) and NULL counts; which columns they are of is said elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleStats {
    /// The smallest values.
    pub min_values: Vec<u8>,
    /// The largest values.
    pub max_values: Vec<u8>,
    /// How many NULLs, `None` where unknown; the list as a whole may lack in the file and is empty then.
    pub null_counts: Vec<Option<i64>>,
}
