//! Constant expressions in the places where a table is chosen: arguments of table functions, versions, times.
//!
//! In: a planned expression without columns (`'x'`, `CAST('2024-01-01' AS DATE)`, `now() - INTERVAL '1 hour'`). Out: its
//! value, and that value as text or as an instant. A time without a zone is meant in the session's zone.

use std::sync::Arc;

use arrow::compute::kernels::cast_utils::string_to_datetime;
use arrow::datatypes::TimeUnit;
use chrono::{DateTime, Days, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use crate::error::{Error, Result};

/// The value of a constant expression.
pub fn evaluate(expr: Expr, config: &ConfigOptions) -> datafusion::error::Result<ScalarValue> {
    let schema = Arc::new(DFSchema::empty());
    let context = SimplifyContext::builder()
        .with_schema(Arc::clone(&schema))
        .with_config_options(Arc::new(config.clone()))
        .with_current_time()
        .build();
    let simplifier = ExprSimplifier::new(context);
    let text = expr.to_string();
    match simplifier.simplify(simplifier.coerce(expr, &schema)?)?.unalias() {
        Expr::Literal(value, _) => Ok(value),
        _ => Err(Error::invalid_option(format!("'{text}' is not a constant")).into()),
    }
}

/// The value as the text of an option: strings, whole numbers and truth values.
pub fn text(value: &ScalarValue) -> Result<String> {
    match value {
        ScalarValue::Utf8(Some(s)) | ScalarValue::LargeUtf8(Some(s)) | ScalarValue::Utf8View(Some(s)) => Ok(s.clone()),
        ScalarValue::Boolean(Some(b)) => Ok(b.to_string()),
        value => match whole_number(value) {
            Some(n) => Ok(n.to_string()),
            None => Err(Error::invalid_option(format!("{value:?}: a string or a whole number was expected"))),
        },
    }
}

/// The value as milliseconds since 1970 in UTC: a timestamp, a date, a string of either form, or seconds as a number.
pub fn instant_millis(value: &ScalarValue, zone: Tz) -> Result<i64> {
    let wrong = || Error::invalid_option(format!("{value:?} is no point in time"));
    if let Some(seconds) = whole_number(value) {
        return i64::try_from(seconds).ok().and_then(|s| s.checked_mul(1000)).ok_or_else(wrong);
    }
    let (local_millis, zoned) = match value {
        ScalarValue::Utf8(Some(s)) | ScalarValue::LargeUtf8(Some(s)) | ScalarValue::Utf8View(Some(s)) => {
            return millis_of_text(s.trim(), zone);
        }
        ScalarValue::Date32(Some(days)) => (i64::from(*days).checked_mul(86_400_000).ok_or_else(wrong)?, false),
        ScalarValue::Date64(Some(millis)) => (*millis, false),
        ScalarValue::TimestampSecond(Some(t), tz) => (millis(*t, TimeUnit::Second).ok_or_else(wrong)?, tz.is_some()),
        ScalarValue::TimestampMillisecond(Some(t), tz) => (*t, tz.is_some()),
        ScalarValue::TimestampMicrosecond(Some(t), tz) => (t.div_euclid(1000), tz.is_some()),
        ScalarValue::TimestampNanosecond(Some(t), tz) => (t.div_euclid(1_000_000), tz.is_some()),
        _ => return Err(wrong()),
    };
    if zoned {
        return Ok(local_millis);
    }
    let local = DateTime::from_timestamp_millis(local_millis).ok_or_else(wrong)?.naive_utc();
    local_to_millis(local, zone).ok_or_else(wrong)
}

fn millis(value: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => value.checked_mul(1000),
        TimeUnit::Millisecond => Some(value),
        TimeUnit::Microsecond => Some(value.div_euclid(1000)),
        TimeUnit::Nanosecond => Some(value.div_euclid(1_000_000)),
    }
}

fn whole_number(value: &ScalarValue) -> Option<i128> {
    Some(match value {
        ScalarValue::Int8(Some(n)) => (*n).into(),
        ScalarValue::Int16(Some(n)) => (*n).into(),
        ScalarValue::Int32(Some(n)) => (*n).into(),
        ScalarValue::Int64(Some(n)) => (*n).into(),
        ScalarValue::UInt8(Some(n)) => (*n).into(),
        ScalarValue::UInt16(Some(n)) => (*n).into(),
        ScalarValue::UInt32(Some(n)) => (*n).into(),
        ScalarValue::UInt64(Some(n)) => (*n).into(),
        _ => return None,
    })
}

