//! Names of tags that are created by themselves: the time that they stand for. Java: `TagPeriodHandler`.

use chrono::{NaiveDate, NaiveDateTime};

use crate::options::enums::{TagCreationPeriod, TagPeriodFormatter};

/// The time that the name of a tag stands for; `None` where the tag was not created by itself.
pub(super) fn auto_tag_time(
    name: &str,
    period: TagCreationPeriod,
    formatter: TagPeriodFormatter,
) -> Option<NaiveDateTime> {
    use {TagCreationPeriod as Period, TagPeriodFormatter as Formatter};
    let shape = match (period, formatter) {
        (Period::Daily, Formatter::WithDashes) => "YYYY-MM-DD",
        (Period::Daily, _) => "YYYYMMDD",
        (Period::Hourly, Formatter::WithDashes) | (Period::TwoHours, _) => "YYYY-MM-DD HH",
        (Period::Hourly, Formatter::WithoutDashes) => "YYYYMMDD HH",
        (Period::Hourly, Formatter::WithoutDashesAndSpaces) => "YYYYMMDDHH",
    };
    let fits = |(c, s): (char, char)| if s.is_ascii_alphabetic() { c.is_ascii_digit() } else { c == s };
    if name.chars().count() != shape.len() || !name.chars().zip(shape.chars()).all(fits) {
        return None;
    }
    let part = |letter: char| {
        let digits = name.chars().zip(shape.chars()).filter(|(_, s)| *s == letter).map(|(c, _)| c);
        digits.collect::<String>().parse::<u32>()
    };
    let date = NaiveDate::from_ymd_opt(i32::try_from(part('Y').ok()?).ok()?, part('M').ok()?, part('D').ok()?)?;
    date.and_hms_opt(part('H').unwrap_or(0), 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_times_of_the_period() {
        use {TagCreationPeriod as Period, TagPeriodFormatter as Formatter};
        for (name, period, formatter, want) in [
            ("2024-02-29", Period::Daily, Formatter::WithDashes, Some("2024-02-29 00:00:00")),
            ("20240229", Period::Daily, Formatter::WithoutDashes, Some("2024-02-29 00:00:00")),
            ("2024-02-29 07", Period::Hourly, Formatter::WithDashes, Some("2024-02-29 07:00:00")),
            ("20240229 07", Period::Hourly, Formatter::WithoutDashes, Some("2024-02-29 07:00:00")),
            ("2024022907", Period::Hourly, Formatter::WithoutDashesAndSpaces, Some("2024-02-29 07:00:00")),
            ("2024-02-29 08", Period::TwoHours, Formatter::WithoutDashes, Some("2024-02-29 08:00:00")),
            ("2023-02-29", Period::Daily, Formatter::WithDashes, None),
            ("2024-02-29 24", Period::Hourly, Formatter::WithDashes, None),
            ("20240229", Period::Daily, Formatter::WithDashes, None),
            ("release-1", Period::Daily, Formatter::WithDashes, None),
            ("२०२४-02-29", Period::Daily, Formatter::WithDashes, None),
        ] {
            let time = auto_tag_time(name, period, formatter).map(|t| t.to_string());
            assert_eq!(time.as_deref(), want, "{name}");
        }
    }
}
