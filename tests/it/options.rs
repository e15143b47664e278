//! `docs/options.md` is what the declarations of the options say. `UPDATE_DOCS=1` writes it anew.

use std::path::Path;

use datafusion_paimon::options::{SessionOptions, TableOptions};

#[test]
fn the_documented_options_are_the_declared_ones() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/options.md");
    let intro = "# Table options that reading knows\n\n\
        Stored with the table, or given to a query: `CREATE EXTERNAL TABLE … OPTIONS`, `paimon_table(…)`, \
        `SET \"paimon.KEY\"`.\nThis page is made from the declarations in `src/options/table_options.rs`; \
        `UPDATE_DOCS=1 cargo test --features cli --test it options` writes it anew.\n\n";
    let session = "\n# Settings of a session\n\n\
        No options of tables: `SET \"paimon.KEY\"` changes the session, `SHOW \"paimon.KEY\"` shows it. Declared in \
        `src/options/session_options.rs`.\n\n";
    let (tables, settings) = (TableOptions::markdown(), SessionOptions::markdown());
    let want = format!("{intro}{tables}{session}{settings}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &want).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == want, "docs/options.md is not up to date: run this test with UPDATE_DOCS=1");
}