fn millis_of_text(text: &str, zone: Tz) -> Result<i64> {
    if let Ok(instant) = string_to_datetime(&zone, text) {
        return Ok(instant.timestamp_millis());
    }
    // A local time that the zone has twice or not at all.
    let wrong = || Error::invalid_option(format!("'{text}' is no point in time: 'YYYY-MM-DD HH:MM:SS' was expected"));
    let local = string_to_datetime(&Tz::UTC, text).map_err(|e| wrong().caused_by(e))?;
    local_to_millis(local.naive_utc(), zone).ok_or_else(wrong)
}

/// The instant of a local time. Of two instants the earlier one; a time that is skipped is as much later as is skipped.
fn local_to_millis(local: NaiveDateTime, zone: Tz) -> Option<i64> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(instant) | LocalResult::Ambiguous(instant, _) => Some(instant.timestamp_millis()),
        LocalResult::None => {
            let before = zone.offset_from_utc_datetime(&local.checked_sub_days(Days::new(1))?).fix();
            let skipped = TimeDelta::seconds(before.local_minus_utc().into());
            Some(local.checked_sub_signed(skipped)?.and_utc().timestamp_millis())
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{SessionContext, cast, lit, now};

    use super::*;

    const ZONE: Tz = Tz::Europe__Paris;

    async fn value(sql: &str) -> ScalarValue {
        let state = SessionContext::new().state();
        let expr = state.create_logical_expr(sql, &DFSchema::empty()).unwrap();
        evaluate(expr, state.config_options()).unwrap()
    }

    #[tokio::test]
    async fn times_are_read_in_the_zone() {
        for (sql, want) in [
            ("1704067200", 1_704_067_200_000),
            ("'2024-01-01'", 1_704_063_600_000),
            ("'2024-01-01 00:00:00.125'", 1_704_063_600_125),
            ("'2024-01-01T00:00:00Z'", 1_704_067_200_000),
            ("'2024-01-01 01:00:00+01:00'", 1_704_067_200_000),
            ("DATE '2024-01-01'", 1_704_063_600_000),
            ("CAST('2024-01-01' AS DATE)", 1_704_063_600_000),
            ("TIMESTAMP '2024-01-01 00:00:00'", 1_704_063_600_000),
            ("TIMESTAMP '2024-01-01 01:00:00' - INTERVAL '1 hour'", 1_704_063_600_000),
            ("CAST('2024-01-01T00:00:00' AS TIMESTAMP)", 1_704_063_600_000),
            ("to_timestamp_millis(1704063600000 + 3600000)", 1_704_063_600_000),
            // Skipped: 02:30 is 03:30 in summer. Twice: the first.
            ("'2024-03-31 02:30:00'", 1_711_848_600_000),
            ("TIMESTAMP '2024-03-31 02:30:00'", 1_711_848_600_000),
            ("'2024-10-27 02:30:00'", 1_729_989_000_000),
        ] {
            assert_eq!(instant_millis(&value(sql).await, ZONE).unwrap(), want, "{sql}");
        }
        for sql in ["'yesterday'", "'é'", "NULL", "true", "1.5", "9223372036854775807"] {
            assert!(instant_millis(&value(sql).await, ZONE).is_err(), "{sql}");
        }
    }

    #[tokio::test]
    async fn now_is_evaluated() {
        let value = value("now() - INTERVAL '1 hour'").await;
        let ago = chrono_now_millis() - instant_millis(&value, Tz::UTC).unwrap();
        assert!((3_590_000..3_700_000).contains(&ago), "{ago}");
    }

    fn chrono_now_millis() -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    }

    #[tokio::test]
    async fn only_constants_are_taken() {
        let config = ConfigOptions::new();
        assert!(evaluate(datafusion::prelude::random(), &config).is_err());
        assert!(evaluate(datafusion::prelude::col("c"), &config).is_err());
        assert!(evaluate(cast(lit("3"), arrow::datatypes::DataType::Int64), &config).is_ok());
        assert!(evaluate(now(), &config).is_ok());
    }

    #[tokio::test]
    async fn texts_are_strings_numbers_and_truth_values() {
        for (sql, want) in [("'it''s'", "it's"), ("3", "3"), ("-3", "-3"), ("true", "true"), ("'1' || '2'", "12")] {
            assert_eq!(text(&value(sql).await).unwrap(), want, "{sql}");
        }
        assert!(text(&value("NULL").await).is_err());
    }
}
