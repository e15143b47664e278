//! The folder of a partition: `key=value/key=value`.
//!
//! In: the partition columns and their values. Out: the folder as Java spells it, by table options
//! `partition.legacy-name` (default true) and `partition.default-name`. Values are never read back from a folder; the
//! other way round, `partition_match` tells whether a folder found by listing is that of some value.
//! Java: `InternalRowPartitionComputer`, `PartitionPathUtils`.

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::data_type::{DataField, DataType, TypeKind};
use super::datum::Datum;
use super::java_text::{
    date_to_string, decimal_to_string, double_to_string, float_to_string, iso_local_date_time, time_to_string,
    timestamp_to_string,
};
use crate::error::{Error, Result};

/// The folder of a partition below the table's, without a slash at its end; empty for tables without partitions.
///
/// `zone` is that of the writer; it matters only for `TIMESTAMP WITH LOCAL TIME ZONE` without legacy names.
pub fn partition_path(
    fields: &[DataField],
    row: &[Option<Datum>],
    default_name: &str,
    legacy: bool,
    zone: Tz,
) -> Result<String> {
    if fields.len() != row.len() {
        return Err(Error::internal(format!("{} partition values of {} columns", row.len(), fields.len())));
    }
    let mut path = String::new();
    for (field, value) in fields.iter().zip(row) {
        if !path.is_empty() {
            path.push('/');
        }
        escape_into(&mut path, &field.name);
        path.push('=');
        let text = value.as_ref().map(|v| value_text(&field.data_type, v, legacy, zone)).transpose()?;
        match text {
            Some(text) if !is_blank(&text) => escape_into(&mut path, &text),
            _ => escape_into(&mut path, default_name),
        }
    }
    Ok(path)
}

/// The text of one value, not escaped.
pub fn value_text(data_type: &DataType, value: &Datum, legacy: bool, zone: Tz) -> Result<String> {
    Ok(match value {
        Datum::Boolean(v) => v.to_string(),
        Datum::TinyInt(v) => v.to_string(),
        Datum::SmallInt(v) => v.to_string(),
        Datum::Int(v) => v.to_string(),
        Datum::BigInt(v) => v.to_string(),
        Datum::Float(v) => float_to_string(*v),
        Datum::Double(v) => double_to_string(*v),
        Datum::Decimal { unscaled, scale, .. } => decimal_to_string(*unscaled, *scale),
        Datum::String(v) => v.clone(),
        Datum::Date(v) | Datum::Time(v) if legacy => v.to_string(),
        Datum::Date(v) => date_to_string(i64::from(*v)),
        Datum::Time(v) => time_to_string(*v, precision(data_type)),
        Datum::Timestamp { millis, nano_of_milli } if legacy => iso_local_date_time(*millis, *nano_of_milli),
        Datum::Timestamp { millis, nano_of_milli } => {
            let local =
                if matches!(data_type.kind, TypeKind::TimestampLtz(_)) { local(*millis, zone)? } else { *millis };
            timestamp_to_string(local, *nano_of_milli, precision(data_type))
        }
        Datum::Bytes(v) if !legacy => {
            let text = String::from_utf8(v.clone());
            text.map_err(|e| Error::unsupported("partition folders of bytes that are not UTF-8").caused_by(e))?
        }
        // With legacy names Java prints the address of the array: no reader can know it.
        _ => return Err(Error::unsupported(format!("partition folders of type {data_type}"))),
    })
}

fn precision(data_type: &DataType) -> u8 {
    match data_type.kind {
        TypeKind::Time(p) | TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => p,
        _ => 0,
    }
}

/// The wall clock of a zone, in milliseconds as if it were UTC.
fn local(millis: i64, zone: Tz) -> Result<i64> {
    let wrong = || Error::unsupported(format!("partition folders of {millis} milliseconds since 1970 in zone {zone}"));
    let utc = DateTime::from_timestamp_millis(millis).ok_or_else(wrong)?.naive_utc();
    let offset = zone.offset_from_utc_datetime(&utc).fix().local_minus_utc();
    millis.checked_add(i64::from(offset) * 1000).ok_or_else(wrong)
}

/// Java's `Character.isWhitespace` knows the separators of ASCII, but no spaces that do not break lines.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| match c {
        '\u{1c}'..='\u{1f}' => true,
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        c => c.is_whitespace(),
    })
}

/// Writes every character that a folder may not have as `%XX`.
fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\0'..='\u{1f}'
            | '\u{7f}'
            | '"'
            | '#'
            | '%'
            | '\''
            | '*'
            | '/'
            | ':'
            | '='
            | '?'
            | '\\'
            | '{'
            | '}'
            | '['
            | ']'
            | '^' => {
                out.push('%');
                let hex = |digit: u32| char::from_digit(digit, 16).unwrap_or('0').to_ascii_uppercase();
                out.push(hex(c as u32 >> 4));
                out.push(hex(c as u32 & 15));
            }
            c => out.push(c),
        }
    }
}

/// A name or value as it stands in a folder.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(&mut out, text);
    out
}

