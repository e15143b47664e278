//! What every output partition of a scan shares: [`ScanContext`].
//!
//! In: the wanted columns of the table, its partition columns and the schemas that files were written with. Out: for a
//! file of a schema, the [`SchemaMapping`] that says what to ask of the file and how to bring it to the wanted columns.
//! Mappings are made once per schema and set of written columns, and kept.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::datatypes::SchemaRef;
use chrono_tz::Tz;

use super::assign::ScanUnit;
use super::evolution::CastContext;
use super::evolution::SchemaMapping;
use super::filter::ScanFilters;
use super::kept_rows::Conditions;
use super::merge::combine::spec::CombineSpec;
use super::merge::key_reader::system_fields;
use super::merge::memory::MergeMemory;
use super::merge::section::{MergeSpec, Rule};
use super::unit_filter::UnitFilters;
use crate::cache::PaimonCache;
use crate::error::{Error, Result};
use crate::file::footer_cache::FooterCache;
use crate::file::prefetch::ReadAheadSettings;
use crate::options::TableOptions;
use crate::predicate::Predicate;
use crate::predicate::bucket::BucketKey;
use crate::predicate::combined_partitions::CombinedPartitions;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::DataField;
use crate::spec::statistics::Statistics;
use crate::spec::table_schema::TableSchema;
use crate::storage::Storage;

/// What conditions become is kept for so many kinds of files: conditions on partition columns differ in every partition.
const MAX_UNIT_FILTERS: usize = 256;

/// What the names of key columns begin with in data files. Java: `SpecialFields.KEY_FIELD_PREFIX`.
const KEY_FIELD_PREFIX: &str = "_KEY_";

/// What a scan needs to know besides its splits.
#[derive(Debug, Clone)]
pub struct ScanSpec {
    /// The stores that files lie in.
    pub storage: Storage,
    /// What is kept over queries.
    pub cache: Arc<PaimonCache>,
    /// What merging may hold in memory.
    pub memory: MergeMemory,
    /// Footers that are kept over queries.
    pub footers: Option<Arc<FooterCache>>,
    /// All columns of the table that may be asked for.
    pub fields: Vec<DataField>,
    /// The partition columns, in the order of the partition rows.
    pub partition_fields: Vec<DataField>,
    /// Those of them that are not the same in all rows of a partition.
    pub combined_partitions: CombinedPartitions,
    /// Table option `partition.default-name`.
    pub partition_default_name: String,
    /// The schemas that files were written with: of the table, and of each other branch that files come from.
    pub sources: HashMap<Option<Arc<str>>, SourceSchemas>,
    /// The session's zone, for casts between times.
    pub zone: Tz,
    /// See [`ReadRequest::orc_legacy_ltz`](crate::file::ReadRequest).
    pub orc_legacy_ltz: bool,
    /// What an ANALYZE found, of this snapshot or an earlier one.
    pub analyzed: Option<Arc<Statistics>>,
    /// What is read ahead.
    pub read_ahead: ReadAheadSettings,
}

impl ScanSpec {
    /// Where a column's value is among those of a partition. It is the value in all rows as they lie in the partition's
    /// files, whatever these hold.
    pub fn partition_position(&self, field: &DataField) -> Option<usize> {
        self.partition_fields.iter().position(|p| p.id == field.id)
    }

    /// The same of a column as any branch numbers it: names are common.
    pub fn partition_column(&self, field: &DataField) -> Option<usize> {
        self.partition_fields.iter().position(|p| p.name == field.name)
    }

    /// The same of a column that merging leaves as it is.
    pub fn partition_constant(&self, field: &DataField) -> Option<usize> {
        self.partition_position(field).filter(|_| !self.combined_partitions.contains(field.id))
    }
}

/// The schemas of one branch. Schema ids, and what fields they number, are a branch's own.
#[derive(Debug, Clone, Default)]
pub struct SourceSchemas {
    /// The branch's current columns: what a column of the table is there, by name.
    pub fields: Vec<DataField>,
    /// The schemas of its files by their ids.
    pub by_id: HashMap<i64, Arc<TableSchema>>,
    /// How versions of a key are merged, in a branch with a primary key.
    pub merge: Option<Arc<MergeSpec>>,
    /// What the query says of the branch's rows, in its field ids; `None` where that is nothing.
    pub predicate: Option<Arc<Predicate>>,
    /// Whether file indexes are asked.
    pub asks_indexes: bool,
    /// How rows are dealt to buckets, in a branch with a fixed number of them.
    pub bucket_key: Option<Arc<BucketKey>>,
}

