//! In which order files are read for a query that sorts: [`FileOrder`].
//!
//! In: the columns of an `ORDER BY`, and the tasks of a scan. Out: the tasks dealt out anew. Where each task gives sorted
//! rows and the bounds of tasks follow each other, every output partition gives sorted rows ([`FileOrder::sorted`]):
//!
//! ```text
//! keys                -------------------------------------->
//! files of bucket 0   |---a---||---b---|      |---c---|
//! files of bucket 1      |----d----|     |--e--|
//! output partitions   0: a b c     1: d e
//! ```
//!
//! A task gives sorted rows if all its rows have one value, as of partition columns, or if it is a file of a primary-key
//! table and the columns are the first ones of the key, in types that are ordered alike by Paimon and by DataFusion.
//! Otherwise every output partition begins with the files that may have the first rows ([`FileOrder::helpful`]): the
//! others can be passed over once the first rows are found.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::compute::SortOptions;

use super::assign::{ScanTask, ScanUnit};
use super::context::{ColumnSource, ScanContext, ScanSpec};
use super::evolution::{Origin, SchemaMapping};
use super::merge::section::MergeSection;
use super::statistics::{column_ranges, partition_values};
use crate::error::Result;
use crate::spec::binary_row::BinaryRow;
use crate::spec::column_range::ColumnRange;
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::datum::Datum;
use crate::spec::table_schema::TableSchema;
use crate::split::SplitFile;

/// The table option of tables whose files are not ordered by the key.
const CLUSTERING_OVERRIDE: &str = "pk-clustering-override";

/// The columns that a query sorts by.
#[derive(Debug, Clone)]
pub struct FileOrder {
    keys: Arc<[SortKey]>,
    /// A scan of these columns.
    context: Arc<ScanContext>,
}

/// A column that a query sorts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// Its position in the table's columns.
    pub column: usize,
    /// In which direction, and where NULLs go.
    pub options: SortOptions,
}

/// Tasks of output partitions.
type Tasks = Vec<Vec<ScanTask>>;

impl FileOrder {
    /// The order by columns of the table.
    pub fn new(spec: &Arc<ScanSpec>, keys: Vec<SortKey>) -> Result<Self> {
        let columns: Vec<usize> = keys.iter().map(|key| key.column).collect();
        let context = Arc::new(ScanContext::new(Arc::clone(spec), &columns)?);
        Ok(Self { keys: keys.into(), context })
    }

    /// The columns.
    pub fn keys(&self) -> &[SortKey] {
        &self.keys
    }

    /// The tasks dealt out such that the rows of each output partition come sorted; `None` where that is not certain.
    pub fn sorted(&self, tasks: &Tasks) -> Option<Tasks> {
        let ranged = |task: &ScanTask| Some(Ranged { range: self.rows_range(task)?, task: task.clone() });
        let ranged = tasks.iter().flatten().map(ranged).collect::<Option<Vec<_>>>()?;
        let whole = || without_cuts(&ranged);
        self.chains(ranged.clone(), tasks.len()).or_else(|| self.chains(whole(), tasks.len()))
    }

    /// Deals tasks that give sorted rows out to output partitions, so that each begins where the one before it ended.
    fn chains(&self, mut ranged: Vec<Ranged>, partitions: usize) -> Option<Tasks> {
        ranged.sort_by(|a, b| self.compare(&a.range.0, &b.range.0).then_with(|| self.compare(&a.range.1, &b.range.1)));
        let mut chains: Vec<Chain> = (0..partitions).map(|_| Chain::default()).collect();
        for next in ranged {
            let follows = |chain: &&mut Chain| chain.last.as_ref().is_none_or(|last| self.follows(last, &next));
            let chain = chains.iter_mut().filter(follows).min_by_key(|chain| chain.bytes)?;
            chain.bytes = chain.bytes.saturating_add(next.task.bytes()).saturating_add(1);
            chain.tasks.push(next.task.clone());
            chain.last = Some(next);
        }
        Some(chains.into_iter().map(|chain| chain.tasks).collect())
    }

