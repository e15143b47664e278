//! A model for tests: the engines row at a time, as the reference's merge functions go about it.
//!
//! Values are text, NULL is `None`; sequences are text of numbers. The function `trace` writes down what is done.

use std::cmp::Ordering;
use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};

use crate::error::Result;
use crate::exec::merge::aggregate::{Aggregator, Step, Versions};
use crate::spec::row_kind::RowKind;

/// The values of a row, one for each column.
pub type Values = Vec<Option<String>>;

/// An aggregate function that tells what it was asked to do.
#[derive(Debug)]
pub struct Trace;

impl Trace {
    fn apply(acc: Option<&str>, sign: char, new: Option<&str>) -> Option<String> {
        Some(format!("({}{sign}{})", acc.unwrap_or("~"), new.unwrap_or("~")))
    }
}

impl Aggregator for Trace {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let mut out = vec![];
        for key in versions.offsets.windows(2) {
            let mut acc: Option<String> = None;
            for at in key[0] as usize..key[1] as usize {
                let member = versions.members[at];
                let input = versions.inputs[member.input as usize].as_string_view();
                let new = input.is_valid(member.row as usize).then(|| input.value(member.row as usize));
                acc = match versions.steps[at] {
                    Step::Skip => acc,
                    Step::Aggregate => Trace::apply(acc.as_deref(), '+', new),
                    Step::AggregateReversed => Trace::apply(acc.as_deref(), '<', new),
                    Step::Retract => Trace::apply(acc.as_deref(), '-', new),
                    Step::Set => new.map(str::to_owned),
                    Step::Clear => None,
                };
            }
            out.push(acc);
        }
        Ok(std::sync::Arc::new(StringViewArray::from_iter(out)))
    }
}

/// A group: its sequence columns, the columns that they govern, whether its deletes remove the row.
#[derive(Debug, Clone)]
pub struct Group {
    pub sequence: Vec<usize>,
    pub governed: Vec<usize>,
    pub removes: bool,
}

/// An engine with its options, columns by their places.
#[derive(Debug, Clone)]
pub enum Engine {
    PartialUpdate { ignore_delete: bool, remove_on_delete: bool, groups: Vec<Group>, functions: HashMap<usize, String> },
    Aggregation { remove_on_delete: bool, functions: HashMap<usize, String>, ignore_retract: Vec<usize> },
}

impl Engine {
    /// What becomes of several versions, oldest first; `None`: no row. An error where a delete has no meaning.
    pub fn merge(&self, versions: &[(RowKind, Values)]) -> Result<Option<Values>, ()> {
        match self {
            Engine::PartialUpdate { .. } => self.partial_update(versions),
            Engine::Aggregation { remove_on_delete, functions, ignore_retract } => {
                let mut row = vec![None; versions[0].1.len()];
                let mut deleted = false;
                for (kind, new) in versions {
                    deleted = *remove_on_delete && *kind == RowKind::Delete;
                    if deleted {
                        row.clone_from(new);
                        continue;
                    }
                    for (at, acc) in row.iter_mut().enumerate() {
                        let function = functions.get(&at).map_or("last_non_null_value", String::as_str);
                        if kind.is_add() {
                            *acc = aggregate(function, acc.take(), new[at].clone());
                        } else if !ignore_retract.contains(&at) {
                            *acc = retract(function, acc.take(), new[at].clone());
                        }
                    }
                }
                Ok((!deleted).then_some(row))
            }
        }
    }

    fn partial_update(&self, versions: &[(RowKind, Values)]) -> Result<Option<Values>, ()> {
        let Engine::PartialUpdate { ignore_delete, remove_on_delete, groups, .. } = self else { panic!() };
        let mut row = vec![None; versions[0].1.len()];
        let (mut filled, mut met_insert, mut deleted) = (false, false, false);
        for (kind, new) in versions {
            deleted = false;
            if kind.is_retract() {
                if !filled {
                    row.clone_from(new);
                    filled = true;
                }
                if *ignore_delete {
                } else if !groups.is_empty() {
                    deleted = self.retract_groups(&mut row, *kind, new);
                } else if !*remove_on_delete {
                    return Err(());
                } else if *kind == RowKind::Delete {
                    row.clone_from(new);
                    deleted = true;
                }
                continue;
            }
            self.update(&mut row, new);
            (met_insert, filled) = (true, true);
        }
        Ok((met_insert && !deleted).then_some(row))
    }

