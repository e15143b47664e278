//! Fields of the small JSON files: snapshots, tags, consumers, statistics.
//!
//! In: the bytes of a file. Out: typed fields; one that lacks or has another type is an error that names it and what
//! was expected. Unknown fields do not matter, and `null` is the same as none.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The fields of one JSON object.
#[derive(Debug)]
pub struct JsonFields<'a> {
    /// What the object is, for errors: `snapshot`.
    what: &'a str,
    object: Map<String, Value>,
}

impl<'a> JsonFields<'a> {
    /// Reads the JSON object that a file is.
    pub fn parse(what: &'a str, bytes: &[u8]) -> Result<Self> {
        let value =
            serde_json::from_slice(bytes).map_err(|e| Error::corrupt(format!("{what} is no JSON")).caused_by(e))?;
        Self::of(what, value)
    }

    /// The fields of a JSON object inside another one.
    pub fn of(what: &'a str, value: Value) -> Result<Self> {
        match value {
            Value::Object(object) => Ok(Self { what, object }),
            _ => Err(Error::corrupt(format!("{what} must be a JSON object"))),
        }
    }

    /// A field, where it is there and not `null`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|v| !v.is_null())
    }

    /// All fields, in the order of their names.
    pub fn into_entries(self) -> impl Iterator<Item = (String, Value)> {
        self.object.into_iter()
    }

    fn optional<T>(&self, key: &str, expected: &str, read: impl FnOnce(&Value) -> Option<T>) -> Result<Option<T>> {
        let wrong = |v: &Value| Error::corrupt(format!("{}: '{key}' must be {expected}, got {}", self.what, brief(v)));
        self.get(key).map(|v| read(v).ok_or_else(|| wrong(v))).transpose()
    }

    fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| Error::corrupt(format!("{} lacks '{key}'", self.what)))
    }

    /// A number that may lack.
    pub fn optional_long(&self, key: &str) -> Result<Option<i64>> {
        self.optional(key, "a 64-bit number", Value::as_i64)
    }

    /// A number.
    pub fn long(&self, key: &str) -> Result<i64> {
        self.required(key, self.optional_long(key)?)
    }

    /// A text that may lack.
    pub fn optional_string(&self, key: &str) -> Result<Option<String>> {
        self.optional(key, "text", |v| v.as_str().map(str::to_owned))
    }

    /// A text.
    pub fn string(&self, key: &str) -> Result<String> {
        self.required(key, self.optional_string(key)?)
    }

    /// An object of texts that may lack.
    pub fn optional_strings(&self, key: &str) -> Result<Option<BTreeMap<String, String>>> {
        self.optional(key, "an object of texts", |v| {
            v.as_object()?.iter().map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
        })
    }
}

/// Enough of a value to recognise it.
fn brief(value: &Value) -> String {
    const LENGTH: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_field_and_what_was_expected() {
        let f = JsonFields::parse("thing", br#"{"a":1,"b":"x","c":null,"d":{"k":"v"}}"#).unwrap();
        assert_eq!((f.long("a").unwrap(), f.string("b").unwrap()), (1, "x".into()));
        assert_eq!((f.optional_long("c").unwrap(), f.optional_long("none").unwrap()), (None, None));
        assert_eq!(f.optional_strings("d").unwrap().unwrap()["k"], "v");
        assert_eq!(f.long("b").unwrap_err().to_string(), r#"corrupt: thing: 'b' must be a 64-bit number, got "x""#);
        assert_eq!(f.string("c").unwrap_err().to_string(), "corrupt: thing lacks 'c'");
        assert_eq!(JsonFields::parse("thing", b"[]").unwrap_err().to_string(), "corrupt: thing must be a JSON object");
        assert!(brief(&Value::String("ä".repeat(99))).chars().count() < 50);
    }
}
