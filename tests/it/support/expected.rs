//! The rows that the reference reads from the golden tables.
//!
//! In: `tests/data/expected`. Out: one [`Answer`] per table, branch and snapshot or tag, with the question in SQL.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::session::data_dir;

/// Which version of a table an answer is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// A plain read.
    Latest,
    /// A snapshot by its id.
    Snapshot(u64),
    /// A tag by its name.
    Tag(String),
}

/// What the reference answers to one question.
#[derive(Debug)]
pub struct Answer {
    pub database: String,
    pub table: String,
    /// `None`: the main branch.
    pub branch: Option<String>,
    pub version: Version,
    /// Names and SQL types of the columns.
    pub columns: Vec<(String, String)>,
    /// The rows in canonical form.
    pub rows: Vec<Vec<Value>>,
}

impl Answer {
    /// The table's name in SQL.
    pub fn name(&self) -> String {
        let branch = self.branch.as_ref().map(|b| format!("$branch_{b}")).unwrap_or_default();
        format!(r#"paimon."{}"."{}{branch}""#, self.database, self.table)
    }

    /// What stands behind FROM.
    pub fn source(&self) -> String {
        let (key, value) = match &self.version {
            Version::Latest => return self.name(),
            Version::Snapshot(id) => ("scan.snapshot-id", id.to_string()),
            Version::Tag(tag) => ("scan.tag-name", tag.clone()),
        };
        format!("paimon_table('{}', '{key}', '{value}')", self.name())
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All databases and tables of the golden warehouse.
pub fn tables() -> Vec<(String, String)> {
    let warehouse = data_dir().join("warehouse");
    let databases = entries(&warehouse).into_iter().filter_map(|name| Some(name.strip_suffix(".db")?.to_owned()));
    let tables_of = |database: String| {
        let tables = entries(&warehouse.join(format!("{database}.db")));
        tables.into_iter().map(move |table| (database.clone(), table))
    };
    databases.flat_map(tables_of).collect()
}

/// All answers to a table.
pub fn answers(database: &str, table: &str) -> Vec<Answer> {
    let folder = data_dir().join("expected").join(database).join(table);
    let mut answers = Vec::new();
    for branch in entries(&folder) {
        let branch_folder = folder.join(&branch);
        let files = entries(&branch_folder);
        let mut add = |version: Version, file: &str| {
            let (columns, rows) = load(&branch_folder.join(file));
            let branch = branch.strip_prefix("branch-").map(str::to_owned);
            answers.push(Answer { database: database.into(), table: table.into(), branch, version, columns, rows });
        };
        let stems = files.iter().filter_map(|f| f.strip_suffix(".jsonl"));
        let last = stems.clone().filter_map(|stem| stem.parse::<u64>().ok()).max();
        for stem in stems {
            let version = match stem.parse() {
                Ok(id) => Version::Snapshot(id),
                Err(_) => stem.strip_prefix("tag-").map_or(Version::Latest, |tag| Version::Tag(tag.into())),
            };
            add(version, &format!("{stem}.jsonl"));
        }
        // A plain read gives the last snapshot's rows where no file says otherwise.
        if let Some(last) = last.filter(|_| !files.iter().any(|f| f == "latest.jsonl")) {
            add(Version::Latest, &format!("{last}.jsonl"));
        }
    }
    answers
}

fn load(file: &Path) -> (Vec<(String, String)>, Vec<Vec<Value>>) {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut lines = text.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let columns = serde_json::from_value(head["columns"].clone()).unwrap();
    let rows = lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
    (columns, rows.collect())
}

/// `None` when both hold the same rows in any order, else how they differ.
pub fn difference(want: &[Vec<Value>], got: &[Vec<Value>]) -> Option<String> {
    let lines = |rows: &[Vec<Value>]| {
        let mut lines: Vec<_> = rows.iter().map(|row| Value::from(row.clone()).to_string()).collect();
        lines.sort();
        lines
    };
    let (want, got) = (lines(want), lines(got));
    if want == got {
        return None;
    }
    let missing = want.iter().find(|line| !got.contains(line)).map_or("none", String::as_str);
    let extra = got.iter().find(|line| !want.contains(line)).map_or("none", String::as_str);
    Some(format!("want {} rows, got {}; missing: {missing}; too many: {extra}", want.len(), got.len()))
}
