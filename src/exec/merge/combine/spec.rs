//! What a table's options say of combining versions: [`CombineSpec`].
//!
//! In: a table's schema and options. Out: the engine's rules, columns by their ids, so that they hold for the files of
//! all schemas. Options that name no column, or contradict each other, are errors, as in the reference. Java: the
//! factories of `PartialUpdateMergeFunction` and `AggregateMergeFunction`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::options::enums::MergeEngine;
use crate::options::value::OptionValue;
use crate::spec::data_type::DataField;
use crate::spec::table_schema::TableSchema;

/// The function of columns that have none in an aggregation table.
pub const LAST_NON_NULL_VALUE: &str = "last_non_null_value";
/// The function of sequence fields in an aggregation table.
pub const LAST_VALUE: &str = "last_value";
/// The function of key columns.
pub const PRIMARY_KEY: &str = "primary-key";

const GROUP_SUFFIX: &str = "sequence-group";
const REMOVE_ON_GROUP: &str = "partial-update.remove-record-on-sequence-group";
const REMOVE_ON_DELETE: &str = "partial-update.remove-record-on-delete";

/// How an engine makes one row of the versions of a key.
#[derive(Debug, Clone)]
pub struct CombineSpec {
    /// The engine and its own options.
    pub engine: Engine,
    /// The functions of columns that have one, by the columns' ids.
    pub functions: HashMap<i32, String>,
    /// The table's options, for those of functions.
    pub options: Arc<TableOptions>,
}

/// An engine that combines versions.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// `partial-update`
    PartialUpdate {
        /// Option `ignore-delete`.
        ignore_delete: bool,
        /// Option `partial-update.remove-record-on-delete`.
        remove_on_delete: bool,
        /// Options `fields.NAME.sequence-group`.
        groups: Vec<SequenceGroup>,
    },
    /// `aggregation`
    Aggregation {
        /// Option `aggregation.remove-record-on-delete`.
        remove_on_delete: bool,
    },
}

/// Columns that are updated where other columns are not older.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceGroup {
    /// The columns that say what is older, in the order in which they are compared.
    pub sequence: Vec<DataField>,
    /// The ids of the columns that they govern, their own not included.
    pub governed: Vec<i32>,
    /// Whether a delete of this group removes the whole row.
    pub removes_record: bool,
}

impl SequenceGroup {
    /// Whether a column is one of those that are compared.
    pub fn is_sequence(&self, id: i32) -> bool {
        self.sequence.iter().any(|f| f.id == id)
    }

    /// Whether a column is of this group.
    pub fn has(&self, id: i32) -> bool {
        self.is_sequence(id) || self.governed.contains(&id)
    }
}

impl CombineSpec {
    /// The rules of a table; `None` where its engine picks one of the versions.
    pub fn new(schema: &TableSchema, options: &TableOptions) -> Result<Option<Self>> {
        let (engine, functions) = match options.merge_engine {
            MergeEngine::PartialUpdate => partial_update(schema, options)?,
            MergeEngine::Aggregation => aggregation(schema, options)?,
            MergeEngine::Deduplicate | MergeEngine::FirstRow => return Ok(None),
        };
        for field in schema.fields.iter().filter(|f| functions.contains_key(&f.id)) {
            if options.aggregation_remove_record_on_delete && ignores_retract(options, &field.name)? {
                let option = format!("fields.{}.ignore-retract", field.name);
                return Err(conflict("aggregation.remove-record-on-delete", &option));
            }
        }
        Ok(Some(Self { engine, functions, options: Arc::new(options.clone()) }))
    }
}

type Functions = HashMap<i32, String>;

fn aggregation(schema: &TableSchema, options: &TableOptions) -> Result<(Engine, Functions)> {
    let sequence = options.sequence_field.as_deref().unwrap_or_default();
    let function = |field: &DataField| {
        let name = match field.name.as_str() {
            name if sequence.iter().any(|s| s == name) => LAST_VALUE,
            name if schema.primary_keys.iter().any(|k| k == name) => PRIMARY_KEY,
            name => options.aggregate_function(name).unwrap_or(LAST_NON_NULL_VALUE),
        };
        (field.id, name.to_owned())
    };
    let functions = schema.fields.iter().map(function).collect();
    Ok((Engine::Aggregation { remove_on_delete: options.aggregation_remove_record_on_delete }, functions))
}

