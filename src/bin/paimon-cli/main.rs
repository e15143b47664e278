//! paimon-cli: datafusion-cli with Paimon in it.
//!
//! In: arguments, SQL from `-c`, `-f`, a terminal or a pipe. Out: rows on standard output, errors as datafusion-cli
//! reports them. What datafusion-cli does is done by datafusion-cli; here is what it has no hooks for: a warehouse as a
//! catalog, options of stores and sessions, and version clauses (`t VERSION AS OF 3`) in DataFusion's own dialect.

mod args;
mod catalogs;
mod context;
mod execute;
mod memory;
mod pipe;
mod repl;
mod script;
mod stores;

use std::process::ExitCode;

use clap::Parser;
use datafusion::error::Result;
use datafusion_cli::DATAFUSION_CLI_VERSION;
use datafusion_cli::print_options::PrintOptions;

use args::Args;
use context::CliContext;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    memory::keep_freed_memory();
    memory::take_small_pages();
    env_logger::init();
    datafusion_paimon::file::guard::silence_guarded_panics();
    pipe::end_with_the_reader();
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            println!("Error: {e}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<()> {
    if !args.quiet {
        println!("paimon-cli v{} (DataFusion CLI v{DATAFUSION_CLI_VERSION})", env!("CARGO_PKG_VERSION"));
    }
    if let Some(path) = &args.data_path {
        std::env::set_current_dir(path)?;
    }
    let (context, instrumented_registry) = CliContext::new(&args).await?;
    let (format, quiet, maxrows, color) = (args.format, args.quiet, args.maxrows, args.color);
    let mut print = PrintOptions { format, quiet, maxrows, color, instrumented_registry };
    if args.is_interactive() {
        for file in startup_files(&args) {
            script::run_file(&context, &file, &print).await?;
        }
        return repl::run(&context, &mut print).await;
    }
    for file in &args.file {
        script::run_file(&context, file, &print).await?;
    }
    for command in &args.command {
        script::run_command(&context, command, &print).await?;
    }
    Ok(())
}

/// The files of `-r`, else the one in the user's home if it is there.
fn startup_files(args: &Args) -> Vec<String> {
    if let Some(files) = &args.rc {
        return files.clone();
    }
    let file = std::env::home_dir().map(|home| home.join(".datafusionrc"));
    file.filter(|f| f.exists()).and_then(|f| f.into_os_string().into_string().ok()).into_iter().collect()
}
