//! Combining in columns against the model: random runs, files, levels, engines, options, projections and batch sizes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::Int32Type;
use futures::{StreamExt, TryStreamExt, stream};
use proptest::prelude::*;

use super::groups::{GroupSink, Groups};
use super::model::{Engine, Group, Values};
use super::plan::CombinePlan;
use super::runs::Run;
use super::spec::CombineSpec;
use super::stream::Combiner;
use crate::exec::merge::keys::Keys;
use crate::exec::merge::lowest_level::LowestLevel;
use crate::exec::merge::tournament::{KeyBatch, Kinds, Outcome, Positions, Sequences, merge_keys};
use crate::options::TableOptions;
use crate::selection::RowSelection;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::row_kind::RowKind;
use crate::spec::table_schema::TableSchema;

/// The columns: a key, columns on both sides of the sequences, and sequences.
const COLUMNS: [&str; 9] = ["k", "a", "b", "s", "t", "c", "u", "d", "e"];
const NUMBERS: [&str; 4] = ["k", "s", "t", "u"];

fn at(name: &str) -> usize {
    COLUMNS.iter().position(|c| *c == name).unwrap()
}

#[derive(Debug, Clone)]
struct Row {
    key: u128,
    sequence: i64,
    kind: RowKind,
    values: Values,
}

