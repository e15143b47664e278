//! Just enough of Rust's grammar to find the paths that a source file names.
//!
//! In: the text of a file. Out: its identifiers and signs with their lines, without comments and literals; and the
//! modules of the crate that its `crate::…` and `super::…` paths lead to.

/// An identifier, `::`, or one other character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub line: usize,
    pub text: String,
}

/// A path into the crate, by the first name below its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CratePath {
    pub line: usize,
    pub head: String,
}

/// The tokens of a source text.
pub fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let (mut out, mut at, mut line) = (Vec::new(), 0, 1);
    while at < chars.len() {
        let end = skip_silent(&chars, at);
        if end > at {
            line += chars[at..end].iter().filter(|c| **c == '\n').count();
            at = end;
            continue;
        }
        let end = match chars[at] {
            c if is_word(c) => at + chars[at..].iter().take_while(|c| is_word(**c)).count(),
            ':' if chars.get(at + 1) == Some(&':') => at + 2,
            _ => at + 1,
        };
        out.push(Token { line, text: chars[at..end].iter().collect() });
        at = end;
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the blank, comment or literal that begins at `at`; `at` itself where there is none.
fn skip_silent(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let starts = |text: &str| text.chars().enumerate().all(|(i, c)| rest.get(i) == Some(&c));
    if rest[0].is_whitespace() {
        at + 1
    } else if starts("//") {
        at + rest.iter().take_while(|c| **c != '\n').count()
    } else if starts("/*") {
        at + block_comment(rest)
    } else if rest[0] == '"' {
        at + quoted(rest)
    } else if rest[0] == 'r' && !at.checked_sub(1).is_some_and(|before| is_word(chars[before]) && chars[before] != 'b')
    {
        at + raw_string(rest)
    } else if rest[0] == '\'' {
        at + character(rest)
    } else {
        at
    }
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a literal between quotes, backslashes escaping.
fn quoted(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != rest[0] {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The length of `r"…"` or `r#"…"#`; none where the `r` begins something else.
fn raw_string(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let mut at = 2 + hashes;
    while at < rest.len() {
        if rest[at] == '"' && rest[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes {
            return at + 1 + hashes;
        }
        at += 1;
    }
    at
}

/// The length of a character literal, or of the tick of a lifetime.
fn character(rest: &[char]) -> usize {
    match (rest.get(1), rest.get(2)) {
        (Some('\\'), _) => quoted(rest),
        (Some(_), Some('\'')) => 3,
        _ => 1,
    }
}

/// Every path from the crate's root that a file names. `module` is where the file is: `["sql", "catalog"]`.
pub fn crate_paths(source: &str, module: &[String]) -> Vec<CratePath> {
    let tokens = tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |t| t.text.as_str());
    let mut out = Vec::new();
    // Open braces, and whether each is that of a `mod name {`, which is one step further down.
    let mut braces = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let inside = at > 0 && text(at - 1) == "::";
        let (depth, next) = match text(at) {
            "{" => {
                braces.push(at > 1 && text(at - 2) == "mod");
                (None, at + 1)
            }
            "}" => {
                braces.pop();
                (None, at + 1)
            }
            "crate" if !inside => (Some(0), at + 1),
            "super" if !inside => {
                let ups = (at..).step_by(2).take_while(|at| text(*at) == "super").count();
                let modules = module.len() + braces.iter().filter(|is_module| **is_module).count();
                (modules.checked_sub(ups), at + 2 * ups - 1)
            }
            _ => (None, at + 1),
        };
        if depth == Some(0) && text(next) == "::" {
            heads(&tokens, next + 1, &mut out);
        }
        at = next;
    }
    out
}

/// The first name, or the first names of a group in braces, at a place.
fn heads(tokens: &[Token], start: usize, out: &mut Vec<CratePath>) {
    let Some(first) = tokens.get(start) else { return };
    if first.text != "{" {
        out.push(CratePath { line: first.line, head: first.text.clone() });
        return;
    }
    let mut depth = 0;
    for pair in tokens[start..].windows(2) {
        match pair[0].text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(pair[0].text.as_str(), "{" | ",") && pair[1].text != "}" {
            out.push(CratePath { line: pair[1].line, head: pair[1].text.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_where_they_are_code() {
        let source = r##"//! [`crate::comment`]
use crate::spec::data_type::{DataType, crate_like};
use crate::{
    error::{Error, Result},
    plan, storage::Location,
};
/* crate::block /* crate::nested */ crate::still */
const TEXT: &str = "crate::text \" crate::more"; const RAW: &str = r#"crate::raw"#;
fn f<'a>(x: &'a crate::split::DataSplit, c: char) -> bool { c == '"' || c == '\'' || crate::exec::run(x) }
use super::sibling; use super::super::sql::Catalog; pub(crate) mod m { use super::super::x; }
pub(in crate::file) fn g() {}
"##;
        let module = ["plan".to_owned(), "prune".to_owned()];
        let found: Vec<_> = crate_paths(source, &module).into_iter().map(|p| (p.line, p.head)).collect();
        let want = [
            (2, "spec"),
            (4, "error"),
            (5, "plan"),
            (5, "storage"),
            (9, "split"),
            (9, "exec"),
            (10, "sql"),
            (11, "file"),
        ];
        assert_eq!(found, want.map(|(line, head)| (line, head.to_owned())));
    }
}