    /// Whether no row of `next` comes before one of `last`, which began before it.
    fn follows(&self, last: &Ranged, next: &Ranged) -> bool {
        let apart = self.compare(&last.range.1, &next.range.0).is_le();
        let parts = last.part().zip(next.part());
        apart || parts.is_some_and(|((file, before), (other, after))| file == other && before.end <= after.start)
    }

    /// The first and the last row of a task that gives sorted rows.
    fn rows_range(&self, task: &ScanTask) -> Option<RowsRange> {
        let (partition, file) = match task {
            ScanTask::Read(unit) if unit.merge.is_none() => (unit.partition.as_ref(), Some(unit)),
            ScanTask::Read(unit) => (unit.partition.as_ref(), None),
            ScanTask::Combine(unit) => (unit.section.partition(), None),
        };
        let values = partition_values(&self.context, partition)?;
        let mut keys = file.and_then(|unit| KeyColumns::new(&self.context, unit));
        let (mut first, mut last) = (vec![], vec![]);
        for ((source, field), key) in self.context.sources().iter().zip(self.context.output_fields()).zip(&*self.keys) {
            let (min, max) = match *source {
                ColumnSource::Partition(at) if is_ordered_alike(&field.data_type.kind) => {
                    let value = values.get(at)?;
                    (value.clone(), value.clone())
                }
                ColumnSource::File(at) if !key.options.descending => {
                    let (min, max) = keys.as_mut()?.next(at, field)?;
                    (Some(min), Some(max))
                }
                _ => return None,
            };
            first.push(min);
            last.push(max);
        }
        Some((first, last))
    }

    /// Compares values of the columns.
    fn compare(&self, a: &[Option<Datum>], b: &[Option<Datum>]) -> Ordering {
        let column = |((key, a), b): ((&SortKey, &Option<Datum>), &Option<Datum>)| match (a, b) {
            (Some(a), Some(b)) => key.directed(a.compare(b).unwrap_or(Ordering::Equal)),
            (None, None) => Ordering::Equal,
            (a, _) if a.is_none() == key.options.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        };
        self.keys.iter().zip(a).zip(b).map(column).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The tasks dealt out such that each output partition begins with those that may have the first rows; `None` where
    /// nothing tells one from another.
    pub fn helpful(&self, tasks: &Tasks) -> Option<Tasks> {
        let mut groups = self.groups(tasks);
        let differ = groups.windows(2).any(|two| match two {
            [a, b] => self.compare_places(&a.place, &b.place).is_ne(),
            _ => false,
        });
        if !differ {
            return None;
        }
        if self.keys.first().is_some_and(|key| key.options.descending) {
            // Of tasks that nothing tells apart, parts of a file mostly, the later ones more often have greater values.
            groups.reverse();
        }
        groups.sort_by(|a, b| self.compare_places(&a.place, &b.place));
        let mut dealt: Vec<(u64, Vec<ScanTask>)> = vec![(0, vec![]); tasks.len()];
        for group in groups {
            if let Some((bytes, tasks)) = dealt.iter_mut().min_by_key(|(bytes, _)| *bytes) {
                let more = group.tasks.iter().map(ScanTask::bytes).fold(1, u64::saturating_add);
                *bytes = bytes.saturating_add(more);
                tasks.extend(group.tasks);
            }
        }
        Some(dealt.into_iter().map(|(_, tasks)| tasks).collect())
    }

    /// The tasks that are better not torn apart: files of one section are merged for the first of them.
    fn groups(&self, tasks: &Tasks) -> Vec<Group> {
        let mut groups: Vec<Group> = vec![];
        let mut of_section: HashMap<*const MergeSection, usize> = HashMap::new();
        for task in tasks.iter().flatten() {
            let section = match task {
                ScanTask::Read(unit) => unit.merge.as_ref().map(|merge| Arc::as_ptr(&merge.section)),
                ScanTask::Combine(_) => None,
            };
            let place = self.place_of(task);
            let known = section.and_then(|section| of_section.get(&section).copied());
            if let Some(group) = known.and_then(|at| groups.get_mut(at)) {
                group.tasks.push(task.clone());
                if self.compare_places(&place, &group.place).is_lt() {
                    group.place = place;
                }
                continue;
            }
            if let Some(section) = section {
                of_section.insert(section, groups.len());
            }
            groups.push(Group { place, tasks: vec![task.clone()] });
        }
        groups
    }

    /// Where the first row of a task may be.
    fn place_of(&self, task: &ScanTask) -> Vec<Place> {
        let of_unit = |unit: &ScanUnit| {
            let ranges = column_ranges(&self.context, unit);
            self.keys.iter().zip(ranges).map(|(key, range)| key.place(range)).collect::<Vec<_>>()
        };
        match task {
            ScanTask::Read(unit) => of_unit(unit),
            ScanTask::Combine(unit) => {
                let files = unit.section.files().map(|file: &SplitFile| of_unit(&unit.section.unit(file)));
                files.min_by(|a, b| self.compare_places(a, b)).unwrap_or_default()
            }
        }
    }

    fn compare_places(&self, a: &[Place], b: &[Place]) -> Ordering {
        let column = |((key, a), b): ((&SortKey, &Place), &Place)| match (a, b) {
            (Place::Value(a), Place::Value(b)) => key.directed(a.compare(b).unwrap_or(Ordering::Equal)),
            (a, b) => a.rank().cmp(&b.rank()),
        };
        self.keys.iter().zip(a).zip(b).map(column).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl fmt::Display for FileOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, field)) in self.keys.iter().zip(self.context.output_fields()).enumerate() {
            let direction = if key.options.descending { "DESC" } else { "ASC" };
            write!(f, "{}{} {direction}", if at > 0 { ", " } else { "" }, field.name)?;
        }
        Ok(())
    }
}