#[derive(Debug, Clone)]
struct File {
    level: i32,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Case {
    runs: Vec<Vec<File>>,
    options: Vec<(String, String)>,
    engine: Engine,
    lowest_level_only: bool,
    projection: Vec<usize>,
    batch_size: usize,
    parts: usize,
}

fn schema() -> TableSchema {
    let field = |(id, name): (usize, &&str)| {
        let data_type = match *name {
            "k" => "INT NOT NULL",
            name if NUMBERS.contains(&name) => "INT",
            _ => "STRING",
        };
        format!(r#"{{"id":{},"name":"{name}","type":"{data_type}"}}"#, id * 3)
    };
    let fields: Vec<_> = COLUMNS.iter().enumerate().map(field).collect();
    let json = format!(
        r#"{{"version":3,"id":0,"fields":[{}],"partitionKeys":[],"primaryKeys":["k"],"options":{{}}}}"#,
        fields.join(",")
    );
    TableSchema::from_json(json.as_bytes()).unwrap()
}

/// The values of rows as columns of a batch.
fn batch(fields: &[DataField], rows: &[&Row]) -> RecordBatch {
    let column = |field: &DataField| -> ArrayRef {
        let values = rows.iter().map(|r| r.values[at(&field.name)].as_deref());
        match field.data_type.kind {
            TypeKind::Int => Arc::new(Int32Array::from_iter(values.map(|v| v.map(|v| v.parse::<i32>().unwrap())))),
            _ => Arc::new(StringViewArray::from_iter(values)),
        }
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(arrow_schema(fields), fields.iter().map(column).collect(), &options).unwrap()
}

/// The columns of a batch as values of rows.
fn rows_of(batch: &RecordBatch) -> Vec<Values> {
    let value = |column: &ArrayRef, row: usize| match column.as_primitive_opt::<Int32Type>() {
        Some(numbers) => numbers.is_valid(row).then(|| numbers.value(row).to_string()),
        None => column.is_valid(row).then(|| column.as_string_view().value(row).to_owned()),
    };
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(|c| value(c, row)).collect()).collect()
}

fn key_batches(file: usize, rows: &[Row], size: usize) -> Vec<crate::error::Result<KeyBatch>> {
    let batch = |(n, rows): (usize, &[Row])| {
        Ok(KeyBatch {
            file,
            positions: Positions::From(n * size),
            keys: Keys::Fixed(rows.iter().map(|r| r.key).collect()),
            user_sequences: None,
            sequences: Sequences::Each(rows.iter().map(|r| r.sequence).collect()),
            kinds: Kinds::Each(rows.iter().map(|r| r.kind).collect()),
            held: None,
        })
    };
    rows.chunks(size).enumerate().map(batch).collect()
}

impl Case {
    fn groups(&self) -> (Vec<Vec<usize>>, Groups) {
        let rows: Vec<Vec<_>> = self.runs.iter().map(|run| run.iter().map(|f| f.rows.len()).collect()).collect();
        let mut sink = GroupSink::new(&rows).unwrap();
        let mut file = 0;
        let mut streams = vec![];
        for run in &self.runs {
            let mut batches = vec![];
            for f in run {
                batches.extend(key_batches(file, &f.rows, self.batch_size));
                file += 1;
            }
            streams.push(stream::iter(batches).boxed());
        }
        let levels = self.runs.iter().flatten().map(|f| f.level).collect();
        let merge = async {
            if self.lowest_level_only {
                merge_keys(streams, &mut LowestLevel::new(&mut sink, levels), None).await
            } else {
                merge_keys(streams, &mut sink, None).await
            }
        };
        assert_eq!(futures::executor::block_on(merge).unwrap(), Outcome::Done);
        let (alone, groups) = sink.finish();
        (alone.iter().map(RowSelection::positions).collect(), groups)
    }

    /// What comes of it in columns.
    fn combined(&self) -> crate::error::Result<Vec<Values>> {
        let schema = schema();
        let options = TableOptions::effective(&self.options.iter().cloned().collect(), &BTreeMap::new()).unwrap();
        let spec = CombineSpec::new(&schema, &options)?.unwrap();
        let wanted: Vec<_> = self.projection.iter().map(|c| schema.fields[*c].clone()).collect();
        let (alone, groups) = self.groups();
        let groups = Arc::new(groups);
        let mut out = vec![];
        for (file, rows) in self.runs.iter().flatten().zip(alone) {
            let rows: Vec<_> = rows.into_iter().map(|row| &file.rows[row]).collect();
            out.extend(rows_of(&batch(&wanted, &rows)));
        }
        for part in 0..self.parts {
            let part = groups.part(part, self.parts)?;
            let plan = CombinePlan::new(&spec, &wanted)?;
            let mut runs = vec![];
            let mut file = 0;
            for (run, ranks) in self.runs.iter().zip(&part.ranks) {
                let mut rows: Vec<&Row> = vec![];
                for f in run {
                    rows.extend(groups.file(file).unwrap().positions().into_iter().map(|row| &f.rows[row]));
                    file += 1;
                }
                let batches: Vec<_> =
                    rows[ranks.clone()].chunks(self.batch_size).map(|r| Ok(batch(plan.read_fields(), r))).collect();
                runs.push(Run::new(stream::iter(batches).boxed(), ranks.start));
            }
            let combiner = Combiner::new(Arc::clone(&groups), part.groups, plan, runs, self.batch_size, None);
            let batches: Vec<RecordBatch> = futures::executor::block_on(combiner.batches().try_collect())?;
            assert!(batches.iter().all(|b| b.num_rows() <= self.batch_size));
            out.extend(batches.iter().flat_map(rows_of));
        }
        out.sort();
        Ok(out)
    }

    /// What the model makes of it.
    fn expected(&self) -> Result<Vec<Values>, ()> {
        let mut keys: BTreeMap<u128, Vec<(i32, &Row)>> = BTreeMap::new();
        for file in self.runs.iter().flatten() {
            file.rows.iter().for_each(|row| keys.entry(row.key).or_default().push((file.level, row)));
        }
        let mut out = vec![];
        for mut versions in keys.into_values() {
            if let [(_, alone)] = versions.as_slice() {
                out.extend(alone.kind.is_add().then(|| alone.values.clone()));
                continue;
            }
            versions.sort_by_key(|(_, r)| (r.sequence, r.kind.is_add()));
            if self.lowest_level_only {
                let lowest = versions.iter().map(|(level, _)| *level).filter(|level| *level > 0).min();
                let first = versions.iter().position(|(level, _)| Some(*level) == lowest);
                let mut at = 0..;
                versions.retain(|(level, _)| at.next() == first || *level == 0);
            }
            let versions: Vec<_> = versions.iter().map(|(_, r)| (r.kind, r.values.clone())).collect();
            out.extend(self.engine.merge(&versions)?);
        }
        let project = |row: Values| self.projection.iter().map(|c| row[*c].clone()).collect::<Values>();
        let mut out: Vec<_> = out.into_iter().map(project).collect();
        out.sort();
        Ok(out)
    }
}

fn any_row() -> impl Strategy<Value = (u128, i64, RowKind, Vec<Option<u8>>)> {
    let kind = prop_oneof![
        6 => Just(RowKind::Insert), 2 => Just(RowKind::UpdateAfter),
        1 => Just(RowKind::UpdateBefore), 1 => Just(RowKind::Delete)];
    let values = proptest::collection::vec(proptest::option::weighted(0.7, 0u8..4), COLUMNS.len());
    (0u128..12, 0i64..40, kind, values)
}

fn row((key, sequence, kind, values): (u128, i64, RowKind, Vec<Option<u8>>), unique: &mut usize) -> Row {
    *unique += 1;
    let value = |(column, value): (&&str, Option<u8>)| match *column {
        "k" => Some(key.to_string()),
        column if NUMBERS.contains(&column) => value.map(|v| v.to_string()),
        column => value.map(|_| format!("{column}{unique}")),
    };
    // No two are of equal age: what becomes of ties is the tree's business.
    let sequence = (sequence << 32) | *unique as i64;
    Row { key, sequence, kind, values: COLUMNS.iter().zip(values).map(value).collect() }
}

fn any_runs() -> impl Strategy<Value = Vec<Vec<File>>> {
    let file = (0i32..4, proptest::collection::vec(any_row(), 0..10));
    let run = proptest::collection::vec(file, 1..3);
    proptest::collection::vec(run, 1..6).prop_map(|runs| {
        let mut unique = 0;
        let mut run = |run: Vec<(i32, Vec<_>)>| {
            let level = run[0].0;
            let mut rows: Vec<Row> =
                run.iter().flat_map(|(_, rows)| rows.clone()).map(|r| row(r, &mut unique)).collect();
            // A run has each key once.
            rows.sort_by_key(|r| r.key);
            rows.dedup_by_key(|r| r.key);
            let mut files = vec![];
            for (_, file) in &run {
                let rest = rows.split_off(file.len().min(rows.len()));
                files.push(File { level, rows: std::mem::replace(&mut rows, rest) });
            }
            files
        };
        runs.into_iter().map(&mut run).collect()
    })
}

type Choice = (Engine, Vec<(String, String)>);

fn option(key: &str, value: impl ToString) -> (String, String) {
    (key.to_owned(), value.to_string())
}

fn any_function() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("last_value"), Just("last_non_null_value"), Just("trace")]
}