/// How files become rows of the wanted columns; shared by all output partitions.
#[derive(Debug)]
pub struct ScanContext {
    spec: Arc<ScanSpec>,
    output: Vec<DataField>,
    schema: SchemaRef,
    /// For each output column: its place among the partition columns, or among the columns that come from files.
    sources: Vec<ColumnSource>,
    /// The output columns that come from files.
    file_columns: Vec<DataField>,
    /// The output columns that come from partitions and are combined where versions are.
    combined_columns: Vec<DataField>,
    mappings: Mutex<HashMap<MappingKey, Arc<SchemaMapping>>>,
    /// What rows must fulfil.
    filters: ScanFilters,
    /// The same as what rows are kept under.
    conditions: OnceLock<Option<Conditions>>,
    /// Whether conditions are about partition columns.
    filters_partitions: bool,
    /// How files have the columns of each filter.
    filter_mappings: Mutex<HashMap<(MappingKey, usize), Arc<SchemaMapping>>>,
    /// What the conditions become for files.
    unit_filters: Mutex<HashMap<UnitFiltersKey, Arc<UnitFilters>>>,
}

/// The branch, the schema and the written columns that a mapping is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct MappingKey(Option<Arc<str>>, i64, Option<Vec<String>>);

/// What a file's conditions depend on: its columns, its partition where they are about partition columns, and the longest
/// list that statistics are asked for.
type UnitFiltersKey = (MappingKey, Option<Arc<[u8]>>, usize);

impl MappingKey {
    fn of(unit: &ScanUnit) -> Self {
        let file = &unit.file.meta;
        Self(unit.branch.clone(), file.schema_id, file.write_cols.clone())
    }
}

/// Where an output column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// The n-th partition value.
    Partition(usize),
    /// The n-th column of the mapped file batch.
    File(usize),
    /// A partition value, but for keys of which versions are combined: there it is so too.
    Combined {
        /// Which partition value.
        partition: usize,
        /// Which of the combined columns behind those of the file.
        column: usize,
    },
}

impl ScanContext {
    /// A context for the columns of `projection`, which are positions in `spec.fields`.
    pub fn new(spec: Arc<ScanSpec>, projection: &[usize]) -> Result<Self> {
        let (mut sources, mut file_columns, mut combined_columns) = (vec![], vec![], vec![]);
        let mut output = vec![];
        for &at in projection {
            let field = spec.fields.get(at).ok_or_else(|| Error::internal(format!("no column {at} to project")))?;
            sources.push(match spec.partition_position(field) {
                Some(partition) if spec.combined_partitions.contains(field.id) => {
                    combined_columns.push(field.clone());
                    ColumnSource::Combined { partition, column: combined_columns.len() - 1 }
                }
                Some(partition) => ColumnSource::Partition(partition),
                None => {
                    file_columns.push(field.clone());
                    ColumnSource::File(file_columns.len() - 1)
                }
            });
            output.push(field.clone());
        }
        let schema = arrow_schema(&output);
        Ok(Self {
            spec,
            output,
            schema,
            sources,
            file_columns,
            combined_columns,
            mappings: Mutex::default(),
            filters: ScanFilters::default(),
            conditions: OnceLock::new(),
            filters_partitions: false,
            filter_mappings: Mutex::default(),
            unit_filters: Mutex::default(),
        })
    }

    /// The same, with conditions on the rows.
    #[must_use]
    pub fn with_filters(self, filters: ScanFilters) -> Self {
        let of_partition = |at: usize| {
            let field = self.spec.fields.get(at);
            field.is_none_or(|field| self.spec.partition_position(field).is_some())
        };
        let filters_partitions = filters.columns().into_iter().any(of_partition);
        Self { filters, filters_partitions, conditions: OnceLock::new(), ..self }
    }

    /// What rows must fulfil.
    pub fn filters(&self) -> &ScanFilters {
        &self.filters
    }

    /// The same as what rows of a file are kept under; `None` where they are not.
    pub fn conditions(&self) -> Option<&Conditions> {
        let conditions = || {
            let mut columns: Vec<usize> = self.filters.columns().into_iter().collect();
            columns.sort_unstable();
            // With the ids of nested fields, which the text of a type lacks.
            let column = |at: usize| self.spec.fields.get(at).map(|field| (at, field));
            let columns = columns.into_iter().map(column).collect::<Option<Vec<_>>>()?;
            let exprs = self.filters.iter().map(|filter| Arc::clone(&filter.expr));
            // How a file's values become a column's depends on the zone.
            Conditions::new(exprs, &format!("{columns:?} {}", self.spec.zone))
        };
        self.conditions.get_or_init(conditions).as_ref()
    }

