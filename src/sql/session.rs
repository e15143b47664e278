//! What a session says about Paimon tables: its time zone, and settings that begin with `paimon.`.
//!
//! In: DataFusion's configuration. Out: a zone, and dynamic table options: `SET "paimon.read.batch-size" = '4096'` gives
//! the option `read.batch-size` to every table that is looked up afterwards, below the options that a query names itself.
//! What a session says of itself ([`SessionOptions`]) is no option of tables: `SET "paimon.cache.max-memory" = '1 gb'`
//! changes the session's cache at once.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;
use datafusion::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};

use crate::cache::PaimonCache;
use crate::error::{Error, Result};
use crate::options::SessionOptions;
use crate::options::value::MemorySize;

/// The setting that says how much the session's cache holds.
const CACHE_MAX_MEMORY: &str = "cache.max-memory";

/// The settings `paimon.*`: what the session says of itself, and dynamic options for all tables.
#[derive(Debug, Clone)]
pub struct PaimonSettings {
    /// The options of tables by their key without the prefix, overlaid by those of a single query.
    pub table_options: BTreeMap<String, String>,
    session: SessionOptions,
    /// The cache of the session, once Paimon is registered with it.
    cache: Option<Arc<PaimonCache>>,
}

impl Default for PaimonSettings {
    fn default() -> Self {
        Self { table_options: BTreeMap::new(), session: SessionOptions::none(), cache: None }
    }
}

impl PaimonSettings {
    /// The settings of a session; none where Paimon is not registered with it.
    pub fn of(config: &ConfigOptions) -> Self {
        config.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// The same for a session with this cache, which becomes as large as was set before.
    pub(super) fn with_cache(self, cache: Arc<PaimonCache>) -> Result<Self> {
        let settings = Self { cache: Some(cache), ..self };
        settings.resize_cache(&settings.session)?;
        Ok(settings)
    }

    fn set_of_session(&mut self, key: &str, value: &str) -> Result<()> {
        let session = self.session.with(key, value)?;
        self.resize_cache(&session)?;
        self.session = session;
        Ok(())
    }

    fn resize_cache(&self, session: &SessionOptions) -> Result<()> {
        let Some((cache, size)) = self.cache.as_ref().zip(session.cache_max_memory) else { return Ok(()) };
        match cache.cache().set_capacity_bytes(usize::try_from(size.bytes).unwrap_or(usize::MAX)) {
            true => Ok(()),
            false => {
                let key = format!("{}.{CACHE_MAX_MEMORY}", Self::PREFIX);
                Err(Error::unsupported(format!("'{key}' for a cache that decides its size itself")))
            }
        }
    }

    /// What is set of the session, the size of its cache as it is now.
    fn session_entries(&self) -> Option<ConfigEntry> {
        let now = self.cache.as_ref().map(|cache| MemorySize { bytes: cache.cache().capacity_bytes() as u64 });
        let value = now.or(self.session.cache_max_memory)?.to_string();
        let key = format!("{}.{CACHE_MAX_MEMORY}", Self::PREFIX);
        Some(ConfigEntry { key, value: Some(value), description: "The most memory that the session's cache holds" })
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
        if SessionOptions::has(key) {
            return Ok(self.set_of_session(key, value)?);
        }
        self.table_options.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |(key, value): (&String, &String)| ConfigEntry {
            key: format!("{}.{key}", Self::PREFIX),
            value: Some(value.clone()),
            description: "A dynamic option of all Paimon tables",
        };
        self.session_entries().into_iter().chain(self.table_options.iter().map(entry)).collect()
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
    use crate::cache::{Cache, CacheKey, CacheValue, Kept};

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

    /// A cache whose size is its own affair.
    #[derive(Debug)]
    struct Fixed;

    impl Cache for Fixed {
        fn get(&self, _: &CacheKey) -> Option<Arc<dyn CacheValue>> {
            None
        }

        fn put(&self, _: CacheKey, _: Arc<dyn CacheValue>) {}

        fn remove(&self, _: &CacheKey) {}

        fn clear(&self) {}

        fn list(&self) -> Vec<Kept> {
            vec![]
        }

        fn capacity_bytes(&self) -> usize {
            7
        }
    }

    #[test]
    fn the_cache_is_as_large_as_the_session_says() {
        let mut settings = PaimonSettings::default();
        assert!(settings.entries().is_empty());
        settings.set("cache.max-memory", "1 kb").unwrap();
        let cache = Arc::new(PaimonCache::default());
        let mut settings = settings.with_cache(Arc::clone(&cache)).unwrap();
        assert_eq!((cache.cache().capacity_bytes(), settings.table_options.len()), (1024, 0));
        for (value, want) in [("2 mb", Some("2 mb")), ("2 apples", None), ("0", Some("0 b"))] {
            let shown = |settings: &PaimonSettings| settings.entries()[0].value.clone();
            let before = shown(&settings);
            assert_eq!(settings.set("paimon.cache.max-memory", value).is_ok(), want.is_some(), "{value}");
            assert_eq!(shown(&settings), want.map(str::to_owned).or(before), "{value}");
        }
        assert_eq!(cache.cache().capacity_bytes(), 0);
    }

    #[test]
    fn a_cache_that_decides_its_size_itself_is_left_alone() {
        let fixed = || Arc::new(PaimonCache::new(Arc::new(Fixed)));
        let mut settings = PaimonSettings::default().with_cache(fixed()).unwrap();
        let error = settings.set("cache.max-memory", "1 kb").unwrap_err();
        assert!(error.to_string().contains("paimon.cache.max-memory"), "{error}");
        assert_eq!(settings.entries()[0].value.as_deref(), Some("7 b"));
        let mut early = PaimonSettings::default();
        early.set("cache.max-memory", "1 kb").unwrap();
        assert!(early.with_cache(fixed()).is_err());
    }

    #[test]
    fn settings_of_the_session_are_those_declared() {
        let keys: Vec<_> = SessionOptions::declarations().iter().map(|declared| declared.key).collect();
        assert_eq!(keys, [CACHE_MAX_MEMORY]);
    }
}