fn aggregation() -> impl Strategy<Value = Choice> {
    let functions = proptest::collection::vec(proptest::option::of(any_function()), 5);
    (functions, any::<bool>(), any::<bool>()).prop_map(|(functions, remove_on_delete, ignore)| {
        let mut options = vec![
            option("merge-engine", "aggregation"),
            option("aggregation.remove-record-on-delete", remove_on_delete),
        ];
        let mut of = HashMap::from([(at("k"), "primary-key".to_owned())]);
        for (column, function) in ["a", "b", "c", "d", "e"].iter().zip(functions) {
            if let Some(function) = function {
                options.push(option(&format!("fields.{column}.aggregate-function"), function));
                of.insert(at(column), function.to_owned());
            }
        }
        let ignore_retract = if ignore && !remove_on_delete { vec![at("a"), at("s"), at("d")] } else { vec![] };
        for column in &ignore_retract {
            options.push(option(&format!("fields.{}.ignore-retract", COLUMNS[*column]), "true"));
        }
        // Without their functions such columns have the default one, which can ignore retracts too; "trace" cannot.
        let ignore_retract = ignore_retract.into_iter().filter(|c| of.get(c).is_none_or(|f| f != "trace")).collect();
        (Engine::Aggregation { remove_on_delete, functions: of, ignore_retract }, options)
    })
}

