//! Table functions: tables with options, changes between snapshots, tables as of a version; in any SQL dialect.
//!
//! In: a table's name as one string, in which parts are quoted as in SQL (`'paimon."db"."t$branch_b"'`), and further
//! constants. Out: the table. A name without a catalog or database is looked up as in SQL, then in the catalog `paimon`.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;
use datafusion::catalog::{CatalogProviderList, Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, TableReference};
use datafusion::error::{DataFusionError, Result};

use super::block_on::block_on;
use super::catalog::PaimonCatalog;
use super::constant::{evaluate, text};
use super::session::zone;
use super::time_travel::{AsOf, with_options};
use super::{DEFAULT_CATALOG, DEFAULT_DATABASE};
use crate::error::Error;

/// A table function of Paimon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaimonFunction {
    /// `paimon_table(NAME, KEY, VALUE, …)`: a table, branch or system table with dynamic options.
    Table,
    /// `paimon_as_of(NAME, 'version' | 'timestamp', VALUE)`: a table as it was.
    AsOf,
    /// `paimon_incremental_query(NAME, FROM, TO)`: what changed between two snapshots or tags.
    IncrementalQuery,
    /// `paimon_incremental_between_timestamp(NAME, FROM, TO)`: what changed between two points in time.
    IncrementalBetweenTimestamp,
    /// `paimon_incremental_to_auto_tag(NAME, TAG)`: what changed since the tag before an automatically made one.
    IncrementalToAutoTag,
}

impl PaimonFunction {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Table,
        Self::AsOf,
        Self::IncrementalQuery,
        Self::IncrementalBetweenTimestamp,
        Self::IncrementalToAutoTag,
    ];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "paimon_table",
            Self::AsOf => super::version_clause::FUNCTION,
            Self::IncrementalQuery => "paimon_incremental_query",
            Self::IncrementalBetweenTimestamp => "paimon_incremental_between_timestamp",
            Self::IncrementalToAutoTag => "paimon_incremental_to_auto_tag",
        }
    }

    fn usage(self) -> &'static str {
        match self {
            Self::Table => "paimon_table('TABLE', 'OPTION', 'VALUE', …)",
            Self::AsOf => "paimon_as_of('TABLE', 'version' or 'timestamp', VALUE)",
            Self::IncrementalQuery => "paimon_incremental_query('TABLE', FROM, TO)",
            Self::IncrementalBetweenTimestamp => "paimon_incremental_between_timestamp('TABLE', FROM, TO)",
            Self::IncrementalToAutoTag => "paimon_incremental_to_auto_tag('TABLE', 'TAG')",
        }
    }

    /// The options that its further arguments stand for.
    fn options(self, arguments: &[ScalarValue], zone: Tz) -> crate::error::Result<BTreeMap<String, String>> {
        let wrong = || Error::invalid_option(format!("{} was expected", self.usage()));
        let single = |key: &str, value: String| Ok(BTreeMap::from([(key.to_owned(), value)]));
        match (self, arguments) {
            (Self::Table, pairs) => {
                let pairs = pairs.chunks(2).map(|pair| match pair {
                    [key, value] => Ok((text(key)?, text(value)?)),
                    _ => Err(Error::invalid_option(format!("an option has no value; {} was expected", self.usage()))),
                });
                pairs.collect()
            }
            (Self::AsOf, [kind, value]) => match text(kind)?.to_ascii_lowercase().as_str() {
                "version" => AsOf::Version.options(value, zone),
                "timestamp" => AsOf::Timestamp.options(value, zone),
                _ => Err(wrong()),
            },
            (Self::IncrementalQuery, [from, to]) => {
                single("incremental-between", format!("{},{}", text(from)?, text(to)?))
            }
            (Self::IncrementalBetweenTimestamp, [from, to]) => {
                single("incremental-between-timestamp", format!("{},{}", text(from)?, text(to)?))
            }
            (Self::IncrementalToAutoTag, [tag]) => single("incremental-to-auto-tag", text(tag)?),
            _ => Err(wrong()),
        }
    }
}

impl TableFunctionImpl for PaimonFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let config = args.session().config_options();
        let values = args.exprs().iter().map(|e| evaluate(e.clone(), config)).collect::<Result<Vec<_>>>()?;
        let Some((name, further)) = values.split_first() else {
            return Err(Error::invalid_option(format!("{} was expected", self.usage())).into());
        };
        let zone = zone(config)?;
        let options = self.options(further, zone)?;
        Lookup::new(args.session(), zone).table(text(name)?, options)
    }
}

