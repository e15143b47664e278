//! Whether a partition folder found by listing is that of some value, however its writer spelled it.
//!
//! In: a value and the unescaped text of a folder. Out: yes or no. Java's spellings with and without legacy names are
//! known, and so are those that other writers use: another number of fractional digits, a blank or a `T` before the
//! time, an offset behind it, decimals of another scale, the digits of another version of Java.

use chrono_tz::Tz;

use super::data_type::{DataType, TypeKind};
use super::datum::Datum;
use super::partition_path::{is_blank, value_text};

/// Whether `text` is a spelling of the value. `default_name` is NULL's, and that of blank text.
pub fn spells(data_type: &DataType, value: Option<&Datum>, text: &str, default_name: &str, zone: Tz) -> bool {
    let Some(value) = value else { return text == default_name };
    if let Datum::String(v) = value {
        return if is_blank(v) { text == default_name } else { v == text };
    }
    let as_java = |legacy| value_text(data_type, value, legacy, zone).is_ok_and(|t| t == text);
    as_java(true) || as_java(false) || means(data_type, value, text, zone)
}

/// Whether `text`, read by the rules of its type, is the value.
fn means(data_type: &DataType, value: &Datum, text: &str, zone: Tz) -> bool {
    match value {
        Datum::Boolean(v) => text.eq_ignore_ascii_case(if *v { "true" } else { "false" }),
        Datum::Float(v) => text.parse::<f32>().is_ok_and(|t| t.to_bits() == v.to_bits()),
        Datum::Double(v) => text.parse::<f64>().is_ok_and(|t| t.to_bits() == v.to_bits()),
        Datum::Decimal { unscaled, scale, .. } => decimal(text, *scale) == Some(*unscaled),
        Datum::Timestamp { millis, nano_of_milli } => {
            let Some((local, nanos, offset)) = moment(text) else { return false };
            let instant = i128::from(*millis) * 1_000_000 + i128::from(*nano_of_milli);
            let said = i128::from(local) * 1_000_000_000 + i128::from(nanos);
            match (offset, &data_type.kind) {
                (Some(offset), _) => said - i128::from(offset) * 1_000_000_000 == instant,
                (None, TypeKind::TimestampLtz(_)) => said == instant || in_zone(*millis, zone) == Some(local),
                (None, _) => said == instant,
            }
        }
        _ => false,
    }
}

/// The wall clock of a zone, in seconds since 1970.
fn in_zone(millis: i64, zone: Tz) -> Option<i64> {
    let local = chrono::DateTime::from_timestamp_millis(millis)?.with_timezone(&zone).naive_local();
    Some(local.and_utc().timestamp())
}

/// The unscaled value at `scale` of a plain decimal; `None` where digits would be lost.
fn decimal(text: &str, scale: u8) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let missing = usize::from(scale).checked_sub(fraction.len())?;
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    format!("{whole}{fraction}{}", "0".repeat(missing)).parse().ok()
}

/// Seconds since 1970, nanoseconds beyond, and the offset in seconds where one is given, of
/// `yyyy-MM-dd( |T)HH:mm[:ss[.fraction]][Z|±HH:mm]`.
fn moment(text: &str) -> Option<(i64, u32, Option<i32>)> {
    let (date, time) = text.split_at_checked(10)?;
    let date = chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
    let time = time.strip_prefix([' ', 'T'])?;
    let (time, offset) = match time.find(['Z', '+', '-']) {
        Some(at) => (time.get(..at)?, Some(offset_seconds(time.get(at..)?)?)),
        None => (time, None),
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.split(':').map(|p| p.parse::<u32>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let time = date.and_hms_opt(hour, minute, second)?;
    if parts.next().is_some() || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((time.and_utc().timestamp(), format!("{fraction:0<9}").parse().ok()?, offset))
}

fn offset_seconds(text: &str) -> Option<i32> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("Z", "") => return Some(0),
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    Some(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(data_type: &str, value: Option<Datum>, text: &str) -> bool {
        spells(&DataType::parse(data_type).unwrap(), value.as_ref(), text, "NONE", chrono_tz::Asia::Shanghai)
    }

    #[test]
    fn every_spelling_of_a_value_is_known() {
        let ts = |millis| Some(Datum::Timestamp { millis, nano_of_milli: 0 });
        let decimal = Some(Datum::Decimal { unscaled: 110, precision: 5, scale: 2 });
        for (data_type, value, yes, no) in [
            ("INT", None, vec!["NONE"], vec!["", "null"]),
            ("STRING", Some(Datum::String(" ".into())), vec!["NONE"], vec![" "]),
            ("STRING", Some(Datum::String("NONE ".into())), vec!["NONE "], vec!["NONE"]),
            ("INT", Some(Datum::Int(7)), vec!["7"], vec!["07", "7.0", "NONE"]),
            ("BOOLEAN", Some(Datum::Boolean(true)), vec!["true", "True"], vec!["1"]),
            ("DATE", Some(Datum::Date(19_723)), vec!["19723", "2024-01-01"], vec!["2024-01-02", "20240101"]),
            ("DECIMAL(5, 2)", decimal, vec!["1.10", "1.1", "1.100"], vec!["1", "1.101", "1.1x", "+"]),
            ("FLOAT", Some(Datum::Float(2.088_601e9)), vec!["2.08860096E9", "2.088601E9", "2088601000"], vec!["2e9"]),
            (
                "TIMESTAMP(3)",
                ts(1_704_067_200_100),
                vec!["2024-01-01T00:00:00.100", "2024-01-01 00:00:00.1", "2024-01-01 00:00:00.100000"],
                vec!["2024-01-01 00:00:00", "2024-01-01", "2024-01-01 24:00", "2024-01-01T00:00:00:00.1"],
            ),
            (
                "TIMESTAMP_LTZ(3)",
                ts(1_704_067_200_000),
                vec!["2024-01-01T00:00", "2024-01-01 08:00:00", "2024-01-01 00:00:00Z", "2024-01-01 02:00:00+02:00"],
                vec!["2024-01-01 02:00:00", "2024-01-01 02:00:00+2"],
            ),
        ] {
            for text in yes {
                assert!(check(data_type, value.clone(), text), "{data_type} {value:?} '{text}'");
            }
            for text in no {
                assert!(!check(data_type, value.clone(), text), "{data_type} {value:?} '{text}'");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9TZ:. +-é]{0,30}", millis in any::<i64>()) {
            let value = Datum::Timestamp { millis, nano_of_milli: 0 };
            check("TIMESTAMP_LTZ(3)", Some(value), &text);
            check("DECIMAL(38, 38)", Some(Datum::Decimal { unscaled: 0, precision: 38, scale: 38 }), &text);
        }
    }
}
