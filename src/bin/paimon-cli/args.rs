//! The arguments: all of datafusion-cli's, and `--warehouse` and `--option`.

use std::path::Path;

use clap::Parser;
use datafusion_cli::object_storage::instrumented::InstrumentedObjectStoreMode;
use datafusion_cli::object_storage::is_stdin_location;
use datafusion_cli::pool_type::PoolType;
use datafusion_cli::print_format::PrintFormat;
use datafusion_cli::print_options::MaxRows;

/// SQL over Apache Paimon tables, and all that datafusion-cli reads.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Args {
    /// Folder or URL (s3://…) of a Paimon warehouse, whose tables are paimon."database"."table"
    #[arg(short = 'w', long, value_name = "DIR|URL")]
    pub warehouse: Option<String>,

    /// A setting of the session (datafusion.execution.target_partitions=2, paimon.KEY=VALUE) or of object stores
    /// (aws.endpoint=…, AWS_ALLOW_HTTP=true); may be given several times
    #[arg(short = 'o', long = "option", value_name = "KEY=VALUE", value_parser = option)]
    pub options: Vec<(String, String)>,

    /// Folder to work in instead of the current one
    #[arg(short = 'p', long, value_parser = folder)]
    pub data_path: Option<String>,

    /// Rows in a batch; DataFusion's default if not given
    #[arg(short = 'b', long, value_parser = batch_size)]
    pub batch_size: Option<usize>,

    /// SQL to run before exiting; it stops at the first error
    #[arg(short = 'c', long, num_args = 0.., value_parser = command)]
    pub command: Vec<String>,

    /// Most memory that queries may take together, such as '10g'; no limit if not given
    #[arg(short = 'm', long, value_parser = size)]
    pub memory_limit: Option<usize>,

    /// Files of SQL to run before exiting; an error in one statement does not stop the next
    #[arg(short = 'f', long, num_args = 0.., value_parser = file)]
    pub file: Vec<String>,

    /// Files of SQL to run at the start instead of ~/.datafusionrc
    #[arg(short = 'r', long, num_args = 0.., value_parser = file, conflicts_with = "file")]
    pub rc: Option<Vec<String>>,

    /// How rows are printed
    #[arg(long, value_enum, default_value_t = PrintFormat::Automatic)]
    pub format: PrintFormat,

    /// Print nothing but the rows
    #[arg(short = 'q', long)]
    pub quiet: bool,

    /// How memory is shared out: 'greedy' or 'fair'
    #[arg(long, default_value_t = PoolType::Greedy)]
    pub mem_pool_type: PoolType,

    /// How many of the largest consumers are named when memory runs out; 0 to not keep track of them
    #[arg(long, default_value = "3")]
    pub top_memory_consumers: usize,

    /// Most rows that are printed in the table format: a number, or 'inf'
    #[arg(long, default_value = "40")]
    pub maxrows: MaxRows,

    /// Colours in the terminal
    #[arg(long)]
    pub color: bool,

    /// Most disk space that queries may spill to, such as '10g'; DataFusion's default if not given
    #[arg(short = 'd', long, value_parser = size)]
    pub disk_limit: Option<usize>,

    /// Report the requests to object stores: 'disabled', 'summary' or 'trace'
    #[arg(long, default_value_t = InstrumentedObjectStoreMode::Disabled)]
    pub object_store_profiling: InstrumentedObjectStoreMode,
}

impl Args {
    /// Whether SQL is read from a terminal or a pipe.
    pub fn is_interactive(&self) -> bool {
        self.command.is_empty() && self.file.is_empty()
    }

    /// Whether standard input is SQL, so that it cannot be a table.
    pub fn reads_sql_from_stdin(&self) -> bool {
        self.is_interactive() || self.file.iter().any(|f| is_stdin_location(f))
    }
}

fn option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' is not KEY=VALUE")),
    }
}

fn file(path: &str) -> Result<String, String> {
    if Path::new(path).is_file() { Ok(path.to_owned()) } else { Err(format!("Invalid file '{path}'")) }
}

fn folder(path: &str) -> Result<String, String> {
    if Path::new(path).is_dir() { Ok(path.to_owned()) } else { Err(format!("Invalid data directory '{path}'")) }
}

fn batch_size(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|size| *size > 0).ok_or_else(|| format!("Invalid batch size '{text}'"))
}

fn command(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("-c flag expects only non empty commands".to_owned()) } else { Ok(text.to_owned()) }
}

/// A number of bytes with an optional unit: b, k, kb, m, mb, g, gb, t, tb.
fn size(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, unit) = lower.split_at(lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len()));
    let shift = match unit {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        "t" | "tb" => 40,
        _ => return Err(format!("Invalid size '{text}'")),
    };
    let number: usize = digits.parse().map_err(|_| format!("Invalid size '{text}'"))?;
    let bytes = 1usize.checked_shl(shift).and_then(|unit| number.checked_mul(unit));
    bytes.ok_or_else(|| format!("Size '{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_arguments_of_datafusion_cli_are_taken() {
        let args = "paimon-cli -p . -b 10 -c a -m 10g -q --format csv --mem-pool-type fair --top-memory-consumers 0 \
                    --maxrows inf --color -d 1t --object-store-profiling trace -w s3://b/w -o a=b=c --option d=";
        let args = Args::try_parse_from(args.split_whitespace()).unwrap();
        assert_eq!(args.memory_limit, Some(10 << 30));
        assert_eq!(args.options, [("a".into(), "b=c".into()), ("d".into(), String::new())]);
        assert!(!args.is_interactive());
        assert!(Args::try_parse_from(["paimon-cli", "-o", "x"]).is_err());
    }

    #[test]
    fn sizes() {
        for (text, want) in
            [("10", Some(10)), ("2KB", Some(2048)), ("1m", Some(1 << 20)), ("x", None), ("-1", None), ("1x", None)]
        {
            assert_eq!(size(text).ok(), want, "{text}");
        }
        assert!(size("99999999999t").is_err());
    }
}
