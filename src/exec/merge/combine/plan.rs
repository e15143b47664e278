//! What combining the wanted columns takes: [`CombinePlan`].
//!
//! In: a table's [`CombineSpec`] and the wanted columns. Out: the columns to read, which are the wanted ones and the
//! sequence columns of their groups, and for each wanted one its track and its function. Java:
//! `PartialUpdateMergeFunction.Factory.adjustReadType`; beyond it, the sequences of groups whose deletes remove a row
//! are always read, so that the same rows come whatever columns are asked for.

use arrow::array::RecordBatch;

use super::aggregation;
use super::function::Function;
use super::partial_update::{Group, GroupTrack, PartialUpdate, Steps, UNGROUPED_TRACK, track};
use super::program::{KeyVersion, Program};
use super::runs::Inputs;
use super::sequence::{SequenceEncoder, SequenceValues};
use super::spec::{CombineSpec, Engine, LAST_NON_NULL_VALUE, SequenceGroup};
use crate::error::Result;
use crate::spec::data_type::DataField;

/// How versions become rows of the wanted columns.
#[derive(Debug)]
pub struct CombinePlan {
    read_fields: Vec<DataField>,
    columns: Vec<Column>,
    engine: EnginePlan,
}

/// A wanted column.
#[derive(Debug)]
pub struct Column {
    /// What it is; it is the n-th of what is read.
    pub field: DataField,
    /// The steps that it follows.
    pub track: usize,
    /// What it does at each.
    pub function: Function,
}

#[derive(Debug)]
enum EnginePlan {
    PartialUpdate(PartialUpdate),
    Aggregation { remove_on_delete: bool },
}

impl CombinePlan {
    /// A plan for wanted columns.
    pub fn new(spec: &CombineSpec, wanted: &[DataField]) -> Result<Self> {
        let (columns, read_fields) = (vec![], wanted.to_vec());
        let engine = EnginePlan::Aggregation { remove_on_delete: false };
        let mut plan = Self { read_fields, columns, engine };
        match &spec.engine {
            Engine::Aggregation { remove_on_delete } => {
                plan.engine = EnginePlan::Aggregation { remove_on_delete: *remove_on_delete };
                for field in wanted {
                    let name = spec.functions.get(&field.id).map_or(LAST_NON_NULL_VALUE, String::as_str);
                    plan.column(field, UNGROUPED_TRACK, Function::named(name, field, &spec.options)?);
                }
            }
            Engine::PartialUpdate { ignore_delete, remove_on_delete, groups } => {
                let concerned = |g: &&SequenceGroup| g.removes_record || wanted.iter().any(|f| g.has(f.id));
                let concerned: Vec<_> = groups.iter().filter(concerned).collect();
                let planned = concerned.iter().map(|g| plan.group(g)).collect::<Result<_>>()?;
                plan.engine = EnginePlan::PartialUpdate(PartialUpdate {
                    ignore_delete: *ignore_delete,
                    remove_on_delete: *remove_on_delete,
                    grouped: !groups.is_empty(),
                    groups: planned,
                });
                wanted.iter().try_for_each(|field| plan.partial_column(spec, &concerned, field))?;
            }
        }
        Ok(plan)
    }

    fn column(&mut self, field: &DataField, track: usize, function: Function) {
        self.columns.push(Column { field: field.clone(), track, function });
    }

    fn partial_column(&mut self, spec: &CombineSpec, groups: &[&SequenceGroup], field: &DataField) -> Result<()> {
        let group = groups.iter().enumerate().find(|(_, g)| g.has(field.id));
        let (track, function) = match (group, spec.functions.get(&field.id)) {
            (None, _) => (UNGROUPED_TRACK, Function::latest_non_null()),
            (Some((at, group)), _) if group.is_sequence(field.id) => {
                (track(at, GroupTrack::Sequence), Function::latest())
            }
            (Some((at, _)), None) => (track(at, GroupTrack::Plain), Function::latest()),
            (Some((at, _)), Some(name)) => {
                (track(at, GroupTrack::Function), Function::named(name, field, &spec.options)?)
            }
        };
        self.column(field, track, function);
        Ok(())
    }

    /// Sees to it that the sequence columns of a group are read.
    fn group(&mut self, group: &SequenceGroup) -> Result<Group> {
        let mut columns = vec![];
        for field in &group.sequence {
            let known = self.read_fields.iter().position(|f| f.id == field.id);
            columns.push(known.unwrap_or(self.read_fields.len()));
            if known.is_none() {
                self.read_fields.push(field.clone());
            }
        }
        let encoder = SequenceEncoder::new(&group.sequence, columns)?;
        Ok(Group { encoder, removes_record: group.removes_record })
    }

    /// The columns to read: the wanted ones, in their order, and others behind them.
    pub fn read_fields(&self) -> &[DataField] {
        &self.read_fields
    }

    /// The wanted columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The sequences of a batch that was read, of each group that matters.
    pub fn sequences(&self, batch: &RecordBatch) -> Result<Vec<SequenceValues>> {
        match &self.engine {
            EnginePlan::PartialUpdate(rules) => rules.groups.iter().map(|g| g.encoder.encode(batch)).collect(),
            EnginePlan::Aggregation { .. } => Ok(vec![]),
        }
    }

    /// Whether all wanted columns are on one track.
    fn is_ungrouped(&self) -> bool {
        match &self.engine {
            EnginePlan::PartialUpdate(rules) => rules.groups.is_empty(),
            EnginePlan::Aggregation { .. } => true,
        }
    }

    /// The steps of keys: `versions` of all keys, of which each key's end at one of `ends`.
    pub fn program(&self, inputs: &Inputs<'_>, versions: &[KeyVersion], ends: &[usize]) -> Result<Program> {
        if self.is_ungrouped() && versions.iter().all(|version| version.kind.is_add()) {
            return Ok(Program::of_aggregates(versions, ends));
        }
        let mut begin = 0;
        let keys = ends.iter().map(|end| versions.get(std::mem::replace(&mut begin, *end)..*end).unwrap_or_default());
        match &self.engine {
            EnginePlan::PartialUpdate(rules) => {
                let mut program = Program::new(track(rules.groups.len(), GroupTrack::Sequence));
                let mut steps = Steps::new(rules, inputs);
                for versions in keys {
                    steps.push_key(&mut program, versions)?;
                }
                Ok(program)
            }
            EnginePlan::Aggregation { remove_on_delete } => {
                let mut program = Program::new(UNGROUPED_TRACK + 1);
                keys.for_each(|versions| aggregation::push_key(&mut program, versions, *remove_on_delete));
                Ok(program)
            }
        }
    }
}