/// The name or value that stands in a folder; a `%` without two hex digits is itself.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let hex = after.get(..2).filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(code) => {
                out.push(char::from(code));
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push('%');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Key and value of a folder `key=value`, unescaped.
pub fn split_folder(name: &str) -> Option<(String, String)> {
    name.split_once('=').map(|(key, value)| (unescape(key), unescape(value)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHANGHAI: Tz = chrono_tz::Asia::Shanghai;

    fn path(data_type: &str, value: Option<Datum>, legacy: bool) -> Result<String> {
        let field = DataField::new(0, "k", DataType::parse(data_type).unwrap());
        partition_path(&[field], &[value], "__DEFAULT_PARTITION__", legacy, SHANGHAI)
    }

    #[test]
    fn values_are_spelled_as_java_spells_them() {
        let ts = |millis, nano_of_milli| Datum::Timestamp { millis, nano_of_milli };
        for (data_type, value, legacy, named) in [
            ("BOOLEAN", Datum::Boolean(true), "true", "true"),
            ("TINYINT", Datum::TinyInt(-1), "-1", "-1"),
            ("BIGINT", Datum::BigInt(i64::MIN), "-9223372036854775808", "-9223372036854775808"),
            ("FLOAT", Datum::Float(1e10), "1.0E10", "1.0E10"),
            ("DOUBLE", Datum::Double(1.0), "1.0", "1.0"),
            ("DECIMAL(5, 2)", Datum::Decimal { unscaled: 110, precision: 5, scale: 2 }, "1.10", "1.10"),
            ("STRING", Datum::String("a b/c".into()), "a b%2Fc", "a b%2Fc"),
            ("DATE", Datum::Date(19_723), "19723", "2024-01-01"),
            ("TIME(3)", Datum::Time(49_897_000), "49897000", "13%3A51%3A37.0"),
            ("TIMESTAMP(0)", ts(0, 0), "1970-01-01T00%3A00", "1970-01-01 00%3A00%3A00"),
            ("TIMESTAMP(6)", ts(1, 0), "1970-01-01T00%3A00%3A00.001", "1970-01-01 00%3A00%3A00.001000"),
            ("TIMESTAMP_LTZ(3)", ts(0, 0), "1970-01-01T00%3A00", "1970-01-01 08%3A00%3A00.000"),
        ] {
            assert_eq!(path(data_type, Some(value.clone()), true).unwrap(), format!("k={legacy}"));
            assert_eq!(path(data_type, Some(value), false).unwrap(), format!("k={named}"));
        }
        assert_eq!(path("BYTES", Some(Datum::Bytes(b"ab".to_vec())), false).unwrap(), "k=ab");
        assert!(path("BYTES", Some(Datum::Bytes(b"ab".to_vec())), true).is_err());
        assert!(path("ARRAY<INT>", Some(Datum::Array(vec![])), false).is_err());
        assert!(path("TIMESTAMP_LTZ(3)", Some(ts(i64::MAX, 0)), false).is_err());
    }

    #[test]
    fn null_and_blank_have_the_default_name() {
        for blank in ["", " ", "\t\n", "\u{1c}", "\u{2003}\u{3000}"] {
            assert_eq!(path("STRING", Some(Datum::String(blank.into())), true).unwrap(), "k=__DEFAULT_PARTITION__");
        }
        for text in ["\u{a0}", "\u{2007}", "\u{85}", "\u{200b}", " x"] {
            assert_eq!(path("STRING", Some(Datum::String(text.into())), true).unwrap(), format!("k={text}"));
        }
        assert_eq!(path("INT", None, false).unwrap(), "k=__DEFAULT_PARTITION__");
    }

    #[test]
    fn several_columns_are_several_folders() {
        let fields = ["a=b", "c"].map(|name| DataField::new(0, name, TypeKind::Int.nullable()));
        let row = [Some(Datum::Int(1)), None];
        assert_eq!(partition_path(&fields, &row, "d e", true, SHANGHAI).unwrap(), "a%3Db=1/c=d e");
        assert_eq!(partition_path(&[], &[], "d", true, SHANGHAI).unwrap(), "");
        assert!(partition_path(&fields, &[], "d", true, SHANGHAI).is_err());
    }

    #[test]
    fn a_folder_is_read_back() {
        for (escaped, want) in [("%41%zz%4", "A%zz%4"), ("%E9%e9", "éé"), ("a%2Fb%", "a/b%"), ("%é1", "%é1"), ("", "")]
        {
            assert_eq!(unescape(escaped), want);
        }
        assert_eq!(split_folder("a%3Db=c=d"), Some(("a=b".into(), "c=d".into())));
        assert_eq!(split_folder("bucket-0"), None);
        let all: String = (0..0x80).map(|c: u8| char::from(c)).collect();
        assert_eq!(escape(&all).matches('%').count(), 33 + 15);
    }

    proptest! {
        #[test]
        fn escaping_round_trips(text in any::<String>()) {
            prop_assert_eq!(unescape(&escape(&text)), text);
        }

        #[test]
        fn no_folder_panics(text in "[%0-9a-fé=]{0,20}") {
            let _ = (unescape(&text), split_folder(&text));
        }
    }
}
