//! What a file's metadata say of its values, as DataFusion's pruning asks for it.
//!
//! In: a footer and the columns of a predicate. Out: minima, maxima and numbers of NULLs, per row group or per page of
//! one. What cannot be relied on is unknown, which spares nothing and loses no row:
//!
//! - columns that are nested, or whose values are converted when they are read;
//! - bounds of floating point columns, which leave NaN out unless Java wrote them: it counts NaN as the greatest; and
//!   bounds that are zero, since whether -0.0 and 0.0 are one value is not the same for all conditions;
//! - bounds of text, bytes and decimals in the deprecated fields, which were compared as signed bytes;
//! - numbers of NULLs that are not there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::compute::nullif;
use arrow::datatypes::{Field, Float32Type, Float64Type};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::RowGroupMetaData;

use super::footer::Footer;
use super::schema::plain_leaves;
use crate::spec::data_type::DataField;

/// What `created_by` of files of Java's Parquet begins with.
const JAVA_WRITER: &str = "parquet-mr";

/// A column whose values are in the file as they are handed out.
#[derive(Debug, Clone)]
pub(super) struct PlainColumn {
    /// Which leaf it is.
    pub leaf: usize,
    /// How its values are stored.
    pub physical: PhysicalType,
    /// The length of values of fixed length.
    pub type_length: i32,
    field: Field,
    /// Whether bounds hold for all of its values.
    bounded: bool,
}

impl PlainColumn {
    /// Whether equal values have equal bytes.
    pub fn is_exact(&self) -> bool {
        !self.field.data_type().is_floating()
    }

    fn converter<'a>(&'a self, footer: &'a Footer) -> Option<StatisticsConverter<'a>> {
        let schema = footer.metadata.file_metadata().schema_descr();
        let converter = StatisticsConverter::from_column_index(self.leaf, &self.field, schema).ok()?;
        // Only early versions of one library left out zeros.
        Some(converter.with_missing_null_counts_as_zero(false))
    }
}

/// The plain columns of a predicate, by name.
#[derive(Debug, Default)]
pub(super) struct PlainColumns(HashMap<String, PlainColumn>);

impl PlainColumns {
    /// Those of `fields`.
    pub fn new(footer: &Footer, fields: &[DataField]) -> Self {
        let file = footer.metadata.file_metadata();
        let java = file.created_by().is_some_and(|by| by.starts_with(JAVA_WRITER));
        let column = |(field, plain): (&DataField, Option<(usize, Field)>)| {
            let (leaf, stored) = plain?;
            let stored_as = file.schema_descr().columns().get(leaf)?;
            let (physical, type_length) = (stored_as.physical_type(), stored_as.type_length());
            let bounded = java || !stored.data_type().is_floating();
            Some((field.name.clone(), PlainColumn { leaf, physical, type_length, field: stored, bounded }))
        };
        Self(fields.iter().zip(plain_leaves(footer, fields)).filter_map(column).collect())
    }

    /// The column of a name.
    pub fn get(&self, name: &str) -> Option<&PlainColumn> {
        self.0.get(name)
    }
}

/// Statistics of row groups.
pub(super) struct GroupStatistics<'a> {
    footer: &'a Footer,
    columns: &'a PlainColumns,
    groups: Vec<&'a RowGroupMetaData>,
}

impl<'a> GroupStatistics<'a> {
    /// Of the row groups at `positions`.
    pub fn new(footer: &'a Footer, columns: &'a PlainColumns, positions: &[usize]) -> Self {
        let groups = positions.iter().filter_map(|at| footer.metadata.row_groups().get(*at)).collect();
        Self { footer, columns, groups }
    }

    /// A column whose bounds hold in all of the row groups.
    fn bounded(&self, column: &Column) -> Option<&'a PlainColumn> {
        let plain = self.columns.get(&column.name).filter(|plain| plain.bounded)?;
        let deprecated = |group: &&RowGroupMetaData| {
            let statistics = group.columns().get(plain.leaf).and_then(|chunk| chunk.statistics());
            statistics.is_some_and(|s| s.is_min_max_deprecated())
        };
        let by_bytes = matches!(plain.physical, PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
        (!by_bytes || !self.groups.iter().any(deprecated)).then_some(plain)
    }
}

impl PruningStatistics for GroupStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        let mins = self.bounded(column)?.converter(self.footer)?.row_group_mins(self.groups.iter().copied());
        without_zeros(mins.ok()?)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        let maxes = self.bounded(column)?.converter(self.footer)?.row_group_maxes(self.groups.iter().copied());
        without_zeros(maxes.ok()?)
    }

    fn num_containers(&self) -> usize {
        self.groups.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let converter = self.columns.get(&column.name)?.converter(self.footer)?;
        Some(Arc::new(converter.row_group_null_counts(self.groups.iter().copied()).ok()?))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows = self.groups.iter().map(|group| u64::try_from(group.num_rows()).ok());
        Some(Arc::new(UInt64Array::from_iter(rows)))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// Bounds, of which those that are a floating point zero are unknown.
fn without_zeros(bounds: ArrayRef) -> Option<ArrayRef> {
    let zeros = if let Some(values) = bounds.as_primitive_opt::<Float32Type>() {
        BooleanArray::from_unary(values, |value| value == 0.0)
    } else if let Some(values) = bounds.as_primitive_opt::<Float64Type>() {
        BooleanArray::from_unary(values, |value| value == 0.0)
    } else {
        return Some(bounds);
    };
    nullif(&bounds, &zeros).ok()
}

/// Statistics of the pages of one column in one row group.
pub(super) struct PageStatistics<'a> {
    /// The footer, with the page index.
    pub footer: &'a Footer,
    /// The column.
    pub column: &'a PlainColumn,
    /// The row group's position.
    pub group: usize,
    /// How many rows each page has.
    pub rows: &'a [usize],
}

impl PageStatistics<'_> {
    /// What a converter finds, if it is as much as there are pages.
    fn ask(&self, ask: impl FnOnce(&StatisticsConverter<'_>) -> Option<ArrayRef>) -> Option<ArrayRef> {
        ask(&self.column.converter(self.footer)?).filter(|found| found.len() == self.rows.len())
    }
}

impl PruningStatistics for PageStatistics<'_> {
    fn min_values(&self, _: &Column) -> Option<ArrayRef> {
        let metadata = self.column.bounded.then_some(&self.footer.metadata)?;
        let mins =
            self.ask(|c| c.data_page_mins(metadata.column_index()?, metadata.offset_index()?, [&self.group]).ok());
        without_zeros(mins?)
    }

    fn max_values(&self, _: &Column) -> Option<ArrayRef> {
        let metadata = self.column.bounded.then_some(&self.footer.metadata)?;
        let maxes =
            self.ask(|c| c.data_page_maxes(metadata.column_index()?, metadata.offset_index()?, [&self.group]).ok());
        without_zeros(maxes?)
    }

    fn num_containers(&self) -> usize {
        self.rows.len()
    }

    fn null_counts(&self, _: &Column) -> Option<ArrayRef> {
        let metadata = &self.footer.metadata;
        self.ask(|c| {
            let counts = c.data_page_null_counts(metadata.column_index()?, metadata.offset_index()?, [&self.group]);
            counts.ok().map(|counts| Arc::new(counts) as ArrayRef)
        })
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(UInt64Array::from_iter_values(self.rows.iter().map(|rows| *rows as u64))))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