impl SortKey {
    fn directed(&self, order: Ordering) -> Ordering {
        if self.options.descending { order.reverse() } else { order }
    }

    /// Where the first row of a file with such values may be.
    fn place(&self, range: ColumnRange) -> Place {
        let nulls = range.nulls.is_some_and(|nulls| nulls > 0);
        match range.values {
            _ if nulls && self.options.nulls_first => Place::First,
            Some(Some((min, max))) => Place::Value(if self.options.descending { max } else { min }),
            Some(None) => Place::Last,
            None => Place::Unknown,
        }
    }
}

/// Where the first row of a file may be, by one column.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    /// Before all values, with NULLs.
    First,
    /// Not before this value.
    Value(Datum),
    /// Behind all values, with NULLs.
    Last,
    /// Anywhere: what could be passed over comes before it.
    Unknown,
}

impl Place {
    fn rank(&self) -> u8 {
        match self {
            Place::First => 0,
            Place::Value(_) => 1,
            Place::Last => 2,
            Place::Unknown => 3,
        }
    }
}

/// Tasks that stay together.
struct Group {
    place: Vec<Place>,
    tasks: Vec<ScanTask>,
}

/// The values of the columns in the first and the last row of a task.
type RowsRange = (Vec<Option<Datum>>, Vec<Option<Datum>>);

/// A task that gives sorted rows.
#[derive(Clone)]
struct Ranged {
    range: RowsRange,
    task: ScanTask,
}

impl Ranged {
    /// The file that it reads; `None` where it merges.
    fn unit(&self) -> Option<&ScanUnit> {
        match &self.task {
            ScanTask::Read(unit) if unit.merge.is_none() => Some(unit),
            _ => None,
        }
    }

    /// The file that it reads a part of, and which.
    fn part(&self) -> Option<(&str, &Range<u64>)> {
        let file = &self.unit()?.file;
        Some((file.path.as_str(), file.range.as_ref()?))
    }
}

/// What an output partition reads.
#[derive(Default)]
struct Chain {
    tasks: Vec<ScanTask>,
    last: Option<Ranged>,
    bytes: u64,
}

/// The same tasks without cuts through files.
fn without_cuts(ranged: &[Ranged]) -> Vec<Ranged> {
    let first = |one: &&Ranged| one.unit().and_then(|u| u.file.range.as_ref()).is_none_or(|range| range.start == 0);
    let whole = |one: &Ranged| match one.unit() {
        Some(unit) => {
            let file = SplitFile { range: None, ..unit.file.clone() };
            Ranged { range: one.range.clone(), task: ScanTask::Read(ScanUnit { file, ..unit.clone() }) }
        }
        None => one.clone(),
    };
    ranged.iter().filter(first).map(whole).collect()
}

