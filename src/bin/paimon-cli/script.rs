//! Several statements in one text.
//!
//! In: the text of a file, of `-c`, or of one input at the prompt. Out: its statements one by one, cut at semicolons that
//! are neither in strings nor in comments, as the session's dialect has them at that moment (a statement may change it).
//! In a file an error in one statement does not stop the next, `-c` stops at the first.

use std::collections::VecDeque;

use datafusion::error::Result;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use datafusion_cli::print_options::PrintOptions;

use crate::context::CliContext;
use crate::execute::{dialect, execute};

/// Runs all statements of a file. Errors are printed, but that of a last statement without a semicolon is returned.
pub async fn run_file(context: &CliContext, path: &str, print: &PrintOptions) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let mut statements = Statements::new(&text);
    while let Some(sql) = statements.next(dialect(context).as_ref()) {
        match execute(context, sql, print).await {
            Err(e) if sql.ends_with(';') => eprintln!("{e}"),
            other => other?,
        }
    }
    Ok(())
}

/// Runs the statements of a command up to the first error.
pub async fn run_command(context: &CliContext, text: &str, print: &PrintOptions) -> Result<()> {
    let mut statements = Statements::new(text);
    while let Some(sql) = statements.next(dialect(context).as_ref()) {
        execute(context, sql, print).await?;
    }
    Ok(())
}

/// The statements of a text.
pub struct Statements<'a> {
    /// What is left of it.
    rest: &'a str,
    /// Lengths of the statements in it that are known, by the dialect that they were cut in.
    cut: Option<(std::any::TypeId, VecDeque<usize>)>,
}

impl<'a> Statements<'a> {
    /// The statements of a text.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text.trim_start_matches('\u{feff}'), cut: None }
    }

    /// The next statement in a dialect, with its semicolon if it has one.
    pub fn next(&mut self, dialect: &dyn Dialect) -> Option<&'a str> {
        self.skip_scripts_first_line();
        if self.rest.trim().is_empty() {
            return None;
        }
        let id = dialect.dialect();
        let known = self.cut.take().filter(|(cut_in, _)| *cut_in == id);
        let (_, mut lengths) = known.unwrap_or_else(|| (id, lengths(self.rest, dialect)));
        let length = lengths.pop_front().unwrap_or(self.rest.len());
        // Where none is left, the rest is to be looked at again.
        self.cut = (!lengths.is_empty()).then_some((id, lengths));
        let (statement, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(statement.trim())
    }

    /// `#!/usr/bin/…` is for the shell.
    fn skip_scripts_first_line(&mut self) {
        while self.rest.trim_start().starts_with("#!") {
            self.rest = self.rest.trim_start().split_once('\n').map_or("", |(_, rest)| rest);
            self.cut = None;
        }
    }
}

/// Lengths in bytes of the statements of a text that end with a semicolon. Where a string or comment has no end, up to
/// the first line that ends with a semicolon.
fn lengths(text: &str, dialect: &dyn Dialect) -> VecDeque<usize> {
    let mut tokens = vec![];
    let complete = Tokenizer::new(dialect, text).tokenize_with_location_into_buf(&mut tokens).is_ok();
    let mut lengths = VecDeque::new();
    let mut done = 0;
    for end in ends(text, &tokens) {
        lengths.push_back(end - done);
        done = end;
    }
    if !complete && lengths.is_empty() {
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            if line.trim_end().ends_with(';') {
                lengths.push_back(end);
                break;
            }
        }
    }
    lengths
}

/// Where the semicolons end, in bytes.
fn ends(text: &str, tokens: &[TokenWithSpan]) -> Vec<usize> {
    let mut semicolons = tokens.iter().filter(|t| t.token == Token::SemiColon).map(|t| t.span.start).peekable();
    let (mut ends, mut line, mut column) = (vec![], 1, 1);
    for (at, c) in text.char_indices() {
        if semicolons.next_if_eq(&Location { line, column }).is_some() {
            ends.push(at + c.len_utf8());
        }
        (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    ends
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::{GenericDialect, MySqlDialect};

    use super::*;

    fn all(text: &str) -> Vec<&str> {
        let mut statements = Statements::new(text);
        std::iter::from_fn(|| statements.next(&GenericDialect {})).collect()
    }

    #[test]
    fn statements_end_at_semicolons() {
        for (text, want) in [
            ("", vec![]),
            (" \n", vec![]),
            ("a", vec!["a"]),
            ("a;b;", vec!["a;", "b;"]),
            ("a ;\n\n b", vec!["a ;", "b"]),
            ("\u{feff}#!/bin/x\nSELECT 'é;''\n;' ; -- c;\nb;", vec!["SELECT 'é;''\n;' ;", "-- c;\nb;"]),
            ("SELECT $$a;b$$; /* ; */ \";\";", vec!["SELECT $$a;b$$;", "/* ; */ \";\";"]),
            ("SELECT '\\'; b;", vec!["SELECT '\\';", "b;"]),
            // A quote that has no end costs the statements up to the end of its line.
            ("a;\nSELECT 'b;\nc;\nd;", vec!["a;", "SELECT 'b;", "c;", "d;"]),
        ] {
            assert_eq!(all(text), want, "{text}");
        }
    }

    #[test]
    fn the_dialect_may_change_in_between() {
        let mut statements = Statements::new("a;SELECT 'x\\';b;';c");
        assert_eq!(statements.next(&GenericDialect {}), Some("a;"));
        assert_eq!(statements.next(&MySqlDialect {}), Some("SELECT 'x\\';b;';"));
        assert_eq!(statements.next(&GenericDialect {}), Some("c"));
    }
}
