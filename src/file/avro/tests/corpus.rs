//! Checks by hand against real files: `CORPUS_DIR` names a folder of tables. Ignored, because tests carry their own data.

use std::path::{Path, PathBuf};

use super::super::testing::{self, file};
use super::read;
use crate::file::container::read_container;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::table_schema::TableSchema;

/// What this thread computed so far.
fn cpu_nanos() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default()
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

fn corpus() -> Vec<PathBuf> {
    let mut paths = vec![];
    if let Some(folder) = std::env::var_os("CORPUS_DIR") {
        files(Path::new(&folder), &mut paths);
    }
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

#[test]
#[ignore = "needs CORPUS_DIR"]
fn every_metadata_file_decodes() {
    let (mut decoded, mut rows, mut failed) = (0, 0, vec![]);
    for path in corpus() {
        if !name(&path).starts_with("manifest") && !name(&path).starts_with("index-manifest") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        match read_container(bytes.clone().into(), &[]) {
            Ok(batches) => {
                decoded += 1;
                let n: usize = batches.iter().map(|b| b.num_rows()).sum();
                rows += n;
                let part = read_container(bytes.into(), &["_FILE._FILE_NAME", "_FILE_NAME", "_VERSION"]).unwrap();
                assert_eq!(part.iter().map(|b| b.num_rows()).sum::<usize>(), n);
                assert!(part.iter().all(|b| b.num_columns() == 2), "{path:?}");
            }
            Err(e) => failed.push(format!("{}: {e}", path.display())),
        }
    }
    println!("{decoded} files, {rows} rows; failed: {failed:#?}");
}

/// The schema of the table whose names are those of the file.
fn fields_of(path: &Path, bytes: &[u8], names: &[String]) -> Option<Vec<DataField>> {
    let table = path.ancestors().find(|a| a.join("schema").is_dir())?;
    let mut schemas = vec![];
    files(&table.join("schema"), &mut schemas);
    let schemas = schemas.iter().filter_map(|s| TableSchema::from_json(&std::fs::read(s).ok()?).ok());
    let candidates = schemas.map(|s| {
        let mut fields = s.fields;
        let system = [("_SEQUENCE_NUMBER", TypeKind::BigInt), ("_VALUE_KIND", TypeKind::TinyInt)];
        fields.extend(system.into_iter().map(|(n, k)| DataField::new(9999, n, k.nullable())));
        fields
    });
    let has_all = |fields: &Vec<DataField>| names.iter().all(|n| fields.iter().any(|f| f.name == *n));
    let mut candidates: Vec<_> = candidates.filter(has_all).collect();
    candidates.iter_mut().for_each(|c| c.retain(|f| names.contains(&f.name) || f.name.starts_with('_')));
    candidates.into_iter().find(|fields| match read(bytes, fields, None, 1000) {
        Ok(_) => true,
        Err(e) => {
            println!("not so: {e}");
            false
        }
    })
}

#[test]
#[ignore = "needs CORPUS_DIR"]
fn every_data_file_decodes_as_its_table_says() {
    let mut n = 0;
    for path in corpus().into_iter().filter(|p| name(p).ends_with(".avro")) {
        let bytes = std::fs::read(&path).unwrap();
        let natural = read_container(bytes.clone().into(), &[]).unwrap();
        let Some(first) = natural.first() else { continue };
        let schema = first.schema();
        let names = schema.fields().iter().map(|f| f.name().clone());
        let names: Vec<_> = names.filter(|n| !n.starts_with('_')).collect();
        let Some(fields) = fields_of(&path, &bytes, &names) else {
            println!("no schema for {}: {names:?}", path.display());
            continue;
        };
        let batches = read(&bytes, &fields, None, 1000).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let rows = |b: &[arrow::array::RecordBatch]| b.iter().map(|b| b.num_rows()).sum::<usize>();
        assert_eq!(rows(&batches), rows(&natural));
        assert!(batches.iter().all(|b| b.schema() == arrow_schema(&fields)));
        let counted = read(&bytes, &[], None, 10).unwrap();
        assert_eq!(rows(&counted), rows(&natural));
        println!("{}", path.display());
        println!("{}", arrow::util::pretty::pretty_format_batches(&batches).unwrap());
        n += 1;
    }
    println!("{n} data files");
}

#[test]
#[ignore = "a measurement"]
fn how_fast_plain_data_decodes() {
    let schema = r#"{"type":"record","name":"r","fields":[
        {"name":"a","type":["null","long"]},{"name":"b","type":["null","int"]},{"name":"c","type":["null","double"]},
        {"name":"s","type":["null","string"]},{"name":"t","type":["null","string"]},
        {"name":"d","type":["null",{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}]},
        {"name":"z","type":["null",{"type":"long","logicalType":"timestamp-millis"}]}]}"#;
    let blocks: Vec<_> = (0..1000)
        .map(|i| {
            let mut to = vec![];
            for j in 0..1000i64 {
                let n = i * 1000 + j;
                testing::long(&mut to, 1);
                testing::long(&mut to, n * 1_000_003);
                testing::long(&mut to, 1);
                testing::long(&mut to, n % 10_000);
                testing::long(&mut to, 1);
                to.extend((n as f64).to_le_bytes());
                testing::long(&mut to, 1);
                testing::bytes(&mut to, format!("name-{n}").as_bytes());
                testing::long(&mut to, i64::from(n % 5 != 0));
                if n % 5 != 0 {
                    testing::bytes(&mut to, format!("a longer text for the row {n}").as_bytes());
                }
                testing::long(&mut to, 1);
                testing::bytes(&mut to, &(n as i32).to_be_bytes());
                testing::long(&mut to, 1);
                testing::long(&mut to, 1_700_000_000_000 + n);
            }
            (1000, to)
        })
        .collect();
    let bytes = file(schema, "null", &blocks);
    let wanted = super::fields(&[
        ("a", "BIGINT"),
        ("b", "INT"),
        ("c", "DOUBLE"),
        ("s", "STRING"),
        ("t", "STRING"),
        ("d", "DECIMAL(12, 2)"),
        ("z", "TIMESTAMP(3)"),
    ]);
    let report = |what: &str, begin: u64| {
        let seconds = (cpu_nanos() - begin) as f64 / 1e9;
        println!(
            "{what}: {:.0} MB in {seconds:.3} s, {:.0} MB/s",
            bytes.len() as f64 / 1e6,
            bytes.len() as f64 / 1e6 / seconds
        );
    };
    for _ in 0..3 {
        let begin = cpu_nanos();
        read(&bytes, &wanted, None, 8192).unwrap();
        report("all columns", begin);
        let begin = cpu_nanos();
        read(&bytes, &wanted[3..4], None, 8192).unwrap();
        report("one column", begin);
        let begin = cpu_nanos();
        read_container(bytes.clone().into(), &[]).unwrap();
        report("natural", begin);
        let begin = cpu_nanos();
        read(&bytes, &[], None, 8192).unwrap();
        report("count", begin);
    }
}