/// The key of a file whose rows are sorted by it, column by column.
struct KeyColumns {
    mapping: Arc<SchemaMapping>,
    columns: std::vec::IntoIter<(DataField, Option<Datum>, Option<Datum>)>,
    is_orc: bool,
}

impl KeyColumns {
    /// `None` of a file that is not sorted by a key.
    fn new(context: &ScanContext, unit: &ScanUnit) -> Option<Self> {
        let (source, meta) = (context.source(&unit.branch).ok()?, unit.file.meta.as_ref());
        let schema = source.by_id.get(&meta.schema_id).filter(|schema| is_sorted_by_key(schema))?;
        let fields = schema.trimmed_primary_key_fields();
        let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
        let key = |bytes: &[u8]| BinaryRow::from_serialized(bytes).ok()?.decode(&types).ok();
        let (min, max) = (key(&meta.min_key)?, key(&meta.max_key)?);
        let columns: Vec<_> = fields.into_iter().zip(min).zip(max).map(|((f, min), max)| (f, min, max)).collect();
        let is_orc = meta.is_orc();
        Some(Self { mapping: context.mapping(unit).ok()?, columns: columns.into_iter(), is_orc })
    }

    /// The values in the first and last row of the next column of the key, if that is column `at` of the scan.
    fn next(&mut self, at: usize, wanted: &DataField) -> Option<(Datum, Datum)> {
        let (field, min, max) = self.columns.next()?;
        let Origin::Same(of_file) = self.mapping.origin(at) else { return None };
        let same = of_file.id == field.id && field.data_type.kind == wanted.data_type.kind;
        // ORC takes times through calendars, which may change their order.
        let is_time =
            matches!(field.data_type.kind, TypeKind::Date | TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_));
        (same && is_ordered_alike(&field.data_type.kind) && !(self.is_orc && is_time)).then_some((min?, max?))
    }
}

/// Whether the files of a schema are sorted by its primary key.
fn is_sorted_by_key(schema: &TableSchema) -> bool {
    let clustered =
        schema.options.get(CLUSTERING_OVERRIDE).is_some_and(|set| !set.trim().eq_ignore_ascii_case("false"));
    !schema.primary_keys.is_empty() && !clustered
}