fn partial_update(schema: &TableSchema, options: &TableOptions) -> Result<(Engine, Functions)> {
    let mut groups = sequence_groups(schema, options)?;
    let mut functions = HashMap::new();
    for field in &schema.fields {
        let is_key = schema.primary_keys.contains(&field.name);
        if is_key || groups.iter().any(|g| g.is_sequence(field.id)) {
            continue;
        }
        let Some(function) = options.aggregate_function(&field.name) else { continue };
        if groups.iter().any(|g| g.has(field.id)) {
            functions.insert(field.id, function.to_owned());
        } else if function != LAST_NON_NULL_VALUE {
            let message =
                format!("column '{}' has the aggregate function '{function}' but no sequence group", field.name);
            return Err(Error::invalid_option(message));
        }
    }
    let (ignore_delete, remove_on_delete) = (options.ignore_delete, options.partial_update_remove_record_on_delete);
    let removing = options.partial_update_remove_record_on_sequence_group.as_deref();
    if ignore_delete && remove_on_delete {
        return Err(conflict("ignore-delete", REMOVE_ON_DELETE));
    }
    if ignore_delete && removing.is_some() {
        return Err(conflict("ignore-delete", REMOVE_ON_GROUP));
    }
    if remove_on_delete && !groups.is_empty() {
        return Err(conflict(GROUP_SUFFIX, REMOVE_ON_DELETE));
    }
    for name in removing.unwrap_or_default() {
        let group = groups.iter_mut().find(|g| g.sequence.iter().any(|f| f.name == *name));
        let group = group.ok_or_else(|| no_sequence(name))?;
        group.removes_record = true;
    }
    Ok((Engine::PartialUpdate { ignore_delete, remove_on_delete, groups }, functions))
}

fn sequence_groups(schema: &TableSchema, options: &TableOptions) -> Result<Vec<SequenceGroup>> {
    let mut groups: Vec<SequenceGroup> = vec![];
    let keys = options.raw().iter().filter(|(k, _)| k.starts_with("fields") && k.ends_with(GROUP_SUFFIX));
    for (key, value) in keys {
        let names = key.strip_prefix("fields.").and_then(|k| k.strip_suffix(GROUP_SUFFIX)?.strip_suffix('.'));
        let names =
            names.ok_or_else(|| Error::invalid_option(format!("'{key}': expected fields.NAME.{GROUP_SUFFIX}")))?;
        let sequence = columns(schema, key, names)?;
        let governed: Vec<_> = columns(schema, key, value)?.into_iter().filter(|f| !sequence.contains(f)).collect();
        for field in sequence.iter().chain(&governed) {
            if schema.primary_keys.contains(&field.name) {
                return Err(Error::invalid_option(format!("'{key}' names '{}' of the primary key", field.name)));
            }
            if groups.iter().any(|g| g.has(field.id)) {
                return Err(Error::invalid_option(format!("column '{}' is in two sequence groups", field.name)));
            }
        }
        let governed = governed.into_iter().map(|f| f.id).collect();
        groups.push(SequenceGroup { sequence, governed, removes_record: false });
    }
    Ok(groups)
}

/// The columns of a list of names in the option `key`.
fn columns(schema: &TableSchema, key: &str, names: &str) -> Result<Vec<DataField>> {
    let column = |name: &str| {
        let field = schema.field(name).cloned();
        field.ok_or_else(|| Error::invalid_option(format!("'{key}': there is no column '{name}'")))
    };
    names.trim_end_matches(',').split(',').map(column).collect()
}

/// Option `fields.NAME.ignore-retract`.
pub fn ignores_retract(options: &TableOptions, column: &str) -> Result<bool> {
    let key = format!("fields.{column}.ignore-retract");
    let Some(value) = options.get(&key) else { return Ok(false) };
    let wrong = || Error::invalid_option(format!("'{key}' = '{value}': expected {}", bool::expected()));
    bool::parse(value).ok_or_else(wrong)
}

fn conflict(one: &str, other: &str) -> Error {
    Error::invalid_option(format!("'{one}' and '{other}' contradict each other"))
}

