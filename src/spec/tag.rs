//! Tags and consumers: `tag/tag-{name}`, `consumer/consumer-{id}`.
//!
//! A tag is the JSON of a snapshot, so that its data can be read after the snapshot has expired; one with a time to
//! live also says when it was made and how long it is kept. A consumer is a reader's place in a stream. Java: `Tag`,
//! `Consumer`.

use std::time::Duration;

use chrono::{NaiveDate, NaiveDateTime};
use serde_json::Value;

use super::json::JsonFields;
use super::snapshot::Snapshot;
use crate::error::{Error, Result};

/// A named snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Tag {
    /// The snapshot that it names.
    pub snapshot: Snapshot,
    /// When it was made, a local time of the writer; only in tags with a time to live.
    pub create_time: Option<NaiveDateTime>,
    /// How long it is kept.
    pub time_retained: Option<Duration>,
}

impl Tag {
    /// Reads a tag file.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let fields = JsonFields::parse("tag", bytes)?;
        let wrong = |key: &str, form: &str| Error::corrupt(format!("tag: '{key}' must be {form}"));
        let create_time = fields.get("tagCreateTime").map(|v| {
            local_time(v).ok_or_else(|| wrong("tagCreateTime", "an array of year, month, day, hour, minute …"))
        });
        let time_retained = fields.get("tagTimeRetained").map(|v| {
            let seconds = v.as_f64().and_then(|s| Duration::try_from_secs_f64(s).ok());
            seconds.ok_or_else(|| wrong("tagTimeRetained", "a number of seconds"))
        });
        Ok(Self {
            snapshot: Snapshot::from_fields(&fields)?,
            create_time: create_time.transpose()?,
            time_retained: time_retained.transpose()?,
        })
    }
}

/// `[year, month, day, hour, minute, second, nanosecond]` of which zeros at the end may be left out.
fn local_time(value: &Value) -> Option<NaiveDateTime> {
    if let Value::String(text) = value {
        return text.parse().ok();
    }
    let parts = value.as_array()?.iter().map(|p| p.as_i64().and_then(|p| u32::try_from(p).ok()));
    let mut parts = parts.collect::<Option<Vec<_>>>()?.into_iter();
    let date = NaiveDate::from_ymd_opt(i32::try_from(parts.next()?).ok()?, parts.next()?, parts.next()?)?;
    let mut or_zero = || parts.next().unwrap_or(0);
    let time = date.and_hms_nano_opt(or_zero(), or_zero(), or_zero(), or_zero());
    time.filter(|_| parts.next().is_none())
}

/// The snapshot that a consumer reads next.
pub fn consumer_next_snapshot(bytes: &[u8]) -> Result<i64> {
    JsonFields::parse("consumer", bytes)?.long("nextSnapshot")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::snapshot::tests::snapshot;

    fn tag(extra: &str) -> Result<Tag> {
        Tag::from_json(snapshot(1, 2).to_json().replacen('{', &format!("{{{extra}"), 1).as_bytes())
    }

    #[test]
    fn times_are_arrays_and_durations_are_seconds() {
        let plain = tag("").unwrap();
        assert_eq!((plain.snapshot, plain.create_time, plain.time_retained), (snapshot(1, 2), None, None));
        let t = tag(r#""tagCreateTime":[2026,11,29,21,10,20,408608060],"tagTimeRetained":3600.500000000,"#).unwrap();
        assert_eq!(t.create_time.unwrap().to_string(), "2026-11-29 21:10:20.408608060");
        assert_eq!(t.time_retained, Some(Duration::from_millis(3_600_500)));
        let t = tag(r#""tagCreateTime":[2026,1,2,3,4],"#).unwrap();
        assert_eq!(t.create_time.unwrap().to_string(), "2026-01-02 03:04:00");
    }

    #[test]
    fn wrong_times_are_errors() {
        for wrong in [
            r#""tagCreateTime":[2026],"#,
            r#""tagCreateTime":[2026,13,1],"#,
            r#""tagCreateTime":[2026,1,1,0,0,0,0,0],"#,
            r#""tagCreateTime":[2026,1,1,-1],"#,
            r#""tagCreateTime":5,"#,
            r#""tagTimeRetained":-1,"#,
            r#""tagTimeRetained":1e300,"#,
            r#""tagTimeRetained":"x","#,
        ] {
            assert!(tag(wrong).unwrap_err().to_string().contains("must be"), "{wrong}");
        }
    }

    #[test]
    fn a_consumer_has_a_place() {
        assert_eq!(consumer_next_snapshot(br#"{"nextSnapshot" : 2}"#).unwrap(), 2);
        assert!(consumer_next_snapshot(b"{}").is_err());
    }
}
