//! The prompt: datafusion-cli's, with version clauses.
//!
//! In: lines of a terminal or pipe. Out: rows. History (`.history`), hints, completion of file names and the commands
//! that begin with a backslash are datafusion-cli's.

use std::borrow::Cow;

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::DFParser;
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, dialect_from_str};
use datafusion_cli::command::{Command, OutputFormat};
use datafusion_cli::helper::CliHelper;
use datafusion_cli::print_options::PrintOptions;
use datafusion_paimon::sql::expand_version_clauses;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};

use crate::context::CliContext;
use crate::execute::execute;
use crate::script::{Statements, run_file};

const HISTORY: &str = ".history";

/// Reads and runs statements until the input ends.
pub async fn run(context: &CliContext, print: &mut PrintOptions) -> Result<()> {
    run_lines(context, print).await.map_err(|e| DataFusionError::External(Box::new(e)))
}

async fn run_lines(context: &CliContext, print: &mut PrintOptions) -> rustyline::Result<()> {
    let mut editor = Editor::<Prompt, DefaultHistory>::new()?;
    editor.set_helper(Some(Prompt::new(context, print)));
    // There is none at the first start.
    let _ = editor.load_history(HISTORY);
    loop {
        match editor.readline("> ") {
            Ok(line) if line.starts_with('\\') => {
                editor.add_history_entry(line.trim_end())?;
                if !run_backslash(context, print, &line).await {
                    break;
                }
            }
            Ok(line) => run_statements(context, print, &line, &mut editor).await?,
            Err(ReadlineError::Interrupted) => {
                println!("^C");
                if let Some(prompt) = editor.helper() {
                    prompt.inner.reset_hint();
                }
            }
            Err(ReadlineError::Eof) => {
                println!("\\q");
                break;
            }
            Err(e) => {
                eprintln!("Unknown error happened {e:?}");
                break;
            }
        }
    }
    editor.save_history(HISTORY)
}

async fn run_statements(
    context: &CliContext,
    print: &PrintOptions,
    line: &str,
    editor: &mut Editor<Prompt, DefaultHistory>,
) -> rustyline::Result<()> {
    let mut statements = Statements::new(line);
    while let Some(sql) = statements.next(crate::execute::dialect(context).as_ref()) {
        editor.add_history_entry(sql)?;
        tokio::select! {
            result = execute(context, sql, print) => if let Err(e) = result { eprintln!("{e}") },
            _ = tokio::signal::ctrl_c() => println!("^C"),
        }
        if let Some(prompt) = editor.helper_mut() {
            prompt.follow_dialect(context);
        }
    }
    Ok(())
}

/// Runs a command that begins with a backslash; `false` to end.
async fn run_backslash(context: &CliContext, print: &mut PrintOptions, line: &str) -> bool {
    let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let unknown = || eprintln!("'{text}' is not a valid command, you can use '\\?' to see all commands");
    let result = match text.trim_start_matches('\\').parse::<Command>() {
        Ok(Command::Quit) => return false,
        Ok(Command::Include(Some(file))) => run_file(context, &file, print).await,
        Ok(Command::OutputFormat(None)) => {
            println!("Output format is {:?}.", print.format);
            Ok(())
        }
        Ok(Command::OutputFormat(Some(format))) => match format.parse::<OutputFormat>() {
            Ok(format) => format.execute(print),
            Err(()) => {
                unknown();
                Ok(())
            }
        },
        Ok(command) => command.execute(context, print).await,
        Err(()) => {
            unknown();
            Ok(())
        }
    };
    if let Err(e) = result {
        eprintln!("{e}");
    }
    true
}

/// What the editor asks while a line is typed.
struct Prompt {
    inner: CliHelper,
    dialect: Box<dyn Dialect>,
}

impl Prompt {
    fn new(context: &CliContext, print: &PrintOptions) -> Self {
        let name = context.session.task_ctx().session_config().options().sql_parser.dialect;
        Self { inner: CliHelper::new(&name, print.color), dialect: crate::execute::dialect(context) }
    }

    fn follow_dialect(&mut self, context: &CliContext) {
        let name = context.session.task_ctx().session_config().options().sql_parser.dialect;
        self.inner.set_dialect(&name);
        self.dialect = dialect_from_str(name).unwrap_or_else(|| Box::new(GenericDialect {}));
    }

    /// A statement is complete when it ends with a semicolon and can be read.
    fn check(&self, input: &str) -> ValidationResult {
        if input.starts_with('\\') {
            return ValidationResult::Valid(None);
        }
        if !input.ends_with(';') {
            return ValidationResult::Incomplete;
        }
        let mut statements = Statements::new(input);
        while let Some(sql) = statements.next(self.dialect.as_ref()) {
            let sql = expand_version_clauses(sql, self.dialect.as_ref());
            match DFParser::parse_sql_with_dialect(&sql, self.dialect.as_ref()) {
                Ok(parsed) if parsed.is_empty() => {
                    return ValidationResult::Invalid(Some("  🤔 You entered an empty statement".to_owned()));
                }
                Ok(_) => {}
                Err(e) => return ValidationResult::Invalid(Some(format!("  🤔 Invalid statement: {e}"))),
            }
        }
        ValidationResult::Valid(None)
    }
}

impl Validator for Prompt {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let result = self.check(context.input().trim_end());
        self.inner.reset_hint();
        Ok(result)
    }
}

impl Highlighter for Prompt {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        self.inner.highlight(line, pos)
    }

    fn highlight_char(&self, line: &str, pos: usize, kind: CmdKind) -> bool {
        self.inner.highlight_char(line, pos, kind)
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        self.inner.highlight_hint(hint)
    }
}

impl Hinter for Prompt {
    type Hint = String;

    fn hint(&self, line: &str, pos: usize, context: &Context<'_>) -> Option<String> {
        self.inner.hint(line, pos, context)
    }
}

impl Completer for Prompt {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, context: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        self.inner.complete(line, pos, context)
    }
}

impl Helper for Prompt {}
