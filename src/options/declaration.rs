//! What an option is, said once: key, older keys, type, default, documentation.
//!
//! [`table_options!`] makes of one list of declarations the struct with a typed field for each, the function that
//! fills it from key-value pairs, and [`OptionDeclaration`]s for the documentation.

use std::collections::BTreeMap;

use super::value::OptionValue;
use crate::error::{Error, Result};

/// One option, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionDeclaration {
    /// The key.
    pub key: &'static str,
    /// Older keys, which count where the key is not set.
    pub fallback_keys: &'static [&'static str],
    /// The value's form.
    pub expected: String,
    /// The default as it would be written; `None` where there is none.
    pub default: Option<&'static str>,
    /// What it does.
    pub doc: String,
}

/// The key that is set, and its value: the option's own before its older ones.
pub(super) fn find<'a>(
    options: &'a BTreeMap<String, String>,
    key: &'static str,
    fallback_keys: &[&'static str],
) -> Option<(&'a str, &'a str)> {
    std::iter::once(&key)
        .chain(fallback_keys)
        .find_map(|k| options.get_key_value(*k))
        .map(|(k, v)| (k.as_str(), v.as_str()))
}

/// The value of an option, where it is set.
pub(super) fn read<T: OptionValue>(
    options: &BTreeMap<String, String>,
    key: &'static str,
    fallback_keys: &[&'static str],
) -> Result<Option<T>> {
    find(options, key, fallback_keys).map(|(key, value)| parse(key, value)).transpose()
}

/// Reads a value of the option with that key.
pub(super) fn parse<T: OptionValue>(key: &str, value: &str) -> Result<T> {
    let wrong = || Error::invalid_option(format!("'{key}' = '{value}': expected {}", T::expected()));
    T::parse(value).ok_or_else(wrong)
}

/// The declarations as a Markdown table, in their order.
pub(super) fn markdown(declarations: &[OptionDeclaration]) -> String {
    let mut text = String::from("| option | value | default | |\n|---|---|---|---|\n");
    for d in declarations {
        let keys = std::iter::once(&d.key).chain(d.fallback_keys).map(|k| format!("`{k}`")).collect::<Vec<_>>();
        let default = d.default.map_or_else(|| "–".to_owned(), |d| format!("`{d}`"));
        text += &format!("| {} | {} | {default} | {} |\n", keys.join(", once "), cell(&d.expected), cell(&d.doc));
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// See the module. A declaration is `name: Type = "default", "key", ["older key"];` with its documentation above it;
/// without a default the field is an `Option`.
macro_rules! table_options {
    ($(#[doc = $sdoc:literal])+ $struct:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $type:ty $(= $default:literal)?, $key:literal $(, [$($old:literal),+])?;)+
    }) => {
        $(#[doc = $sdoc])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $struct {
            pub(super) raw: BTreeMap<String, String>,
            $($(#[doc = $doc])+ pub $name: table_options!(@field $type $(, $default)?),)+
        }

        impl $struct {
            /// Reads all options of a table; keys that are not declared are kept, and read by those who know them.
            pub fn parse(raw: BTreeMap<String, String>) -> Result<Self> {
                Ok(Self {
                    $($name: table_options!(@read raw, $type, $key, [$($($old),+)?] $(, $default)?),)+
                    raw,
                })
            }

            /// Every declared option, in the order of the documentation.
            pub fn declarations() -> Vec<OptionDeclaration> {
                vec![$(OptionDeclaration {
                    key: $key,
                    fallback_keys: &[$($($old),+)?],
                    expected: <$type as OptionValue>::expected(),
                    default: table_options!(@default $($default)?),
                    doc: [$($doc),+].map(str::trim).join(" "),
                }),+]
            }
        }
    };
    (@field $type:ty) => { Option<$type> };
    (@field $type:ty, $default:literal) => { $type };
    (@read $raw:ident, $type:ty, $key:literal, $old:expr) => { declaration::read::<$type>(&$raw, $key, &$old)? };
    (@read $raw:ident, $type:ty, $key:literal, $old:expr, $default:literal) => {
        match declaration::read::<$type>(&$raw, $key, &$old)? {
            Some(value) => value,
            None => declaration::parse($key, $default)?,
        }
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
}
pub(super) use table_options;