    fn group_of(&self, column: usize) -> Option<&Group> {
        let Engine::PartialUpdate { groups, .. } = self else { panic!() };
        groups.iter().find(|g| g.sequence.contains(&column) || g.governed.contains(&column))
    }

    fn function_of(&self, column: usize) -> Option<&str> {
        let Engine::PartialUpdate { functions, .. } = self else { panic!() };
        functions.get(&column).map(String::as_str)
    }

    fn update(&self, row: &mut Values, new: &Values) {
        let mut done = vec![false; row.len()];
        for at in 0..row.len() {
            let Some(group) = self.group_of(at) else {
                if new[at].is_some() {
                    row[at].clone_from(&new[at]);
                }
                continue;
            };
            if done[at] || group.sequence.iter().all(|s| new[*s].is_none()) {
                continue;
            }
            if compare(&group.sequence, new, row) != Ordering::Less {
                if group.sequence.contains(&at) {
                    for s in &group.sequence {
                        row[*s].clone_from(&new[*s]);
                        done[*s] = true;
                    }
                    continue;
                }
                row[at] = match self.function_of(at) {
                    Some(function) => aggregate(function, row[at].take(), new[at].clone()),
                    None => new[at].clone(),
                };
            } else if let Some(function) = self.function_of(at) {
                row[at] = aggregate_reversed(function, row[at].take(), new[at].clone());
            }
        }
    }

    fn retract_groups(&self, row: &mut Values, kind: RowKind, new: &Values) -> bool {
        let mut done = vec![false; row.len()];
        for at in 0..row.len() {
            let Some(group) = self.group_of(at) else { continue };
            if done[at] || group.sequence.iter().all(|s| new[*s].is_none()) {
                continue;
            }
            let function = self.function_of(at);
            if compare(&group.sequence, new, row) != Ordering::Less {
                if group.sequence.contains(&at) {
                    if kind == RowKind::Delete && group.removes {
                        row.clone_from(new);
                        return true;
                    }
                    for s in &group.sequence {
                        row[*s].clone_from(&new[*s]);
                        done[*s] = true;
                    }
                } else {
                    row[at] = function.and_then(|f| retract(f, row[at].take(), new[at].clone()));
                }
            } else if let Some(function) = function {
                row[at] = retract(function, row[at].take(), new[at].clone());
            }
        }
        false
    }
}

fn compare(sequence: &[usize], a: &Values, b: &Values) -> Ordering {
    let number = |row: &Values, at: usize| row[at].as_ref().map(|v| v.parse::<i64>().unwrap());
    let orders = sequence.iter().map(|s| number(a, *s).cmp(&number(b, *s)));
    orders.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn aggregate(function: &str, acc: Option<String>, new: Option<String>) -> Option<String> {
    match function {
        "last_non_null_value" => new.or(acc),
        "last_value" | "primary-key" => new,
        "trace" => Trace::apply(acc.as_deref(), '+', new.as_deref()),
        other => panic!("{other}"),
    }
}

fn aggregate_reversed(function: &str, acc: Option<String>, new: Option<String>) -> Option<String> {
    match function {
        "trace" => Trace::apply(acc.as_deref(), '<', new.as_deref()),
        _ => aggregate(function, new, acc),
    }
}

fn retract(function: &str, acc: Option<String>, new: Option<String>) -> Option<String> {
    match function {
        "last_non_null_value" => {
            if new.is_some() {
                None
            } else {
                acc
            }
        }
        "last_value" => None,
        "primary-key" => new,
        "trace" => Trace::apply(acc.as_deref(), '-', new.as_deref()),
        other => panic!("{other}"),
    }
}
