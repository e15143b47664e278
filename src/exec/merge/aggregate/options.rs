//! The options of one column that its aggregate function reads.
//!
//! In: a table's raw options and the name of a column. Out: [`FieldOptions`], the values of `fields.COLUMN.…`, or an
//! error that names the key whose text is of no use. Java: `CoreOptions.field…` methods.
//!
//! `nested-sequence-field` and `nested-key-null-strategy` are newer than the other keys: a table that sets one of them was
//! written by a release whose `nested_update` treats first values and limits differently ([`FieldOptions::nested_is_strict`]).

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::options::value::OptionValue;

/// The option of a table that `ignore-retract` contradicts.
const REMOVE_ON_DELETE: &str = "aggregation.remove-record-on-delete";

/// What becomes of a row whose nested key contains NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullKeys {
    /// NULL is a key value like others.
    Merge,
    /// The row is left out.
    Ignore,
    /// The read fails.
    Error,
}

/// The options of a column's aggregate function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOptions {
    /// `ignore-retract`: retracts leave the value as it is.
    pub ignore_retract: bool,
    /// `distinct`, of `collect` and `listagg`.
    pub distinct: bool,
    /// `list-agg-delimiter`.
    pub list_agg_delimiter: String,
    /// `nested-key`: fields that identify a row of a nested table; empty where there is none.
    pub nested_key: Vec<String>,
    /// `nested-key-null-strategy`, where it is set.
    pub nested_key_null_strategy: Option<NullKeys>,
    /// `nested-sequence-field`: of rows of equal key the one wins whose fields are not less.
    pub nested_sequence_field: Vec<String>,
    /// `count-limit`, rows of a nested table.
    pub count_limit: i32,
    /// `ts-field` of `merge_map_with_keytime`; the last field where it is not set.
    pub ts_field: Option<String>,
}

impl FieldOptions {
    /// Reads the options of `column` from a table's options.
    pub fn of(raw: &BTreeMap<String, String>, column: &str) -> Result<Self> {
        let reader = Reader { raw, column };
        let ignore_retract = reader.get("ignore-retract")?.unwrap_or(false);
        if ignore_retract && raw.get(REMOVE_ON_DELETE).and_then(|text| bool::parse(text)) == Some(true) {
            return Err(Error::invalid_option(format!(
                "{REMOVE_ON_DELETE} contradicts fields.{column}.ignore-retract"
            )));
        }
        Ok(Self {
            ignore_retract,
            distinct: reader.get("distinct")?.unwrap_or(false),
            list_agg_delimiter: reader.get("list-agg-delimiter")?.unwrap_or_else(|| ",".into()),
            nested_key: reader.names("nested-key"),
            nested_key_null_strategy: reader.get("nested-key-null-strategy")?,
            nested_sequence_field: reader.names("nested-sequence-field"),
            count_limit: reader.get("count-limit")?.unwrap_or(i32::MAX),
            ts_field: reader.get("ts-field")?,
        })
    }

    /// Whether the first value of a nested table is filtered as later ones are, and rows of known keys are replaced beyond
    /// the limit: what releases do that know the newer options.
    pub fn nested_is_strict(&self) -> bool {
        self.nested_key_null_strategy.is_some() || !self.nested_sequence_field.is_empty()
    }
}

impl OptionValue for NullKeys {
    fn parse(text: &str) -> Option<Self> {
        let all = [("merge", Self::Merge), ("ignore", Self::Ignore), ("error", Self::Error)];
        all.into_iter().find(|(name, _)| text.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn expected() -> String {
        "merge, ignore or error".into()
    }
}

struct Reader<'a> {
    raw: &'a BTreeMap<String, String>,
    column: &'a str,
}

impl Reader<'_> {
    fn text(&self, option: &str) -> Option<(String, &str)> {
        let key = format!("fields.{}.{option}", self.column);
        self.raw.get(&key).map(|text| (key, text.as_str()))
    }

    fn get<T: OptionValue>(&self, option: &str) -> Result<Option<T>> {
        let Some((key, text)) = self.text(option) else { return Ok(None) };
        match T::parse(text) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::invalid_option(format!("{key} = '{text}': expected {}", T::expected()))),
        }
    }

    /// Names as Java splits them: between two commas there is a name, be it empty, but not after the last one.
    fn names(&self, option: &str) -> Vec<String> {
        let Some((_, text)) = self.text(option) else { return vec![] };
        let mut names: Vec<_> = text.split(',').collect();
        while names.len() > 1 && names.last().is_some_and(|n| n.is_empty()) {
            names.pop();
        }
        names.into_iter().map(|n| n.trim().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<FieldOptions> {
        let raw = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        FieldOptions::of(&raw, "c")
    }

    #[test]
    fn keys_of_the_column_are_read_and_others_are_not() {
        let none = options(&[("fields.d.distinct", "true"), ("distinct", "true")]).unwrap();
        assert_eq!((none.distinct, none.list_agg_delimiter.as_str(), none.count_limit), (false, ",", i32::MAX));
        assert!(none.nested_key.is_empty() && !none.nested_is_strict());
        let all = options(&[
            ("fields.c.ignore-retract", "TRUE"),
            ("fields.c.distinct", "true"),
            ("fields.c.list-agg-delimiter", ""),
            ("fields.c.nested-key", "a, b,"),
            ("fields.c.nested-key-null-strategy", "IGNORE"),
            ("fields.c.nested-sequence-field", "s"),
            ("fields.c.count-limit", "3"),
            ("fields.c.ts-field", "t"),
        ])
        .unwrap();
        assert!(all.ignore_retract && all.distinct && all.nested_is_strict());
        assert_eq!((all.list_agg_delimiter.as_str(), all.count_limit, all.ts_field.as_deref()), ("", 3, Some("t")));
        assert_eq!((all.nested_key, all.nested_sequence_field), (vec!["a".into(), "b".into()], vec!["s".to_owned()]));
        assert_eq!(all.nested_key_null_strategy, Some(NullKeys::Ignore));
    }

    #[test]
    fn a_value_of_no_use_is_an_error_with_its_key() {
        for (key, value) in [("distinct", "yes"), ("count-limit", "many"), ("nested-key-null-strategy", "drop")] {
            let key = format!("fields.c.{key}");
            let error = options(&[(&key, value)]).unwrap_err().to_string();
            assert!(error.contains(&key) && error.contains(value), "{error}");
        }
        assert!(options(&[("fields.c.ignore-retract", "true"), (REMOVE_ON_DELETE, "true")]).is_err());
        assert!(options(&[("fields.c.ignore-retract", "true"), (REMOVE_ON_DELETE, "false")]).is_ok());
    }
}