/// Two groups, (s, t) over some columns and u over others, or no group.
fn partial_update() -> impl Strategy<Value = Choice> {
    let functions = proptest::collection::vec(proptest::option::of(any_function()), 4);
    (functions, 0u8..4, any::<bool>(), 0u8..3, any::<bool>()).prop_map(
        |(functions, grouping, swap, deletes, default)| {
            let mut options = vec![option("merge-engine", "partial-update")];
            let mut groups = vec![];
            if grouping > 0 {
                let sequence = if swap { ["t", "s"] } else { ["s", "t"] };
                options.push(option(&format!("fields.{}.sequence-group", sequence.join(",")), "a,c"));
                groups.push((sequence.to_vec(), vec!["a", "c"]));
            }
            if grouping > 1 {
                options.push(option("fields.u.sequence-group", "b,d"));
                groups.push((vec!["u"], vec!["b", "d"]));
            }
            let mut of = HashMap::new();
            for (column, function) in ["a", "b", "c", "d"].iter().zip(functions) {
                let grouped = groups.iter().any(|(_, governed)| governed.contains(column));
                if let Some(function) = function.filter(|_| grouped) {
                    options.push(option(&format!("fields.{column}.aggregate-function"), function));
                    of.insert(at(column), function.to_owned());
                } else if default && grouped {
                    of.insert(at(column), "last_non_null_value".to_owned());
                }
            }
            if default {
                options.push(option("fields.default-aggregate-function", "last_non_null_value"));
            }
            let removing =
                if deletes == 2 && grouping > 0 { Some(if grouping == 3 { "u" } else { "t" }) } else { None };
            let ignore_delete = deletes == 1;
            let remove_on_delete = deletes == 2 && grouping == 0;
            options.push(option("ignore-delete", ignore_delete));
            options.push(option("partial-update.remove-record-on-delete", remove_on_delete));
            options.extend(removing.map(|r| option("partial-update.remove-record-on-sequence-group", r)));
            let places = |names: &[&str]| names.iter().map(|n| at(n)).collect::<Vec<_>>();
            let group = |(sequence, governed): &(Vec<&str>, Vec<&str>)| Group {
                sequence: places(sequence),
                governed: places(governed),
                removes: removing.is_some_and(|r| sequence.contains(&r)),
            };
            let groups = groups.iter().map(group).collect();
            (Engine::PartialUpdate { ignore_delete, remove_on_delete, groups, functions: of }, options)
        },
    )
}

fn any_case() -> impl Strategy<Value = Case> {
    let engine = prop_oneof![aggregation().boxed(), partial_update().boxed(), partial_update().boxed()];
    let projection = proptest::sample::subsequence((0..COLUMNS.len()).collect::<Vec<_>>(), 0..=COLUMNS.len());
    (any_runs(), engine, any::<bool>(), projection.prop_shuffle(), 1usize..12, 1usize..4).prop_map(
        |(runs, (engine, options), lowest_level_only, projection, batch_size, parts)| Case {
            runs,
            options,
            engine,
            lowest_level_only,
            projection,
            batch_size,
            parts,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn columns_are_combined_as_rows_are(case in any_case()) {
        match (case.combined(), case.expected()) {
            (Ok(got), Ok(want)) => prop_assert_eq!(got, want),
            (got, want) => prop_assert!(got.is_err() && want.is_err(), "{:?} {:?}", got, want),
        }
    }
}