#[test]
#[ignore = "a measurement, needs CORPUS_DIR"]
fn how_fast_a_large_manifest_decodes() {
    use super::super::codec::Decompressor;
    use super::super::container::{BlockHead, Header};
    use super::super::cursor::Cursor;
    let mut best = vec![];
    for path in corpus().iter().filter(|p| name(p).starts_with("manifest-") && !name(p).starts_with("manifest-list")) {
        let bytes = std::fs::read(path).unwrap();
        if bytes.len() > best.len() && bytes.starts_with(b"Obj") {
            best = bytes;
        }
    }
    let header = Header::parse(&best).unwrap().unwrap();
    let head = BlockHead::parse(&best[header.end..], u64::MAX).unwrap();
    let data = best[header.end + head.head_bytes..][..head.data_bytes as usize].to_vec();
    let plain = Decompressor::new(header.codec).decompress(data.into()).unwrap();
    let at = best.windows(11).position(|w| w == b"avro.schema").unwrap();
    let schema = Cursor::new(&best[at + 11..]).bytes().unwrap();
    let mut large = testing::header(std::str::from_utf8(schema).unwrap(), Some("null"));
    let mut rows = 0;
    while rows < 100_000 {
        testing::long(&mut large, head.rows as i64);
        testing::bytes(&mut large, &plain);
        large.extend(testing::SYNC);
        rows += head.rows;
    }
    let large = bytes::Bytes::from(large);
    for columns in [&[][..], &["_KIND", "_PARTITION", "_BUCKET", "_FILE._FILE_NAME", "_FILE._LEVEL"]] {
        for _ in 0..3 {
            let begin = cpu_nanos();
            let n: usize = read_container(large.clone(), columns).unwrap().iter().map(|b| b.num_rows()).sum();
            let seconds = (cpu_nanos() - begin) as f64 / 1e9;
            println!("{n} entries, {:.0} MB in {seconds:.3} s: {columns:?}", large.len() as f64 / 1e6);
        }
    }
}
