//! The rules of `docs/architecture.md` that a program can check: which stage may import which, where I/O may be, and that
//! every file says what it is for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::rust_source::{CratePath, Token, crate_paths, tokens};

/// What each stage may import besides itself and the vocabulary: what is drawn below it.
const STAGES: [(&str, &[&str]); 5] = [
    ("sql", &["plan", "exec", "file", "storage"]),
    ("plan", &["file", "storage"]),
    ("exec", &["file", "storage"]),
    ("file", &["storage"]),
    ("storage", &[]),
];

/// What every stage may import, and what imports no stage.
const VOCABULARY: [&str; 7] = ["spec", "predicate", "options", "split", "selection", "cache", "error"];

/// Vocabulary without I/O.
const PURE: [&str; 2] = ["spec", "predicate"];

/// What betrays I/O in a file; `std::fs` is looked for apart, for `fs` is a fine name for fields.
const IMPURE: [&str; 5] = ["async", "await", "tokio", "object_store", "futures"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below a folder of the project, in order.
fn rust_files(folder: &str) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The module that a file of `src` is: `src/sql/catalog.rs` is `["sql", "catalog"]`, `src/sql/mod.rs` is `["sql"]`.
fn module_of(file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(root().join("src")).unwrap().with_extension("");
    let mut module: Vec<String> = inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

/// What is wrong with a path from `stage`, if anything.
fn breach(stage: &str, path: &CratePath) -> Option<String> {
    let head = path.head.as_str();
    let below = STAGES.iter().find(|(name, _)| *name == stage).map_or(&[][..], |(_, below)| below);
    if head == stage || VOCABULARY.contains(&head) || below.contains(&head) {
        return None;
    }
    if !STAGES.iter().any(|(name, _)| *name == head) {
        return Some(format!("`{stage}` names `crate::{head}`: say the module that it is from"));
    }
    let why = if VOCABULARY.contains(&stage) { "vocabulary imports no stage" } else { "only what is drawn below it" };
    Some(format!("`{stage}` imports `{head}`: {why}"))
}

/// A file's tokens up to its tests, which may read files.
fn before_tests(tokens: &[Token]) -> &[Token] {
    let begins = |at: usize, words: &[&str]| words.iter().zip(&tokens[at..]).all(|(word, token)| *word == token.text);
    let tests =
        (0..tokens.len()).find(|at| begins(*at, &["#", "[", "test", "]"]) || begins(*at, &["cfg", "(", "test", ")"]));
    &tokens[..tests.unwrap_or(tokens.len())]
}

fn place(file: &Path, line: usize) -> String {
    format!("{}:{line}", file.strip_prefix(root()).unwrap().display())
}

fn assert_none(breaches: &[String]) {
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn stages_import_only_what_is_below_them() {
    let mut breaches = Vec::new();
    for file in rust_files("src") {
        let module = module_of(&file);
        let stage = module.first().map_or("", String::as_str);
        if matches!(stage, "lib" | "bin") {
            continue;
        }
        if !VOCABULARY.contains(&stage) && !STAGES.iter().any(|(name, _)| *name == stage) {
            breaches.push(format!("{}: `{stage}` is neither a stage nor vocabulary", place(&file, 1)));
            continue;
        }
        for path in crate_paths(&fs::read_to_string(&file).unwrap(), &module) {
            if let Some(what) = breach(stage, &path) {
                breaches.push(format!("{}: {what}", place(&file, path.line)));
            }
        }
    }
    assert_none(&breaches);
}

#[test]
fn the_format_and_its_predicates_do_no_io() {
    let mut breaches = Vec::new();
    for file in PURE.iter().flat_map(|folder| rust_files(&format!("src/{folder}"))) {
        let tokens = tokens(&fs::read_to_string(&file).unwrap());
        for (at, token) in before_tests(&tokens).iter().enumerate() {
            let is_std_fs = token.text == "fs" && at > 0 && tokens[at - 1].text == "::";
            if is_std_fs || IMPURE.contains(&token.text.as_str()) {
                breaches.push(format!("{}: `{}` in pure code", place(&file, token.line), token.text));
            }
        }
    }
    assert_none(&breaches);
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut breaches = Vec::new();
    for file in ["src", "tests", "examples", "benches"].into_iter().flat_map(rust_files) {
        if !fs::read_to_string(&file).unwrap().starts_with("//! ") {
            breaches.push(format!("{}: does not open with `//!`", place(&file, 1)));
        }
    }
    assert_none(&breaches);
}

#[test]
fn the_import_rule_is_as_drawn() {
    for (stage, head, allowed) in [
        ("sql", "plan", true),
        ("sql", "spec", true),
        ("plan", "file", true),
        ("plan", "exec", false),
        ("exec", "plan", false),
        ("exec", "sql", false),
        ("file", "storage", true),
        ("file", "exec", false),
        ("storage", "error", true),
        ("storage", "file", false),
        ("spec", "error", true),
        ("spec", "storage", false),
        ("split", "spec", true),
        ("split", "plan", false),
        ("sql", "Result", false),
    ] {
        let path = CratePath { line: 1, head: head.into() };
        assert_eq!(breach(stage, &path).is_none(), allowed, "{stage} imports {head}");
    }
}