    /// What the scan is of.
    pub fn spec(&self) -> &Arc<ScanSpec> {
        &self.spec
    }

    /// The schema of the output.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The output columns, as the table has them.
    pub fn output_fields(&self) -> &[DataField] {
        &self.output
    }

    /// Where each output column comes from.
    pub fn sources(&self) -> &[ColumnSource] {
        &self.sources
    }

    /// About how many of a file's bytes are read: columns are taken to be of one size.
    pub fn wanted_bytes(&self, file_bytes: u64) -> u64 {
        let (wanted, all) = (self.file_columns.len() as u64, (self.spec.fields.len() as u64).max(1));
        (file_bytes / all).saturating_mul(wanted.min(all))
    }

    /// How the columns of a unit's file become the wanted ones.
    pub fn mapping(&self, unit: &ScanUnit) -> Result<Arc<SchemaMapping>> {
        kept(&self.mappings, MappingKey::of(unit), || self.mapping_of(unit, &self.file_columns))
    }

    /// How the columns of a unit's file become those of the filter numbered `filter`, which are `columns` of the table.
    pub fn filter_mapping(&self, unit: &ScanUnit, filter: usize, columns: &[DataField]) -> Result<Arc<SchemaMapping>> {
        kept(&self.filter_mappings, (MappingKey::of(unit), filter), || self.mapping_of(unit, columns))
    }

    /// What the conditions become for a unit's file; IN lists up to a length are compared with statistics.
    pub fn unit_filters(&self, unit: &ScanUnit, max_in_list_size: usize) -> Result<Arc<UnitFilters>> {
        let partition = self.filters_partitions.then(|| Arc::clone(&unit.partition));
        let mut known = self.unit_filters.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_UNIT_FILTERS {
            known.clear();
        }
        drop(known);
        let key = (MappingKey::of(unit), partition, max_in_list_size);
        kept(&self.unit_filters, key, || UnitFilters::new(self, unit, max_in_list_size))
    }

    fn mapping_of(&self, unit: &ScanUnit, columns: &[DataField]) -> Result<SchemaMapping> {
        self.mapping_to(unit, &self.columns_in(&unit.branch, columns)?, &[])
    }

    /// The output columns that are combined where versions are, as a branch numbers them: those that come from files, then
    /// those of partitions.
    pub fn combined(&self, branch: &Option<Arc<str>>) -> Result<Vec<DataField>> {
        let columns = [self.file_columns.as_slice(), &self.combined_columns].concat();
        self.columns_in(branch, &columns).map(Cow::into_owned)
    }

    /// Columns of the table as a branch numbers them.
    fn columns_in<'a>(&self, branch: &Option<Arc<str>>, columns: &'a [DataField]) -> Result<Cow<'a, [DataField]>> {
        match branch {
            None => Ok(Cow::Borrowed(columns)),
            Some(_) => columns_in(self.source(branch)?, columns).map(Cow::Owned),
        }
    }

    /// How the columns of a unit's file, and the `system` columns besides, become other wanted ones of its branch.
    pub fn mapping_to(&self, unit: &ScanUnit, wanted: &[DataField], system: &[DataField]) -> Result<SchemaMapping> {
        let mut written = written_fields(self.file_schema(unit)?, unit.file.meta.write_cols.as_deref());
        written.extend(system.iter().cloned());
        SchemaMapping::new(&written, wanted, CastContext { zone: self.spec.zone })
    }

    /// The columns of a unit's file in the order of its writer. Java: `KeyValue.schema`, `KeyValueThinDataFileWriterImpl`.
    pub fn physical_fields(&self, unit: &ScanUnit) -> Result<Vec<DataField>> {
        let schema = self.file_schema(unit)?;
        let values = written_fields(schema, unit.file.meta.write_cols.as_deref());
        if schema.primary_keys.is_empty() {
            return Ok(values);
        }
        let mut fields = vec![];
        if !TableOptions::effective(&schema.options, &BTreeMap::new())?.data_file_thin_mode {
            let key = |f: DataField| DataField { name: format!("{KEY_FIELD_PREFIX}{}", f.name), ..f };
            fields.extend(schema.trimmed_primary_key_fields().into_iter().map(key));
        }
        fields.extend(system_fields());
        fields.extend(values);
        Ok(fields)
    }

    /// The schema that a unit's file was written with.
    fn file_schema(&self, unit: &ScanUnit) -> Result<&Arc<TableSchema>> {
        let id = unit.file.meta.schema_id;
        let schema = self.source(&unit.branch)?.by_id.get(&id);
        schema.ok_or_else(|| Error::internal(format!("schema {id} was not loaded")))
    }

    /// How versions of a key are merged in a branch.
    pub fn merge_spec(&self, branch: &Option<Arc<str>>) -> Result<Arc<MergeSpec>> {
        let merge = self.source(branch)?.merge.as_ref().map(Arc::clone);
        merge.ok_or_else(|| Error::internal("files to merge of a table without primary key"))
    }

    /// How versions of a key are combined in a branch whose engine does so.
    pub fn combine_spec(&self, branch: &Option<Arc<str>>) -> Result<Arc<CombineSpec>> {
        match &self.merge_spec(branch)?.rule {
            Rule::Combine(spec) => Ok(Arc::clone(spec)),
            Rule::Keep(_) => Err(Error::internal("versions to combine of an engine that keeps one")),
        }
    }

    /// The schemas of a branch.
    pub fn source(&self, branch: &Option<Arc<str>>) -> Result<&SourceSchemas> {
        self.spec.sources.get(branch).ok_or_else(|| Error::internal("the schemas of a branch were not loaded"))
    }
}

