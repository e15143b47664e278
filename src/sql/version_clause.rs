//! Version clauses in dialects that have none, such as DataFusion's default.
//!
//! In: the text of a statement. Out: the text with `t VERSION AS OF 3` spelled as a call of the table function
//! `paimon_as_of`, which every dialect can read; all else as it was. Only a text that cannot be read as it is is touched.

use std::borrow::Cow;

use datafusion::sql::parser::DFParser;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};

use super::time_travel::AsOf;

/// The table function that a clause is spelled as.
pub const FUNCTION: &str = "paimon_as_of";

/// Spells `TABLE [FOR] VERSION|TIMESTAMP|SYSTEM_VERSION|SYSTEM_TIME AS OF VALUE` as a table function where the dialect
/// does not know the clauses. A text without them, and one that is no SQL, comes back as it is.
pub fn expand_version_clauses<'a>(sql: &'a str, dialect: &dyn Dialect) -> Cow<'a, str> {
    if !sql.to_ascii_lowercase().contains("as") || DFParser::parse_sql_with_dialect(sql, dialect).is_ok() {
        return Cow::Borrowed(sql);
    }
    let Ok(tokens) = Tokenizer::new(dialect, sql).tokenize_with_location() else { return Cow::Borrowed(sql) };
    let text = Text::new(sql, &tokens);
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while at < tokens.len() {
        let Some(clause) = text.clause(at, dialect) else {
            at += 1;
            continue;
        };
        out.push_str(sql.get(done..text.start(clause.first)).unwrap_or_default());
        out.push_str(&clause.call);
        (done, at) = (text.start(clause.end), clause.end);
    }
    if done == 0 {
        return Cow::Borrowed(sql);
    }
    out.push_str(sql.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// A clause that was found.
struct Clause {
    /// The first token of the table's name.
    first: usize,
    /// The first token that is not part of the clause.
    end: usize,
    /// What is to stand in its place.
    call: String,
}

struct Text<'a> {
    sql: &'a str,
    tokens: &'a [TokenWithSpan],
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(sql: &'a str, tokens: &'a [TokenWithSpan]) -> Self {
        let lines = std::iter::once(0).chain(sql.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { sql, tokens, lines }
    }

    /// The clause whose first word is the token `at`.
    fn clause(&self, at: usize, dialect: &dyn Dialect) -> Option<Clause> {
        let (as_of, value) = self.opening(at)?;
        let (first, last) = self.name_before(at)?;
        let (value_end, end, has_alias) = match as_of {
            AsOf::Version => {
                let (Token::Number(..) | Token::SingleQuotedString(_)) = self.token(value)? else { return None };
                self.parse(value, dialect, |_| Some(()))
            }
            AsOf::Timestamp => self.parse(value, dialect, |parser| parser.parse_expr().ok().map(drop)),
        }?;
        let name = self.slice(first, last + 1).replace('\'', "''");
        let kind = if as_of == AsOf::Version { "version" } else { "timestamp" };
        let mut call = format!("{FUNCTION}('{name}', '{kind}', {})", self.slice(value, value_end).trim_end());
        if has_alias {
            call.push(' ');
        } else {
            call.push_str(&format!(" AS {} ", self.slice(last, last + 1)));
        }
        Some(Clause { first, end, call })
    }

    /// What the clause counts in and the first token of its value, where its words begin at the token `at`.
    fn opening(&self, at: usize) -> Option<(AsOf, usize)> {
        let after_for = if self.is_word(at, "FOR") { self.next(at) } else { at };
        let is_for = after_for != at;
        let as_of = match self.word(after_for)?.value.to_ascii_uppercase().as_str() {
            "VERSION" => AsOf::Version,
            "TIMESTAMP" => AsOf::Timestamp,
            "SYSTEM_VERSION" if is_for => AsOf::Version,
            "SYSTEM_TIME" if is_for => AsOf::Timestamp,
            _ => return None,
        };
        let word_as = self.next(after_for);
        let word_of = self.next(word_as);
        (self.is_word(word_as, "AS") && self.is_word(word_of, "OF")).then(|| (as_of, self.next(word_of)))
    }

    /// The first and last token of the name that ends before the token `at`, if a table can stand there.
    fn name_before(&self, at: usize) -> Option<(usize, usize)> {
        let last = self.previous(at)?;
        let mut first = last;
        self.any_word(first)?;
        let mut before = self.previous(first);
        while let Some(dot) = before.filter(|at| self.token(*at) == Some(&Token::Period)) {
            first = self.previous(dot)?;
            self.any_word(first)?;
            before = self.previous(first);
        }
        let before = before?;
        let opens = matches!(self.token(before)?, Token::Comma | Token::LParen)
            || ["FROM", "JOIN"].iter().any(|word| self.is_word(before, word));
        opens.then_some((first, last))
    }

    /// Reads a value that begins at a token: where it ends, where what follows begins, and whether that is an alias.
    fn parse(
        &self,
        from: usize,
        dialect: &dyn Dialect,
        value: impl FnOnce(&mut Parser<'_>) -> Option<()>,
    ) -> Option<(usize, usize, bool)> {
        let from_value = self.tokens.get(from..)?.to_vec();
        let mut parser = Parser::new(dialect).with_tokens_with_locations(from_value);
        value(&mut parser)?;
        let end = from + parser.index().max(1);
        let rest = self.tokens.get(end..)?.to_vec();
        let mut parser = Parser::new(dialect).with_tokens_with_locations(rest);
        let has_alias = parser.maybe_parse_table_alias().ok()?.is_some();
        Some((end, self.skip_space(end), has_alias))
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|t| &t.token)
    }

    /// A word that is not quoted.
    fn word(&self, at: usize) -> Option<&Word> {
        self.any_word(at).filter(|w| w.quote_style.is_none())
    }

    fn any_word(&self, at: usize) -> Option<&Word> {
        match self.token(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        self.word(at).is_some_and(|w| w.value.eq_ignore_ascii_case(word))
    }

    fn next(&self, at: usize) -> usize {
        self.skip_space(at + 1)
    }

    fn skip_space(&self, mut at: usize) -> usize {
        while matches!(self.token(at), Some(Token::Whitespace(_))) {
            at += 1;
        }
        at
    }

    fn previous(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|at| !matches!(self.token(*at), Some(Token::Whitespace(_))))
    }

    /// The text from one token up to another.
    fn slice(&self, from: usize, to: usize) -> &str {
        self.sql.get(self.start(from)..self.start(to)).unwrap_or_default().trim()
    }

    /// Where a token begins, in bytes; the end of the text behind the last.
    fn start(&self, at: usize) -> usize {
        let offset = |place: Location| {
            let line = usize::try_from(place.line.checked_sub(1)?).ok()?;
            let column = usize::try_from(place.column.checked_sub(1)?).ok()?;
            let begin = *self.lines.get(line)?;
            let rest = self.sql.get(begin..)?;
            Some(begin + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at))
        };
        self.tokens.get(at).and_then(|t| offset(t.span.start)).unwrap_or(self.sql.len())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::{GenericDialect, SnowflakeDialect};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clauses_become_calls() {
        for (sql, want) in [
            (
                "SELECT * FROM paimon.\"db\".\"t\" VERSION AS OF 3",
                "SELECT * FROM paimon_as_of('paimon.\"db\".\"t\"', 'version', 3) AS \"t\" ",
            ),
            ("SELECT t.a FROM t VERSION AS OF 3;", "SELECT t.a FROM paimon_as_of('t', 'version', 3) AS t ;"),
            (
                "SELECT * FROM d.t FOR VERSION AS OF 'it''s' x WHERE x.a = 'é'",
                "SELECT * FROM paimon_as_of('d.t', 'version', 'it''s') x WHERE x.a = 'é'",
            ),
            (
                "SELECT 'é' , * FROM \"it's\" version as of 3 AS x\nJOIN t FOR SYSTEM_TIME AS OF now() - INTERVAL '1 hour' ON true",
                "SELECT 'é' , * FROM paimon_as_of('\"it''s\"', 'version', 3) AS x\nJOIN paimon_as_of('t', 'timestamp', now() - INTERVAL '1 hour') AS t ON true",
            ),
            (
                "COPY (SELECT * FROM a.t TIMESTAMP AS OF '2024-01-01') TO 'x' STORED AS ARROW",
                "COPY (SELECT * FROM paimon_as_of('a.t', 'timestamp', '2024-01-01') AS t ) TO 'x' STORED AS ARROW",
            ),
            (
                "EXPLAIN SELECT * FROM t /* c */ TIMESTAMP AS OF DATE '2024-01-01' LIMIT 1",
                "EXPLAIN SELECT * FROM paimon_as_of('t', 'timestamp', DATE '2024-01-01') AS t LIMIT 1",
            ),
        ] {
            assert_eq!(expand_version_clauses(sql, &GenericDialect {}), want);
            assert!(DFParser::parse_sql_with_dialect(want, &GenericDialect {}).is_ok(), "{want}");
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for sql in [
            "SELECT 1",
            "SELECT version AS of FROM t",
            "SELECT a, timestamp AS of FROM t",
            "SELECT ' t VERSION AS OF 3'",
            "SELECT * FROM t VERSION AS OF",
            "SELECT * FROM t VERSION AS OF x",
            "SELECT * FROM t SYSTEM_TIME AS OF 3",
            "SELECT 'unfinished as of",
            "",
        ] {
            assert_eq!(expand_version_clauses(sql, &GenericDialect {}), sql);
        }
        let sql = "SELECT * FROM t VERSION AS OF 3";
        assert_eq!(expand_version_clauses(sql, &SnowflakeDialect {}), sql);
    }

    proptest! {
        #[test]
        fn no_text_panics(sql in "(FROM|t|\"é\"|VERSION|TIMESTAMP|FOR|AS|OF|SYSTEM_TIME|3|'|\n| |\\(|\\)|,|\\.|;|--|é){0,30}") {
            let _ = expand_version_clauses(&sql, &GenericDialect {});
        }
    }
}
