//! The schema file of a table: `schema/schema-{N}`.
//!
//! In: its JSON. Out: a [`TableSchema`] of which every field is filled as Java fills it for older layouts:
//! version 1 without the option `bucket` means one bucket, version 1 and 2 without `file.format` mean ORC.
//! Java: `TableSchema`, `SchemaSerializer`.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::data_type::{DataField, DataType, TypeKind};
use crate::error::{Error, Result};

/// The newest layout that Java 1.4 writes; a newer one is refused.
const CURRENT_VERSION: i64 = 3;

/// One version of a table's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// The layout of the JSON, 1 to 3.
    pub version: i64,
    /// The `N` of `schema-N`.
    pub id: i64,
    /// The columns, in the table's order.
    pub fields: Vec<DataField>,
    /// The largest field id ever used, nested fields included.
    pub highest_field_id: i32,
    /// Names of the partition columns, in the order of the folders.
    pub partition_keys: Vec<String>,
    /// Names of the primary-key columns; empty for an append table.
    pub primary_keys: Vec<String>,
    /// Table options, defaults of older layouts filled in.
    pub options: BTreeMap<String, String>,
    /// The table's comment.
    pub comment: Option<String>,
    /// When the schema was written, in milliseconds since 1970; 0 when unknown.
    pub time_millis: i64,
}

impl TableSchema {
    /// Reads a schema file.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let value: Value =
            serde_json::from_slice(bytes).map_err(|e| Error::corrupt("schema is no JSON").caused_by(e))?;
        let object = value.as_object().ok_or_else(|| Error::corrupt("schema must be a JSON object"))?;
        let version = long(object, "version")?.unwrap_or(1);
        if !(1..=CURRENT_VERSION).contains(&version) {
            return Err(Error::unsupported(format!("schema version {version}, newer than {CURRENT_VERSION}")));
        }
        let fields = object.get("fields").and_then(Value::as_array);
        let fields = fields.ok_or_else(|| Error::corrupt("schema lacks the array 'fields'"))?;
        let mut next_id = 0;
        let fields = fields.iter().map(|f| DataField::from_json(f, &mut next_id)).collect::<Result<Vec<_>>>()?;
        let highest = long(object, "highestFieldId")?.and_then(|id| i32::try_from(id).ok());
        let schema = Self {
            version,
            id: long(object, "id")?.ok_or_else(|| Error::corrupt("schema lacks the number 'id'"))?,
            highest_field_id: highest.unwrap_or_else(|| highest_id(&fields)),
            fields,
            partition_keys: names(object, "partitionKeys")?,
            primary_keys: names(object, "primaryKeys")?,
            options: options(object, version)?,
            comment: object.get("comment").and_then(Value::as_str).map(str::to_owned),
            time_millis: long(object, "timeMillis")?.unwrap_or(0),
        };
        schema.check()?;
        Ok(schema)
    }

    /// Names must be those of columns, and no two columns may share one.
    fn check(&self) -> Result<()> {
        let mut seen = HashSet::new();
        if let Some(twice) = self.fields.iter().find(|f| !seen.insert(&f.name)) {
            return Err(Error::corrupt(format!("schema has two columns named '{}'", twice.name)));
        }
        for key in self.partition_keys.iter().chain(&self.primary_keys) {
            if !seen.contains(key) {
                return Err(Error::corrupt(format!("key '{key}' is no column of the schema")));
            }
        }
        Ok(())
    }

    /// The column of that name.
    pub fn field(&self, name: &str) -> Option<&DataField> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// The position of the column of that name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }

    /// The columns of the given names; names that are no columns are left out.
    fn fields_of<'a>(&'a self, names: impl IntoIterator<Item = &'a str>) -> Vec<DataField> {
        names.into_iter().filter_map(|n| self.field(n)).cloned().collect()
    }

    /// The partition columns, in the order of the folders.
    pub fn partition_fields(&self) -> Vec<DataField> {
        self.fields_of(self.partition_keys.iter().map(String::as_str))
    }

    /// The primary key without the partition columns: the key inside one bucket. The whole primary key where that
    /// would be nothing.
    pub fn trimmed_primary_keys(&self) -> Vec<&str> {
        let trimmed: Vec<_> =
            self.primary_keys.iter().filter(|k| !self.partition_keys.contains(k)).map(String::as_str).collect();
        if trimmed.is_empty() { self.primary_keys.iter().map(String::as_str).collect() } else { trimmed }
    }

    /// The columns of [`TableSchema::trimmed_primary_keys`].
    pub fn trimmed_primary_key_fields(&self) -> Vec<DataField> {
        self.fields_of(self.trimmed_primary_keys())
    }

    /// The columns that rows are dealt to buckets by: option `bucket-key`, else the trimmed primary key.
    pub fn bucket_keys(&self) -> Vec<String> {
        match self.options.get("bucket-key") {
            Some(keys) => keys.split(',').map(|k| k.trim().to_owned()).filter(|k| !k.is_empty()).collect(),
            None => self.trimmed_primary_keys().into_iter().map(str::to_owned).collect(),
        }
    }

    /// The columns of [`TableSchema::bucket_keys`].
    pub fn bucket_key_fields(&self) -> Vec<DataField> {
        let keys = self.bucket_keys();
        self.fields_of(keys.iter().map(String::as_str))
    }
}