/// A value that is made once for a key.
fn kept<K: Hash + Eq, V>(all: &Mutex<HashMap<K, Arc<V>>>, key: K, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    match all.entry(key) {
        Entry::Occupied(entry) => Ok(Arc::clone(entry.get())),
        Entry::Vacant(entry) => Ok(Arc::clone(entry.insert(Arc::new(make()?)))),
    }
}

/// Wanted columns as another branch numbers them; it must have all of them, of the same types.
fn columns_in(source: &SourceSchemas, columns: &[DataField]) -> Result<Vec<DataField>> {
    let column = |want: &DataField| match source.fields.iter().find(|f| f.name == want.name) {
        Some(field) if field.data_type.kind == want.data_type.kind => Ok(field.clone()),
        _ => Err(Error::unsupported(format!("a branch whose column '{}' is another or lacks", want.name))),
    };
    columns.iter().map(column).collect()
}

/// The columns of a schema that a file holds: all, or those that `_WRITE_COLS` names.
fn written_fields(schema: &TableSchema, write_cols: Option<&[String]>) -> Vec<DataField> {
    let written = |f: &&DataField| write_cols.is_none_or(|names| names.contains(&f.name));
    schema.fields.iter().filter(written).cloned().collect()
}

#[cfg(test)]
impl ScanSpec {
    /// A scan of a table with these columns, in memory.
    pub fn of_columns(fields: Vec<DataField>) -> Self {
        let runtime = Arc::new(datafusion::execution::runtime_env::RuntimeEnv::default());
        Self {
            storage: Storage::new(&runtime),
            cache: Arc::default(),
            memory: MergeMemory::new(&runtime.memory_pool),
            footers: None,
            fields,
            partition_fields: vec![],
            combined_partitions: CombinedPartitions::default(),
            partition_default_name: String::new(),
            sources: HashMap::from([(None, SourceSchemas::default())]),
            zone: chrono_tz::UTC,
            orc_legacy_ltz: false,
            analyzed: None,
            read_ahead: ReadAheadSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::physical_expr::planner::logical2physical;
    use datafusion::prelude::{col, lit};

    use super::*;
    use crate::spec::data_type::{DataType, TypeKind};

    fn context(nested_id: i32, zone: Tz) -> ScanContext {
        let nested = DataField::new(nested_id, "a", TypeKind::Int.nullable());
        let fields = vec![
            DataField::new(0, "k", TypeKind::Int.nullable()),
            DataField::new(1, "s", DataType { kind: TypeKind::Row(vec![nested]), nullable: true }),
        ];
        let spec = ScanSpec { zone, ..ScanSpec::of_columns(fields) };
        let context = ScanContext::new(Arc::new(spec), &[0, 1]).unwrap();
        let schema = arrow_schema(&context.spec().fields);
        let mut filters = ScanFilters::default();
        let expr = logical2physical(&col("s").is_null().or(col("k").eq(lit(1))), &schema);
        assert!(filters.add(&expr, false, &context.spec().fields, &[0, 1]).unwrap());
        context.with_filters(filters)
    }

    #[test]
    fn conditions_are_told_apart_by_their_columns_and_the_zone() {
        let name = |context: ScanContext| context.conditions().unwrap().name().to_owned();
        let (utc, other) = (chrono_tz::UTC, chrono_tz::Asia::Shanghai);
        assert_eq!(name(context(7, utc)), name(context(7, utc)));
        assert_ne!(name(context(7, utc)), name(context(8, utc)), "another nested field");
        assert_ne!(name(context(7, utc)), name(context(7, other)));
    }
}
