//! Copies of golden tables, to break them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::session::data_dir;

/// All files below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { out.extend(files(&path)) } else { out.push(path) }
    }
    out
}

/// A copy of a table, in a warehouse of its own.
pub fn copy(database: &str, table: &str) -> (TempDir, PathBuf) {
    let warehouse = tempfile::tempdir().unwrap();
    let inside = Path::new(&format!("{database}.db")).join(table);
    let (from, to) = (data_dir().join("warehouse").join(&inside), warehouse.path().join(&inside));
    for file in files(&from) {
        let target = to.join(file.strip_prefix(&from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
    (warehouse, to)
}
