//! File indexes: what they leave out is not read, and the rows never change, whatever has become of an index.

use std::fs;
use std::path::Path;

use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::sql::{register, register_catalog};

use crate::support::conditions::sorted;
use crate::support::copy::{copy, files};
use crate::support::ran::Ran;
use crate::support::session::session;

const FORMATS: [&str; 3] = ["parquet", "orc", "avro"];

fn over(warehouse: &Path) -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    register(&context).unwrap();
    register_catalog(&context, "paimon", &warehouse.to_string_lossy()).unwrap();
    context
}

/// A table without its indexes.
fn unindexed(table: &str) -> String {
    format!(r#"paimon_table('paimon."index"."{table}"', 'file-index.read.enabled', 'false')"#)
}

async fn rows(context: &SessionContext, source: &str, condition: &str) -> Vec<String> {
    let ran = Ran::new(context, &format!("SELECT * FROM {source} WHERE {condition}")).await;
    sorted(&ran.unwrap_or_else(|e| panic!("{source} WHERE {condition}: {e}")).batches).unwrap()
}

/// Conditions on `index.kinds_*`, and how many of the three files an index passes over; -0.0 and NaN are among the
/// values, and every file has NULLs.
const CONDITIONS: [(&str, usize); 40] = [
    ("i = 10", 1),
    ("i = 12", 1),
    ("i = 13", 0),
    ("i IN (10, 11)", 0),
    ("i IN (10, 15, 20)", 1),
    ("i <> 10", 0),
    ("i NOT IN (10, 11)", 0),
    ("i IS NULL", 0),
    ("i IS NOT NULL", 0),
    ("i > 9 AND i < 11", 1),
    ("i = 10 AND l = 100000000000", 1),
    ("i = 10 OR l = 120000000000", 0),
    ("i = 10 OR id = 7", 0),
    ("l = 100000000000", 1),
    ("l > 90000000000 AND l < 110000000000", 1),
    ("l <= -200000000000", 0),
    ("l >= -10000000000 AND l <= 0", 0),
    ("l NOT IN (100000000000)", 0),
    ("l IS NULL", 0),
    ("s = 'word 50'", 1),
    ("s = 'word 5'", 1),
    ("s LIKE 'word 5%'", 0),
    ("s > 'word 45' AND s < 'word 51'", 0),
    ("s IS NULL AND i IS NOT NULL", 3),
    ("d = DATE '2025-04-11'", 1),
    ("d < DATE '2022-06-01'", 0),
    ("t = TIMESTAMP '2025-04-11 01:02:03.000035'", 1),
    ("t > TIMESTAMP '2029-05-01 00:00:00'", 0),
    ("m = TIMESTAMP '2025-04-11 01:02:03.004'", 1),
    ("x = 2.5", 1),
    ("x = 0.0", 1),
    ("x > 5.7", 0),
    ("x < -6.2", 0),
    ("f = 2.5", 1),
    ("f <= 0", 0),
    ("dec = 10.50", 1),
    ("dec > 10 AND dec < 11", 1),
    ("dec < -24.00 OR dec > 24.00", 0),
    ("b", 0),
    ("small > 999 AND small < 1001 AND tiny = 10", 1),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_index_leaves_out_files_and_rows_and_never_a_row_that_is_wanted() {
    let context = session().unwrap();
    for format in FORMATS {
        let (table, mut read, mut wanted) = (format!("kinds_{format}"), 0, 0);
        for (condition, skipped) in CONDITIONS {
            let sql = format!(r#"SELECT * FROM paimon."index".{table} WHERE {condition}"#);
            let ran = Ran::new(&context, &sql).await.unwrap();
            let want = rows(&context, &unindexed(&table), condition).await;
            assert_eq!(sorted(&ran.batches).unwrap(), want, "{sql}");
            assert_eq!(ran.counted("files_ranges_pruned_file_index"), (skipped, 3 - skipped), "{sql}");
            assert_eq!((ran.counted("file_index_missing").0, ran.counted("file_index_errors").0), (0, 0), "{sql}");
            (read, wanted) = (read + ran.counted("output_rows").0, wanted + ran.rows);
        }
        // Of 360 rows for each condition hardly more come out of the scan than fulfil it.
        assert!(read < wanted + 40 * 360 / 8, "{table}: {read} rows for {wanted}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_tables_give_the_same_rows_with_and_without_their_indexes() {
    let context = session().unwrap();
    for (table, conditions) in [
        (
            "bitmap_v1",
            &["i = 10", "i <> 10", "i IS NULL", "s IN ('word 5', 'nothing')", "b", "small = 900", "m IS NULL"][..],
        ),
        (
            "embedded",
            &["v = 5", "v = 1", "v < 0", "v > 8", "v IS NULL", "v IS NOT NULL", "v <> 9", "s = 'zzz'", "s < 'a'"],
        ),
        ("evolved", &["renamed = 5", "a = 7", "a IS NULL", "w = 5", "w = 5000000000", "gone = 'x'", "gone IS NULL"]),
        ("deleted", &["v = 'a'", "v = 'b'", "v = 'c'", "v = 'd'", "v <> 'a'", "v IN ('b', 'c')"]),
        ("versions", &["v = 'a'", "v = 'A'", "v = 'b'", "v = 'z'", "v = 'x'", "n = 1", "n > 9", "n < 3 AND v <> 'a'"]),
    ] {
        for condition in conditions {
            let got = rows(&context, &format!(r#"paimon."index".{table}"#), condition).await;
            assert_eq!(got, rows(&context, &unindexed(table), condition).await, "{table} WHERE {condition}");
        }
    }
}

#[tokio::test]
async fn an_index_in_the_manifest_leaves_out_files_when_the_scan_is_planned() {
    let context = session().unwrap();
    let ran = Ran::new(&context, r#"SELECT * FROM paimon."index".embedded WHERE v = 5"#).await.unwrap();
    assert!(ran.text().contains("index="), "{}", ran.text());
    assert_eq!(ran.rows, 2);
}

#[tokio::test]
async fn an_index_that_is_gone_or_damaged_leaves_nothing_out_and_is_counted() {
    let condition = "i = 10 AND s = 'word 50' AND l > 0 AND x > 0";
    let want = rows(&session().unwrap(), &unindexed("kinds_parquet"), condition).await;
    assert!(!want.is_empty());
    let cut = |hundredths: usize| move |bytes: &[u8]| Some(bytes[..bytes.len() * hundredths / 100].to_vec());
    let zeros = |bytes: &[u8]| Some(vec![0; bytes.len()]);
    let broken_head = |bytes: &[u8]| Some([&bytes[..12], &[0xff; 4], &bytes[16..]].concat());
    let other_version = |bytes: &[u8]| Some([&bytes[..8], &[0, 0, 0, 9], &bytes[12..]].concat());
    type Damage<'a> = &'a dyn Fn(&[u8]) -> Option<Vec<u8>>;
    let damages: [(&str, Damage<'_>, &str); 7] = [
        ("gone", &|_| None, "file_index_missing"),
        ("empty", &cut(0), "file_index_errors"),
        ("cut to a tenth", &cut(10), "file_index_errors"),
        ("cut to a half", &cut(50), "file_index_errors"),
        ("zeros", &zeros, "file_index_errors"),
        ("a wrong length", &broken_head, "file_index_errors"),
        ("another version", &other_version, "file_index_errors"),
    ];
    let (warehouse, folder) = copy("index", "kinds_parquet");
    let indexes: Vec<_> = files(&folder).into_iter().filter(|f| f.extension().is_some_and(|e| e == "index")).collect();
    let bytes: Vec<_> = indexes.iter().map(|file| fs::read(file).unwrap()).collect();
    for (what, damage, counter) in damages {
        for (file, bytes) in indexes.iter().zip(&bytes) {
            match damage(bytes) {
                Some(broken) => fs::write(file, broken).unwrap(),
                None => fs::remove_file(file).unwrap(),
            }
        }
        let sql = format!(r#"SELECT * FROM paimon."index".kinds_parquet WHERE {condition}"#);
        let ran = Ran::new(&over(warehouse.path()), &sql).await.unwrap();
        assert_eq!(sorted(&ran.batches).unwrap(), want, "{what}");
        assert_eq!(ran.counted(counter).0, 3, "{what}");
    }
}
