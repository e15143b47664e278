//! Bounds and NULL counts of columns, as manifests keep them. Java: `SimpleStats`, `SimpleStatsConverter`.
//!
//! In: the bytes of a [`SimpleStats`] and the type of a column. Out: [`ColumnStats`], one column at a time, so that
//! planning decodes only the columns that a predicate names. Which column stands where is said by
//! [`value_stats_columns`] and [`value_stats_position`]; partition statistics are of the partition columns, key
//! statistics of the trimmed primary key. What is unknown is `None`; bounds of text may be cut and are no values.

use super::binary_row::BinaryRow;
use super::data_file::DataFileMeta;
use super::data_type::{DataField, DataType, TypeKind};
use super::datum::Datum;
use crate::error::{Error, Result};

/// The column that row tracking adds to rows: their id.
pub const ROW_ID: &str = "_ROW_ID";

/// The column of sequence numbers that a compacted file of a table with row tracking, or a key-value file, has.
pub const SEQUENCE_NUMBER: &str = "_SEQUENCE_NUMBER";

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

/// What is known of one column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnStats {
    /// No value is smaller.
    pub min: Option<Datum>,
    /// No value is larger.
    pub max: Option<Datum>,
    /// How many rows are NULL.
    pub null_count: Option<i64>,
}

impl SimpleStats {
    /// The statistics of the column at `position`, read as its type in the schema of the file.
    pub fn column(&self, position: usize, data_type: &DataType) -> Result<ColumnStats> {
        let (min, max) = (BinaryRow::from_serialized(&self.min_values)?, BinaryRow::from_serialized(&self.max_values)?);
        self.column_of(&min, &max, position, data_type)
    }

    /// The same; `min` and `max` are the rows of bounds.
    pub fn column_of(
        &self,
        min: &BinaryRow<'_>,
        max: &BinaryRow<'_>,
        position: usize,
        data_type: &DataType,
    ) -> Result<ColumnStats> {
        Ok(ColumnStats {
            min: bound(min, position, data_type)?,
            max: bound(max, position, data_type)?.filter(is_trusted_max),
            null_count: self.null_counts.get(position).copied().flatten().filter(|n| *n >= 0),
        })
    }

    /// The statistics of all columns, which have the given types.
    pub fn decode<'t>(&self, types: impl IntoIterator<Item = &'t DataType>) -> Result<Vec<ColumnStats>> {
        let columns = types.into_iter().enumerate().map(|(i, t)| self.column(i, t)).collect::<Result<Vec<_>>>()?;
        for row in [&self.min_values, &self.max_values] {
            let arity = BinaryRow::from_serialized(row)?.arity();
            if arity != 0 && arity != columns.len() {
                return Err(Error::corrupt(format!("bounds of {arity} columns instead of {}", columns.len())));
            }
        }
        Ok(columns)
    }
}

/// A row without fields has no bounds at all.
fn bound(row: &BinaryRow<'_>, position: usize, data_type: &DataType) -> Result<Option<Datum>> {
    if row.arity() == 0 { Ok(None) } else { row.get(position, data_type) }
}

/// Java cuts long text and raises its last character; where that makes half a surrogate pair, it writes a `?`, which
/// is below the values.
fn is_trusted_max(max: &Datum) -> bool {
    !matches!(max, Datum::String(text) if text.ends_with('?'))
}

/// A column that a file has statistics of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatsColumn<'a> {
    /// A column of the file's schema.
    Field(&'a DataField),
    /// [`ROW_ID`] or [`SEQUENCE_NUMBER`], a `BIGINT`.
    System(&'a str),
}

impl StatsColumn<'_> {
    /// The name of the column.
    pub fn name(&self) -> &str {
        match self {
            StatsColumn::Field(field) => &field.name,
            StatsColumn::System(name) => name,
        }
    }

    /// The type of the column.
    pub fn data_type(&self) -> DataType {
        match self {
            StatsColumn::Field(field) => field.data_type.clone(),
            StatsColumn::System(_) => TypeKind::BigInt.nullable(),
        }
    }
}

/// The columns of a file's `value_stats`, in their order: the listed ones, else the written ones, else all of the
/// schema that the file was written with.
pub fn value_stats_columns<'a>(file: &'a DataFileMeta, schema: &'a [DataField]) -> Result<Vec<StatsColumn<'a>>> {
    let Some(names) = listed(file) else {
        return Ok(schema.iter().map(StatsColumn::Field).collect());
    };
    let column = |name: &'a String| {
        if let Some(field) = schema.iter().find(|f| f.name == *name) {
            return Ok(StatsColumn::Field(field));
        }
        if name == ROW_ID || name == SEQUENCE_NUMBER {
            return Ok(StatsColumn::System(name));
        }
        Err(Error::corrupt(format!("statistics of '{name}', which is no column of the schema"))
            .in_file(&file.file_name))
    };
    names.iter().map(column).collect()
}

