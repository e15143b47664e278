//! Damaged tables: every file of some golden tables is removed, cut, overwritten and exchanged in turn. Each read must end
//! in the right rows or in one error that names a file or the table; never in a panic, a hang or, where the damage cannot
//! be mistaken for another table, in other rows.

use std::fs;
use std::path::Path;
use std::time::Duration;

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use datafusion_paimon::sql::{register, register_catalog};
use tokio::time::timeout;

use crate::support::canonical::rows;
use crate::support::copy::{copy, files};
use crate::support::expected::{Answer, Version, answers, difference};

/// Tables with files of every kind and format.
const TABLES: [(&str, &str); 12] = [
    ("demo", "orders"),
    ("append", "plain_orc"),
    ("append", "plain_avro"),
    ("append", "manifests_avro"),
    ("append", "manifests_orc"),
    ("append", "manifests_parquet"),
    ("append", "many_batches_orc"),
    ("types", "scalars_parquet"),
    ("types", "scalars_avro"),
    ("types", "nested_orc"),
    ("types", "variant_shredded"),
    ("evolution", "columns_parquet"),
];

const PATIENCE: Duration = Duration::from_secs(30);

/// One way to break a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Removed,
    /// Cut to so many hundredths of its length.
    Cut(usize),
    /// Without its last byte.
    OneByteShort,
    /// With 64 zero bytes appended.
    Longer,
    /// Full of zeros, of the same length.
    Zeros,
    /// With the bytes of another kind of file.
    Exchanged,
    /// All bits of the byte at so many thousandths of its length turned.
    Flipped(usize),
}

impl Damage {
    fn all() -> impl Iterator<Item = Damage> {
        use Damage::*;
        let flips = [0, 1, 2, 5].into_iter().chain((60..960).step_by(150)).chain([980, 990, 995, 998, 999, 1000]);
        let flips = flips.map(Flipped);
        [Removed, Cut(0), Cut(50), Cut(90), OneByteShort, Longer, Zeros, Exchanged].into_iter().chain(flips)
    }

    /// What becomes of the bytes; `None`: the file goes.
    fn apply(self, bytes: &[u8], other: &[u8]) -> Option<Vec<u8>> {
        let mut out = bytes.to_vec();
        match self {
            Damage::Removed => return None,
            Damage::Cut(hundredths) => out.truncate(bytes.len() * hundredths / 100),
            Damage::OneByteShort => out.truncate(bytes.len().saturating_sub(1)),
            Damage::Longer => out.extend([0; 64]),
            Damage::Zeros => out.fill(0),
            Damage::Exchanged => out = other.to_vec(),
            Damage::Flipped(thousandths) => {
                let at = (bytes.len().saturating_sub(1)) * thousandths / 1000;
                if let Some(byte) = out.get_mut(at) {
                    *byte = !*byte;
                }
            }
        }
        Some(out)
    }

    /// Whether other rows may come out: formats without checksums cannot tell a turned bit, and JSON or a snapshot that
    /// still reads says what it says.
    fn may_change_rows(self, file: &Path) -> bool {
        let folder = file.parent().and_then(Path::file_name).and_then(|f| f.to_str()).unwrap_or_default();
        matches!(self, Damage::Flipped(_)) || matches!(folder, "snapshot" | "schema" | "tag")
    }
}

/// A session without DataFusion's functions, which take longer to set up than a small table to read.
fn bare_session(warehouse: &Path) -> Result<SessionContext> {
    let context = SessionContext::new_with_state(SessionStateBuilder::new().build());
    register(&context)?;
    register_catalog(&context, "paimon", &warehouse.to_string_lossy())?;
    Ok(context)
}

/// Reads the table as it is now; what is wrong with the way it ended, if anything.
async fn outcome(warehouse: &Path, answer: &Answer, file: &Path, damage: Damage) -> Option<String> {
    let (warehouse, sql) = (warehouse.to_owned(), format!("SELECT * FROM {}", answer.source()));
    let read = tokio::spawn(async move { bare_session(&warehouse)?.sql(&sql).await?.collect().await });
    let abort = read.abort_handle();
    match timeout(PATIENCE, read).await {
        Err(_) => {
            abort.abort();
            Some("hangs".into())
        }
        Ok(Err(panic)) => Some(format!("panics: {panic}")),
        Ok(Ok(Ok(_))) if damage.may_change_rows(file) => None,
        Ok(Ok(Ok(batches))) => difference(&answer.rows, &rows(&batches)),
        Ok(Ok(Err(e))) => {
            let (text, name) = (e.to_string(), file.file_name().unwrap().to_string_lossy());
            // What a changed file says may be wrong about another one.
            let others = [answer.table.as_str(), "data-", "manifest-"];
            let named = text.contains(name.as_ref())
                || damage.may_change_rows(file) && others.iter().any(|other| text.contains(other));
            (!named).then(|| format!("the error does not name it: {text}"))
        }
    }
}

async fn damage_table(database: &'static str, table: &'static str) -> Vec<String> {
    let answer = answers(database, table).into_iter().find(|a| a.branch.is_none() && a.version == Version::Latest);
    let answer = answer.unwrap();
    let (warehouse, folder) = copy(database, table);
    let all = files(&folder);
    let mut failures = Vec::new();
    for (at, file) in all.iter().enumerate() {
        let bytes = fs::read(file).unwrap();
        let kind = |path: &Path| path.parent().map(Path::to_owned);
        let other = all.iter().cycle().skip(at).take(all.len()).find(|other| kind(other) != kind(file));
        let other = fs::read(other.unwrap()).unwrap();
        for damage in Damage::all() {
            match damage.apply(&bytes, &other) {
                Some(broken) => fs::write(file, broken).unwrap(),
                None => fs::remove_file(file).unwrap(),
            }
            if let Some(what) = outcome(warehouse.path(), &answer, file, damage).await {
                let name = file.strip_prefix(warehouse.path()).unwrap().display();
                failures.push(format!("{name} {damage:?}: {what}"));
            }
        }
        fs::write(file, &bytes).unwrap();
    }
    failures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_tables_give_errors_that_name_the_file() {
    let tasks = TABLES.map(|(database, table)| tokio::spawn(damage_table(database, table)));
    let mut failures = Vec::new();
    for task in tasks {
        failures.extend(task.await.unwrap());
    }
    assert!(failures.is_empty(), "\n{} failures:\n{}\n", failures.len(), failures.join("\n"));
}