/// The largest id among fields, nested ones included.
fn highest_id(fields: &[DataField]) -> i32 {
    fn of_type(t: &DataType) -> i32 {
        match &t.kind {
            TypeKind::Row(fields) => highest_id(fields),
            TypeKind::Array(e) | TypeKind::Multiset(e) | TypeKind::Vector(e, _) => of_type(e),
            TypeKind::Map(k, v) => of_type(k).max(of_type(v)),
            _ => -1,
        }
    }
    fields.iter().map(|f| f.id.max(of_type(&f.data_type))).max().unwrap_or(-1)
}

fn long(object: &Map<String, Value>, key: &str) -> Result<Option<i64>> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(v) => {
            v.as_i64().map(Some).ok_or_else(|| Error::corrupt(format!("schema: '{key}' must be a number, got {v}")))
        }
    }
}

fn names(object: &Map<String, Value>, key: &str) -> Result<Vec<String>> {
    let wrong = || Error::corrupt(format!("schema: '{key}' must be an array of strings"));
    match object.get(key) {
        None | Some(Value::Null) => Ok(vec![]),
        Some(Value::Array(list)) => list.iter().map(|v| v.as_str().map(str::to_owned).ok_or_else(wrong)).collect(),
        Some(_) => Err(wrong()),
    }
}

fn options(object: &Map<String, Value>, version: i64) -> Result<BTreeMap<String, String>> {
    let mut options = BTreeMap::new();
    match object.get("options") {
        None | Some(Value::Null) => {}
        Some(Value::Object(map)) => {
            for (key, value) in map {
                let text = match value {
                    Value::String(s) => s.clone(),
                    Value::Null => continue,
                    other => other.to_string(),
                };
                options.insert(key.clone(), text);
            }
        }
        Some(_) => return Err(Error::corrupt("schema: 'options' must be an object of strings")),
    }
    if version <= 1 {
        options.entry("bucket".into()).or_insert_with(|| "1".into());
    }
    if version <= 2 {
        options.entry("file.format".into()).or_insert_with(|| "orc".into());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_gets_the_defaults_of_its_time() {
        let s = TableSchema::from_json(
            br#"{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"partitionKeys":[],
            "primaryKeys":[],"options":{}}"#,
        )
        .unwrap();
        assert_eq!((s.version, s.highest_field_id, s.time_millis), (1, 0, 0));
        assert_eq!((s.options["bucket"].as_str(), s.options["file.format"].as_str()), ("1", "orc"));
    }

    #[test]
    fn version_3_keeps_its_options_and_derives_its_keys() {
        let s = TableSchema::from_json(
            br#"{"version":3,"id":7,"highestFieldId":9,"fields":[
            {"id":0,"name":"p","type":"INT NOT NULL"},{"id":1,"name":"k","type":"INT NOT NULL"},
            {"id":2,"name":"r","type":{"type":"ROW","fields":[{"id":9,"name":"x","type":"INT"}]}}],
            "partitionKeys":["p"],"primaryKeys":["k","p"],"options":{"a":"b"},"comment":"c","timeMillis":5}"#,
        )
        .unwrap();
        assert_eq!(s.options.len(), 1);
        assert_eq!(s.trimmed_primary_keys(), ["k"]);
        assert_eq!(s.bucket_keys(), ["k"]);
        assert_eq!(s.partition_fields()[0].name, "p");
        assert_eq!(highest_id(&s.fields), 9);
    }

    #[test]
    fn what_is_no_schema_is_an_error() {
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"id":0}"#,
            r#"{"id":"0","fields":[]}"#,
            r#"{"version":4,"id":0,"fields":[]}"#,
            r#"{"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":1,"name":"a","type":"INT"}]}"#,
            r#"{"id":0,"fields":[],"primaryKeys":["k"]}"#,
            r#"{"id":0,"fields":[],"options":[]}"#,
        ] {
            assert!(TableSchema::from_json(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