/// The position of a column, by its name in the file's schema, in the file's `value_stats`; `None` where there are no
/// statistics of it.
pub fn value_stats_position(file: &DataFileMeta, schema: &[DataField], column: &str) -> Option<usize> {
    match listed(file) {
        Some(names) => names.iter().position(|name| name == column),
        None => schema.iter().position(|field| field.name == column),
    }
}

fn listed(file: &DataFileMeta) -> Option<&Vec<String>> {
    file.value_stats_cols.as_ref().or(file.write_cols.as_ref())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::binary_row::serialize_row;
    use super::*;

    fn stats(types: &[DataType], min: &[Option<Datum>], max: &[Option<Datum>]) -> SimpleStats {
        SimpleStats {
            min_values: serialize_row(types, min).unwrap(),
            max_values: serialize_row(types, max).unwrap(),
            null_counts: vec![Some(3), None],
        }
    }

    fn text(value: &str) -> Option<Datum> {
        Some(Datum::String(value.into()))
    }

    #[test]
    fn columns_decode_one_by_one_or_together() {
        let types = [TypeKind::Int.nullable(), TypeKind::string().nullable()];
        let s = stats(&types, &[Some(Datum::Int(1)), text("a")], &[None, text("b")]);
        let first = ColumnStats { min: Some(Datum::Int(1)), max: None, null_count: Some(3) };
        let second = ColumnStats { min: text("a"), max: text("b"), null_count: None };
        assert_eq!(s.column(1, &types[1]).unwrap(), second);
        assert_eq!(s.decode(&types).unwrap(), [first, second]);
        assert!(s.decode(&types[..1]).is_err());
        assert!(s.column(2, &types[0]).is_err());
    }

    #[test]
    fn no_statistics_know_nothing() {
        let empty = serialize_row([], &[]).unwrap();
        let dropped = SimpleStats { min_values: empty.clone(), max_values: empty, null_counts: vec![] };
        for s in [dropped, SimpleStats::default()] {
            assert_eq!(s.column(5, &TypeKind::Int.nullable()).unwrap(), ColumnStats::default());
        }
    }

    #[test]
    fn a_maximum_that_may_be_half_a_pair_is_not_trusted() {
        let types = [TypeKind::string().nullable()];
        let s = stats(&types, &[text("what?")], &[text("fifteen letters?")]);
        let got = s.column(0, &types[0]).unwrap();
        assert_eq!((got.min, got.max), (text("what?"), None));
    }

    #[test]
    fn the_list_of_columns_wins_over_the_written_ones() {
        let schema = ["a", "b", "c"].map(|n| DataField::new(0, n, TypeKind::Int.nullable()));
        let names = |list: &[&str]| Some(list.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        for (stats_cols, write_cols, want) in [
            (None, None, vec!["a", "b", "c"]),
            (None, names(&["c", "_ROW_ID", "a"]), vec!["c", "_ROW_ID", "a"]),
            (names(&["b"]), names(&["c", "b"]), vec!["b"]),
            (names(&[]), None, vec![]),
        ] {
            let file = DataFileMeta { value_stats_cols: stats_cols, write_cols, ..DataFileMeta::for_tests("f") };
            let got = value_stats_columns(&file, &schema).unwrap();
            assert_eq!(got.iter().map(StatsColumn::name).collect::<Vec<_>>(), want);
            for name in ["a", "b", "c", "_ROW_ID", "x"] {
                let position = want.iter().position(|w| *w == name);
                assert_eq!(value_stats_position(&file, &schema, name), position, "{name}");
            }
        }
        let file = DataFileMeta { value_stats_cols: names(&["x"]), ..DataFileMeta::for_tests("f") };
        assert!(value_stats_columns(&file, &schema).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(min in any::<Vec<u8>>(), max in any::<Vec<u8>>(), arity in 0..4u8, position in 0..4usize) {
            let prefixed = |mut row: Vec<u8>| { row.splice(0..0, [0, 0, 0, arity]); row };
            let s = SimpleStats { min_values: prefixed(min), max_values: max, null_counts: vec![Some(-1)] };
            for t in ["STRING", "DECIMAL(38, 0)", "ARRAY<STRING>"] {
                let _ = s.column(position, &DataType::parse(t).unwrap());
            }
        }
    }
}
