//! What a table is called in SQL: which table, which branch, which system table, which version.
//!
//! In: the last part of a SQL name, without its quotes: `t`, `t$branch_b`, `t$snapshots`, `t$branch_b$snapshots`, each
//! with an optional `@VERSION` behind it. Out: [`ObjectName`]s. `@` is no part of Paimon's naming, and a table, branch or
//! tag may have one in its name, so that a text can be read in several ways: [`readings`] gives them all, in the order in
//! which they are to be tried.

use crate::error::{Error, Result};

/// The system tables of a table, as the reference implementation names them.
pub const SYSTEM_TABLES: [&str; 18] = [
    "aggregation_fields",
    "audit_log",
    "binlog",
    "branches",
    "buckets",
    "consumers",
    "file_key_ranges",
    "files",
    "manifests",
    "options",
    "partitions",
    READ_OPTIMIZED,
    "row_tracking",
    "schemas",
    "snapshots",
    "statistics",
    "table_indexes",
    "tags",
];

/// The system table of what can be read without merging.
pub const READ_OPTIMIZED: &str = "ro";

const SEPARATOR: char = '$';
const BRANCH_PREFIX: &str = "branch_";
const MAIN_BRANCH: &str = "main";

/// One way to read a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// The table's folder.
    pub table: String,
    /// A branch other than the main one.
    pub branch: Option<String>,
    /// A system table of it, lower-case.
    pub system: Option<String>,
    /// A snapshot id or tag, as of which it is read.
    pub version: Option<String>,
}

impl ObjectName {
    /// Reads a name without a version.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = text.split(SEPARATOR);
        let table = parts.next().unwrap_or_default().to_owned();
        let (first, second, third) = (parts.next(), parts.next(), parts.next());
        let branch_of = |part: &str| part.strip_prefix(BRANCH_PREFIX).map(str::to_owned);
        let (branch, system) = match (first, second, third) {
            (None, _, _) => (None, None),
            (Some(part), None, _) => match branch_of(part) {
                Some(branch) => (Some(branch), None),
                None => (None, Some(part)),
            },
            (Some(part), Some(system), None) if branch_of(part).is_some() => (branch_of(part), Some(system)),
            _ => {
                let message = format!(
                    "'{text}' is no name of a table: TABLE, TABLE$branch_BRANCH, TABLE$SYSTEM or \
                     TABLE$branch_BRANCH$SYSTEM was expected"
                );
                return Err(Error::not_found(message));
            }
        };
        let branch = branch.filter(|b| b != MAIN_BRANCH);
        Ok(Self { table, branch, system: system.map(str::to_ascii_lowercase), version: None })
    }
}

/// All ways to read a name, the one to be preferred first: `a@b@1` may be a table of that name, version `1` of `a@b`, or
/// version `b@1` of `a`.
pub fn readings(text: &str) -> Vec<Result<ObjectName>> {
    let with_version = text.rmatch_indices('@').filter_map(|(at, _)| {
        let (name, version) = (text.get(..at)?, text.get(at + 1..)?);
        (!name.is_empty() && !version.is_empty()).then(|| {
            let name = ObjectName::parse(name)?;
            Ok(ObjectName { version: Some(version.to_owned()), ..name })
        })
    });
    std::iter::once(ObjectName::parse(text)).chain(with_version).collect()
}

/// Whether a name can be that of a folder: what cannot is no table, and must not lead out of the warehouse.
pub fn is_folder_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(name: &Result<ObjectName>) -> String {
        match name {
            Ok(n) => format!(
                "{}|{}|{}|{}",
                n.table,
                n.branch.as_deref().unwrap_or("-"),
                n.system.as_deref().unwrap_or("-"),
                n.version.as_deref().unwrap_or("-")
            ),
            Err(e) => format!("{:?}", e.kind()),
        }
    }

    #[test]
    fn a_name_has_a_branch_and_a_system_table() {
        for (text, want) in [
            ("t", "t|-|-|-"),
            ("Odd table é%20+x", "Odd table é%20+x|-|-|-"),
            ("t$branch_b", "t|b|-|-"),
            ("t$branch_main", "t|-|-|-"),
            ("t$Snapshots", "t|-|snapshots|-"),
            ("t$branch_b$files", "t|b|files|-"),
            ("t$branch_main$files", "t|-|files|-"),
            ("t$branch_a_b", "t|a_b|-|-"),
            ("t$files$more", "NotFound"),
            ("t$branch_b$files$more", "NotFound"),
        ] {
            assert_eq!(show(&ObjectName::parse(text)), want, "{text}");
        }
    }

    #[test]
    fn a_version_is_one_reading_of_many() {
        for (text, want) in [
            ("t", vec!["t|-|-|-"]),
            ("t@3", vec!["t@3|-|-|-", "t|-|-|3"]),
            ("a@b@1", vec!["a@b@1|-|-|-", "a@b|-|-|1", "a|-|-|b@1"]),
            ("t$branch_b@v 1", vec!["t|b@v 1|-|-", "t|b|-|v 1"]),
            ("t$files@1", vec!["t|-|files@1|-", "t|-|files|1"]),
            ("@", vec!["@|-|-|-"]),
            ("t@", vec!["t@|-|-|-"]),
        ] {
            assert_eq!(readings(text).iter().map(show).collect::<Vec<_>>(), want, "{text}");
        }
    }

    #[test]
    fn names_do_not_lead_out_of_the_warehouse() {
        for (name, good) in [("t", true), ("a b", true), ("..", false), (".", false), ("", false), ("a/b", false)] {
            assert_eq!(is_folder_name(name), good, "{name}");
        }
    }
}