/// Whether Paimon orders values as DataFusion does, also those that it shows with fewer digits than it stores.
fn is_ordered_alike(kind: &TypeKind) -> bool {
    use TypeKind::*;
    match kind {
        Boolean | TinyInt | SmallInt | Int | BigInt | Decimal { .. } | VarChar(_) | Binary(_) | VarBinary(_) | Date => {
            true
        }
        Timestamp(digits) | TimestampLtz(digits) => matches!(digits, 3 | 6 | 9),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::exec::context::SourceSchemas;
    use crate::spec::binary_row::serialize_row;
    use crate::spec::data_file::DataFileMeta;

    const SCHEMA: &[u8] = br#"{"version":3,"id":0,"fields":[{"id":0,"name":"k","type":"INT NOT NULL"}],
        "partitionKeys":[],"primaryKeys":["k"],"options":{"bucket":"1"}}"#;

    fn order(schema: TableSchema) -> FileOrder {
        let fields = schema.fields.clone();
        let source = SourceSchemas { by_id: HashMap::from([(0, Arc::new(schema))]), ..SourceSchemas::default() };
        let spec = ScanSpec { sources: HashMap::from([(None, source)]), ..ScanSpec::of_columns(fields) };
        let options = SortOptions { descending: false, nulls_first: false };
        FileOrder::new(&Arc::new(spec), vec![SortKey { column: 0, options }]).unwrap()
    }

    /// The parts of a file of a hundred bytes, with keys from `keys.0` to `keys.1`.
    fn file(name: &str, keys: (i32, i32), cuts: &[u64]) -> Vec<ScanTask> {
        let key = |k| serialize_row(&[TypeKind::Int.not_null()], &[Some(Datum::Int(k))]).unwrap();
        let (min_key, max_key) = (key(keys.0), key(keys.1));
        let file_name = format!("{name}.parquet");
        let meta = Arc::new(DataFileMeta { file_name, file_size: 100, min_key, max_key, ..DataFileMeta::empty() });
        let ends = cuts.iter().copied().chain([100]);
        let ranges = std::iter::once(0).chain(cuts.iter().copied()).zip(ends).map(|(from, to)| from..to);
        let task = |range: Range<u64>| {
            let range = (!cuts.is_empty()).then_some(range);
            let file = SplitFile { path: name.to_owned(), meta: Arc::clone(&meta), deletion: None, range };
            let partition = serialize_row([], &[]).unwrap().into();
            ScanTask::Read(ScanUnit { branch: None, partition, bucket: (0, 1), file, merge: None })
        };
        ranges.map(task).collect()
    }

    fn dealt(tasks: Option<Tasks>) -> Option<Vec<Vec<String>>> {
        let name = |task: &ScanTask| match task {
            ScanTask::Read(unit) => match &unit.file.range {
                Some(range) => format!("{}{}-{}", unit.file.path, range.start, range.end),
                None => unit.file.path.clone(),
            },
            ScanTask::Combine(_) => panic!("no section"),
        };
        Some(tasks?.iter().map(|tasks| tasks.iter().map(name).collect()).collect())
    }

    fn sorted(files: Vec<Vec<ScanTask>>, partitions: usize) -> Option<Vec<Vec<String>>> {
        let mut tasks = vec![vec![]; partitions];
        tasks[0] = files.into_iter().flatten().collect();
        dealt(order(TableSchema::from_json(SCHEMA).unwrap()).sorted(&tasks))
    }

    fn strings(lists: &[&[&str]]) -> Option<Vec<Vec<String>>> {
        Some(lists.iter().map(|list| list.iter().map(|&text| text.to_owned()).collect()).collect())
    }

    #[test]
    fn files_that_follow_each_other_are_sorted() {
        let files = || vec![file("c", (7, 9), &[]), file("a", (1, 3), &[]), file("b", (3, 6), &[])];
        assert_eq!(sorted(files(), 1), strings(&[&["a", "b", "c"]]));
        assert_eq!(sorted(files(), 2), strings(&[&["a", "c"], &["b"]]));
        assert_eq!(sorted(files(), 4), strings(&[&["a"], &["b"], &["c"], &[]]));
        let beside = || vec![file("a", (1, 5), &[]), file("b", (4, 9), &[]), file("c", (6, 7), &[])];
        assert_eq!(sorted(beside(), 1), None);
        assert_eq!(sorted(beside(), 2), strings(&[&["a", "c"], &["b"]]));
    }

    #[test]
    fn parts_of_a_file_follow_each_other_unless_that_leaves_no_room() {
        assert_eq!(sorted(vec![file("a", (1, 9), &[50, 80])], 1), strings(&[&["a0-50", "a50-80", "a80-100"]]));
        assert_eq!(sorted(vec![file("a", (1, 9), &[50, 80])], 2), strings(&[&["a0-50"], &["a50-80", "a80-100"]]));
        let beside = vec![file("a", (1, 9), &[50]), file("b", (2, 8), &[50])];
        assert_eq!(sorted(beside, 2), strings(&[&["a"], &["b"]]));
    }

    #[test]
    fn files_that_are_ordered_otherwise_are_not_sorted() {
        let tasks = vec![file("a", (1, 9), &[])];
        for (from, to) in [
            ("\"primaryKeys\":[\"k\"]", "\"primaryKeys\":[]"),
            ("\"bucket\":\"1\"", "\"bucket\":\"1\",\"pk-clustering-override\":\"true\""),
            ("INT NOT NULL", "DOUBLE NOT NULL"),
            ("INT NOT NULL", "TIMESTAMP(0) NOT NULL"),
        ] {
            let json = String::from_utf8(SCHEMA.to_vec()).unwrap().replace(from, to);
            let schema = TableSchema::from_json(json.as_bytes()).unwrap();
            assert!(order(schema).sorted(&tasks).is_none(), "{to}");
        }
    }
}
