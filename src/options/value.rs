//! The types that options have, and how their text is read.
//!
//! In: the text of a value as Paimon's writers accept it (`128 mb`, `1 h`, `TRUE`, `partial-update`). Out: a typed
//! value, or `None` where the text is none of the type; [`OptionValue::expected`] then says what it should have been.
//! Java: `OptionsUtils`, `MemorySize`, `TimeUtils`.

use std::fmt;
use std::time::Duration;

/// A type that an option can have.
pub trait OptionValue: Sized {
    /// Reads a value; `None` where the text is none of this type.
    fn parse(text: &str) -> Option<Self>;

    /// What a value looks like, for error messages and the documentation.
    fn expected() -> String;
}

impl OptionValue for String {
    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn expected() -> String {
        "text".into()
    }
}

impl OptionValue for bool {
    fn parse(text: &str) -> Option<Self> {
        [true, false].into_iter().find(|b| text.trim().eq_ignore_ascii_case(if *b { "true" } else { "false" }))
    }

    fn expected() -> String {
        "true or false".into()
    }
}

impl OptionValue for i32 {
    fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn expected() -> String {
        "a 32-bit number".into()
    }
}

impl OptionValue for i64 {
    fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn expected() -> String {
        "a 64-bit number".into()
    }
}

/// Names separated by commas; blanks around them and empty names do not count.
impl OptionValue for Vec<String> {
    fn parse(text: &str) -> Option<Self> {
        Some(text.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect())
    }

    fn expected() -> String {
        "names separated by commas".into()
    }
}

/// A number of bytes: `128 mb`, `4MB`, `500 B`; a bare number is bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemorySize {
    /// The number of bytes.
    pub bytes: u64,
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "tb"), (30, "gb"), (20, "mb"), (10, "kb")];
        let whole = |(bits, _): &(u32, _)| self.bytes > 0 && self.bytes.trailing_zeros() >= *bits;
        let (bits, unit) = units.into_iter().find(whole).unwrap_or((0, "b"));
        write!(f, "{} {unit}", self.bytes >> bits)
    }
}

impl OptionValue for MemorySize {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = number_and_unit(text)?;
        let multiplier: u64 = match unit.as_str() {
            "" | "b" | "bytes" => 1,
            "k" | "kb" | "kibibytes" => 1 << 10,
            "m" | "mb" | "mebibytes" => 1 << 20,
            "g" | "gb" | "gibibytes" => 1 << 30,
            "t" | "tb" | "tebibytes" => 1 << 40,
            _ => return None,
        };
        let bytes = number.checked_mul(multiplier).filter(|b| i64::try_from(*b).is_ok())?;
        Some(Self { bytes })
    }

    fn expected() -> String {
        "a size such as '128 mb' (units b, kb, mb, gb, tb)".into()
    }
}

impl OptionValue for Duration {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = number_and_unit(text)?;
        let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
        match unit.as_str() {
            "d" | "day" | "days" => seconds(86_400),
            "h" | "hour" | "hours" => seconds(3_600),
            "m" | "min" | "minute" | "minutes" => seconds(60),
            "s" | "sec" | "secs" | "second" | "seconds" => seconds(1),
            "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => Some(Duration::from_millis(number)),
            "µs" | "micro" | "micros" | "microsecond" | "microseconds" => Some(Duration::from_micros(number)),
            "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => Some(Duration::from_nanos(number)),
            _ => None,
        }
    }

    fn expected() -> String {
        "a duration such as '1 h' (units d, h, min, s, ms, µs, ns)".into()
    }
}

/// The digits in front and the lower-cased unit behind them.
fn number_and_unit(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, unit.trim().to_lowercase()))
}

/// Declares an option's enum from the words of its values; case does not matter when they are read.
macro_rules! option_enum {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $text:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $vdoc])+ $variant,)+
        }

        impl $name {
            /// The word that stands for the value in options.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::options::value::OptionValue for $name {
            fn parse(text: &str) -> Option<Self> {
                let text = text.trim();
                [$(Self::$variant),+].into_iter().find(|v| v.as_str().eq_ignore_ascii_case(text))
            }

            fn expected() -> String {
                format!("one of {}", [$($text),+].join(", "))
            }
        }
    };
}
pub(super) use option_enum;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, want) in [
            ("128 mb", Some(128 << 20)),
            ("4MB", Some(4 << 20)),
            (" 500 B ", Some(500)),
            ("7", Some(7)),
            ("1 tebibytes", Some(1 << 40)),
            ("9223372036854775807", Some(i64::MAX as u64)),
            ("9223372036854775808", None),
            ("99999999999 tb", None),
            ("mb", None),
            ("-1 mb", None),
            ("1 mib", None),
            ("", None),
        ] {
            assert_eq!(MemorySize::parse(text).map(|s| s.bytes), want, "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_that_they_are_whole_in() {
        for (bytes, want) in
            [(0, "0 b"), (1500, "1500 b"), (256 << 20, "256 mb"), (1 << 40, "1 tb"), (3 << 9, "1536 b")]
        {
            assert_eq!(MemorySize { bytes }.to_string(), want);
            assert_eq!(MemorySize::parse(want), Some(MemorySize { bytes }));
        }
    }

    #[test]
    fn durations_have_units() {
        for (text, want) in [
            ("1 h", Some(3_600_000)),
            ("10min", Some(600_000)),
            ("2 Days", Some(172_800_000)),
            ("5", Some(5)),
            ("3 sec", Some(3_000)),
            ("1 week", None),
            ("h", None),
            ("99999999999999999999 s", None),
        ] {
            assert_eq!(Duration::parse(text).map(|d| d.as_millis()), want, "{text}");
        }
    }

    #[test]
    fn booleans_and_lists() {
        assert_eq!((bool::parse("TRUE"), bool::parse("no")), (Some(true), None));
        assert_eq!(Vec::parse(" a, b,,c "), Some(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]));
    }

    proptest! {
        #[test]
        fn any_text_is_a_value_or_none(text in ".*") {
            let _ = (MemorySize::parse(&text), Duration::parse(&text), bool::parse(&text), i32::parse(&text));
        }
    }
}
