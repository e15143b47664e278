//! Which keys of a section are merged at a time: [`KeyPart`], a part of its keys, and [`KeyRange`], where that begins and
//! ends.
//!
//! In: quantiles of the longest run's rows. Out: values of the first key column, taken from what the manifest and the
//! index of pages say of that run's files, so that no row is read for them. Any value would do: it only decides how
//! evenly a section is cut. Every part of a section finds the same value for the same quantile.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};

use super::key_reader::KeyFile;
use super::keys::{KeyBound, KeyEncoder};
use super::section::MergeSpec;
use crate::error::{Error, Result};
use crate::exec::assign::ScanUnit;
use crate::exec::context::ScanContext;
use crate::exec::evolution::Origin;
use crate::exec::raw_read;
use crate::file::{self, FileFormat, Lane};
use crate::spec::arrow_type::column_type;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_type::{DataField, DataType, TypeKind};
use crate::spec::datum_array::datums_to_array;
use crate::split::Section;

/// The keys from one quantile of a section's keys to another: `from / of` to `to / of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Where it begins.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// The number that stands for all keys.
    pub of: u64,
}

impl KeyPart {
    /// About so many of `rows` rows.
    pub fn share(&self, rows: usize) -> usize {
        let share = rows as u128 * u128::from(self.to.saturating_sub(self.from)) / u128::from(self.of.max(1));
        usize::try_from(share).unwrap_or(rows)
    }
}

/// Whether a section can be cut by keys such that each part reads about as much as it has.
pub fn can_cut(section: &Section, spec: &MergeSpec) -> bool {
    let sorted_bounds = |kind: &TypeKind| !matches!(kind, TypeKind::Boolean | TypeKind::Float | TypeKind::Double);
    let is_parquet = |name: &str| FileFormat::of_file_name(name).ok() == Some(FileFormat::Parquet);
    spec.ordered_by_key
        && spec.key_fields.first().is_some_and(|f| !f.data_type.nullable && sorted_bounds(&f.data_type.kind))
        && section.runs.iter().flatten().all(|file| is_parquet(&file.meta.file_name))
}

/// Keys whose first column is at or above a value and below another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyRange {
    from: Option<(ScalarValue, KeyBound)>,
    to: Option<(ScalarValue, KeyBound)>,
}

impl KeyRange {
    /// The range of a part of a section.
    pub async fn find(
        context: &ScanContext,
        spec: &MergeSpec,
        runs: &[Vec<KeyFile>],
        part: KeyPart,
        lane: &Arc<Lane>,
    ) -> Result<Self> {
        let cuts = Cuts { context, spec, run: longest(runs), lane };
        let from = if part.from == 0 { None } else { cuts.at(part.from, part.of).await? };
        let to = if part.to >= part.of { None } else { cuts.at(part.to, part.of).await? };
        Ok(Self { from, to })
    }

    /// The least key that is in it.
    pub fn from(&self) -> Option<&KeyBound> {
        self.from.as_ref().map(|(_, bound)| bound)
    }

    /// The least key that is above it.
    pub fn to(&self) -> Option<&KeyBound> {
        self.to.as_ref().map(|(_, bound)| bound)
    }

    /// It as conditions on the first column of keys.
    pub fn conditions(&self, key: &DataField) -> Vec<Arc<dyn PhysicalExpr>> {
        let condition = |op: Operator, value: &ScalarValue| -> Arc<dyn PhysicalExpr> {
            Arc::new(BinaryExpr::new(Arc::new(Column::new(&key.name, 0)), op, Arc::new(Literal::new(value.clone()))))
        };
        let from = self.from.iter().map(|(value, _)| condition(Operator::GtEq, value));
        from.chain(self.to.iter().map(|(value, _)| condition(Operator::Lt, value))).collect()
    }
}

fn rows_of(file: &KeyFile) -> usize {
    usize::try_from(file.unit.file.meta.row_count).unwrap_or(0)
}

/// The run with the most rows.
fn longest(runs: &[Vec<KeyFile>]) -> &[KeyFile] {
    let rows = |run: &&Vec<KeyFile>| run.iter().map(rows_of).fold(0, usize::saturating_add);
    runs.iter().max_by_key(rows).map(Vec::as_slice).unwrap_or_default()
}

/// Finds values that cut a section.
struct Cuts<'a> {
    context: &'a ScanContext,
    spec: &'a MergeSpec,
    run: &'a [KeyFile],
    lane: &'a Arc<Lane>,
}

impl Cuts<'_> {
    /// About the value that `part / of` of the keys are below. Values ascend with `part`.
    async fn at(&self, part: u64, of: u64) -> Result<Option<(ScalarValue, KeyBound)>> {
        let key = self.spec.key_fields.first().ok_or_else(|| Error::internal("a key without columns to cut by"))?;
        let total: usize = self.run.iter().map(rows_of).fold(0, usize::saturating_add);
        let mut row = KeyPart { from: 0, to: part, of }.share(total);
        let mut files = self.run.iter();
        let Some(mut file) = files.next() else { return Ok(None) };
        while row >= rows_of(file)
            && let Some(next) = files.next()
        {
            (row, file) = (row - rows_of(file), next);
        }
        let mut cut = self.least(&file.unit)?;
        let sampled = self.samples(&file.unit, key).await?.into_iter().take_while(|(first, _)| *first <= row).last();
        if let Some((_, value)) = sampled
            && let Some(value) = as_key(&value, key)
            && value.partial_cmp(&cut) == Some(Ordering::Greater)
        {
            cut = value;
        }
        let array = cut.to_array_of_size(1).map_err(no_value)?;
        Ok(Some((cut, KeyEncoder::new(&self.spec.key_fields)?.bound(&array)?)))
    }

    /// The first column of the least key of a file.
    fn least(&self, unit: &ScanUnit) -> Result<ScalarValue> {
        let types: Vec<DataType> = self.spec.key_fields.iter().map(|f| f.data_type.clone()).collect();
        let lacks = || Error::corrupt("a file without a least key");
        let key = BinaryRow::from_serialized(&unit.file.meta.min_key)?.decode(&types)?;
        let (data_type, datum) = types.first().zip(key.first()).ok_or_else(lacks)?;
        let array = datums_to_array(data_type, std::slice::from_ref(datum))?;
        ScalarValue::try_from_array(&array, 0).map_err(no_value)
    }

    async fn samples(&self, unit: &ScanUnit, key: &DataField) -> Result<Vec<(usize, ScalarValue)>> {
        let mapping = self.context.mapping_to(unit, std::slice::from_ref(key), &[])?;
        if !matches!(mapping.origin(0), Origin::Same(_)) {
            return Ok(vec![]);
        }
        let rows = raw_read::Rows::default();
        let request = raw_read::request(self.context, unit, &mapping, rows, 1, self.lane)?;
        // A file that is not where it should be is looked for when it is read.
        Ok(file::samples(&request).await.unwrap_or_default())
    }
}

/// A value as the key column's type has it; files may store it otherwise.
fn as_key(value: &ScalarValue, key: &DataField) -> Option<ScalarValue> {
    value.cast_to(&column_type(&key.data_type)).ok().filter(|value| !value.is_null())
}

fn no_value(e: DataFusionError) -> Error {
    Error::internal("a key is no value to cut by").caused_by(e)
}