fn no_sequence(name: &str) -> Error {
    Error::invalid_option(format!("'{REMOVE_ON_GROUP}': '{name}' is the sequence of no sequence group"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn spec(pairs: &[(&str, &str)]) -> Result<CombineSpec> {
        let schema = r#"{"version":3,"id":0,"fields":[{"id":0,"name":"k","type":"INT NOT NULL"},
            {"id":1,"name":"g","type":"INT"},{"id":2,"name":"h","type":"INT"},{"id":3,"name":"a","type":"INT"},
            {"id":4,"name":"b","type":"INT"}],"partitionKeys":[],"primaryKeys":["k"],"options":{}}"#;
        let schema = TableSchema::from_json(schema.as_bytes()).unwrap();
        let options: BTreeMap<_, _> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        CombineSpec::new(&schema, &TableOptions::effective(&options, &BTreeMap::new())?).map(Option::unwrap)
    }

    fn partial(pairs: &[(&str, &str)]) -> Result<CombineSpec> {
        spec(&[pairs, &[("merge-engine", "partial-update")]].concat())
    }

    #[test]
    fn groups_govern_columns() {
        let s = partial(&[
            ("fields.g,h.sequence-group", "a,g"),
            ("fields.a.aggregate-function", "sum"),
            ("fields.b.aggregate-function", "last_non_null_value"),
            ("partial-update.remove-record-on-sequence-group", "h"),
        ])
        .unwrap();
        let Engine::PartialUpdate { groups, .. } = &s.engine else { panic!() };
        assert_eq!(groups[0].sequence.iter().map(|f| f.id).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((groups.len(), groups[0].governed.clone(), groups[0].removes_record), (1, vec![3], true));
        assert_eq!(s.functions, HashMap::from([(3, "sum".to_owned())]));
    }

    #[test]
    fn every_column_of_an_aggregation_has_a_function() {
        let s =
            spec(&[("merge-engine", "aggregation"), ("sequence.field", "g"), ("fields.a.aggregate-function", "sum")]);
        let functions = s.unwrap().functions;
        let names: Vec<_> = (0..5).map(|id| functions[&id].as_str()).collect();
        assert_eq!(names, [PRIMARY_KEY, LAST_VALUE, LAST_NON_NULL_VALUE, "sum", LAST_NON_NULL_VALUE]);
        let s = spec(&[("merge-engine", "aggregation"), ("fields.default-aggregate-function", "max")]);
        assert_eq!(s.unwrap().functions[&4], "max");
    }

    #[test]
    fn what_contradicts_is_refused() {
        let group = ("fields.g.sequence-group", "a");
        for (pairs, want) in [
            (vec![("ignore-delete", "true"), (REMOVE_ON_DELETE, "true")], "contradict"),
            (vec![("partial-update.ignore-delete", "true"), group, (REMOVE_ON_GROUP, "g")], "contradict"),
            (vec![group, (REMOVE_ON_DELETE, "true")], "contradict"),
            (vec![group, (REMOVE_ON_GROUP, "a")], "'a' is the sequence of no sequence group"),
            (vec![group, ("fields.h.sequence-group", "b,a")], "'a' is in two sequence groups"),
            (vec![("fields.g.sequence-group", "x")], "there is no column 'x'"),
            (vec![("fields.x.sequence-group", "a")], "there is no column 'x'"),
            (vec![("fields.g.sequence-group", "k")], "'k' of the primary key"),
            (vec![("fieldssequence-group", "a")], "expected fields.NAME.sequence-group"),
            (vec![group, ("fields.b.aggregate-function", "sum")], "'b' has the aggregate function 'sum' but no"),
            (vec![group, ("fields.default-aggregate-function", "sum")], "but no sequence group"),
        ] {
            let e = partial(&pairs).unwrap_err().to_string();
            assert!(e.contains(want), "{pairs:?}: {e}");
        }
        let e = spec(&[
            ("merge-engine", "aggregation"),
            ("aggregation.remove-record-on-delete", "true"),
            ("fields.a.ignore-retract", "true"),
        ]);
        assert!(e.unwrap_err().to_string().contains("contradict"));
    }
}
