//! What a session says about Paimon tables: its time zone, and settings that begin with `paimon.`.
//!
//! In: DataFusion's configuration. Out: a zone, and dynamic table options: `SET "paimon.read.batch-size" = '4096'` gives
//! the option `read.batch-size` to every table that is looked up afterwards, below the options that a query names itself.

use std::any::Any;
use std::collections::BTreeMap;

use chrono_tz::Tz;
use datafusion::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};

use crate::error::{Error, Result};

/// The settings `paimon.*`: dynamic options for all tables, by their key without the prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaimonSettings {
    /// The options, overlaid by those of a single query.
    pub table_options: BTreeMap<String, String>,
}

impl PaimonSettings {
    /// The settings of a session; none where Paimon is not registered with it.
    pub fn of(config: &ConfigOptions) -> Self {
        config.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}

impl ConfigExtension for PaimonSettings {
    const PREFIX: &'static str = "paimon";
}

impl ExtensionOptions for PaimonSettings {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> datafusion::error::Result<()> {
        // As a setting the key comes without its prefix, as an option of a table (`TableOptions`) with it.
        let key = key.strip_prefix("paimon.").unwrap_or(key);
        self.table_options.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |(key, value): (&String, &String)| ConfigEntry {
            key: format!("{}.{key}", Self::PREFIX),
            value: Some(value.clone()),
            description: "A dynamic option of all Paimon tables",
        };
        self.table_options.iter().map(entry).collect()
    }
}

/// The zone of a session in which times without one are meant; UTC where it has none.
pub fn zone(config: &ConfigOptions) -> Result<Tz> {
    match config.execution.time_zone.as_deref() {
        None | Some("") => Ok(Tz::UTC),
        Some(text) => zone_of(text),
    }
}

/// A zone by its name (`Europe/Paris`) or as whole hours before UTC (`+02:00`).
fn zone_of(text: &str) -> Result<Tz> {
    let text = text.trim();
    if let Ok(zone) = text.parse() {
        return Ok(zone);
    }
    let unknown = || Error::invalid_option(format!("datafusion.execution.time_zone: '{text}' is no known time zone"));
    if text.eq_ignore_ascii_case("z") {
        return Ok(Tz::UTC);
    }
    let digits: String = text.chars().skip(1).filter(|c| *c != ':').collect();
    let (hours, minutes) = (digits.get(..2).unwrap_or(&digits), digits.get(2..).unwrap_or_default());
    let hours: u8 = hours.parse().map_err(|_| unknown())?;
    // The names of POSIX count the other way round.
    let sign = match text.chars().next() {
        Some('+') => '-',
        Some('-') => '+',
        _ => return Err(unknown()),
    };
    if !matches!(minutes, "" | "00") {
        return Err(unknown());
    }
    format!("Etc/GMT{sign}{hours}").parse().map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_by_name_and_by_whole_hours() {
        for (text, want) in [
            ("Europe/Paris", Some(Tz::Europe__Paris)),
            ("UTC", Some(Tz::UTC)),
            ("Z", Some(Tz::UTC)),
            ("+00:00", Some(Tz::Etc__GMTMinus0)),
            ("+02:00", Some(Tz::Etc__GMTMinus2)),
            ("-0800", Some(Tz::Etc__GMTPlus8)),
            ("+05:30", None),
            ("+é", None),
            ("Nowhere", None),
        ] {
            assert_eq!(zone_of(text).ok(), want, "{text}");
        }
    }

    #[test]
    fn settings_are_options_of_all_tables() {
        let mut config = ConfigOptions::new();
        config.extensions.insert(PaimonSettings::default());
        config.set("paimon.read.batch-size", "7").unwrap();
        let settings = PaimonSettings::of(&config);
        assert_eq!(settings.table_options, BTreeMap::from([("read.batch-size".into(), "7".into())]));
        assert_eq!(settings.entries()[0].key, "paimon.read.batch-size");
    }
}