/// How tables are found by their names in a session.
struct Lookup {
    catalogs: Arc<dyn CatalogProviderList>,
    catalog: String,
    database: String,
    normalize: bool,
    zone: Tz,
}

impl Lookup {
    fn new(session: &dyn Session, zone: Tz) -> Self {
        let options = session.config_options();
        Self {
            catalogs: session.catalog_list(),
            catalog: options.catalog.default_catalog.clone(),
            database: options.catalog.default_schema.clone(),
            normalize: options.sql_parser.enable_ident_normalization,
            zone,
        }
    }

    fn table(self, name: String, options: BTreeMap<String, String>) -> Result<Arc<dyn TableProvider>> {
        let zone = self.zone;
        let (searched, wanted) = (name.clone(), options.clone());
        let found = block_on(async move { self.find(&searched, wanted).await })?;
        match found {
            Found::Table(table) => Ok(table),
            Found::WithoutOptions(table) => with_options(table, &name, options, zone),
        }
    }

    async fn find(&self, name: &str, options: BTreeMap<String, String>) -> Result<Found> {
        for (catalog, database, table) in self.places(name) {
            let Some(catalog) = self.catalogs.catalog(&catalog) else { continue };
            if let Some(catalog) = catalog.downcast_ref::<PaimonCatalog>() {
                if let Some(table) = catalog.open(&database, &table, options.clone()).await? {
                    return Ok(Found::Table(table));
                }
            } else if let Some(database) = catalog.schema(&database)
                && let Some(table) = database.table(&table).await?
            {
                return Ok(Found::WithoutOptions(table));
            }
        }
        Err(DataFusionError::Plan(format!("table '{name}' not found")))
    }

    /// Where a table may be: catalog, database, table.
    fn places(&self, name: &str) -> Vec<(String, String, String)> {
        let (first, second) = match TableReference::parse_str_normalized(name, !self.normalize) {
            TableReference::Full { catalog, schema, table } => ((catalog, schema, table), None),
            TableReference::Partial { schema, table } => {
                let second = (DEFAULT_CATALOG.into(), Arc::clone(&schema), Arc::clone(&table));
                ((self.catalog.as_str().into(), schema, table), Some(second))
            }
            TableReference::Bare { table } => {
                let second = (DEFAULT_CATALOG.into(), DEFAULT_DATABASE.into(), Arc::clone(&table));
                ((self.catalog.as_str().into(), self.database.as_str().into(), table), Some(second))
            }
        };
        let own = |(c, d, t): (Arc<str>, Arc<str>, Arc<str>)| (c.to_string(), d.to_string(), t.to_string());
        std::iter::once(first).chain(second).map(own).collect()
    }
}

/// A table that was found.
enum Found {
    /// It has its options.
    Table(Arc<dyn TableProvider>),
    /// It is yet to be given them.
    WithoutOptions(Arc<dyn TableProvider>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(values: &[&str]) -> Vec<ScalarValue> {
        values.iter().map(|v| ScalarValue::from(*v)).collect()
    }

    #[test]
    fn arguments_become_options() {
        use PaimonFunction::*;
        for (function, arguments, want) in [
            (Table, vec![], vec![]),
            (Table, vec!["scan.version", "3", "a", "b"], vec![("a", "b"), ("scan.version", "3")]),
            (IncrementalQuery, vec!["1", "tag"], vec![("incremental-between", "1,tag")]),
            (IncrementalBetweenTimestamp, vec!["1", "2"], vec![("incremental-between-timestamp", "1,2")]),
            (IncrementalToAutoTag, vec!["x"], vec![("incremental-to-auto-tag", "x")]),
            (AsOf, vec!["version", "x"], vec![("scan.version", "x")]),
            (AsOf, vec!["TIMESTAMP", "1970-01-01"], vec![("scan.timestamp-millis", "0")]),
        ] {
            let want = want.into_iter().map(|(k, v): (&str, &str)| (k.to_owned(), v.to_owned())).collect();
            assert_eq!(function.options(&strings(&arguments), Tz::UTC).unwrap(), want, "{function:?}");
        }
        for (function, arguments) in
            [(Table, vec!["a"]), (IncrementalQuery, vec!["1"]), (AsOf, vec!["x", "1"]), (AsOf, vec![])]
        {
            assert!(function.options(&strings(&arguments), Tz::UTC).is_err(), "{function:?}");
        }
    }
}
