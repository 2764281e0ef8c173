//! Parses the arguments, runs the command and maps its result to an exit code.

use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use clap::error::ErrorKind;
use daemon_api::ops::Operation;
use daemon_home_store::{back_up, restore};
use daemon_host::config::Log;
use daemon_host::serve::Compose as _;
use daemon_runner::secrets::HostSecrets;

use crate::cli::{self, Color, Command, CommandLine, GlobalArgs, OutputsArgs, OutputsVerb};
use crate::commands::act::{self, Prompts};
use crate::commands::{
    agent, backup, call, chat, completions, context, demo, doctor, emanate, events, explain, fire,
    import, init, lint, listings, lsp, new, next, prune, roster, rule, schema, serve, show, test,
};
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::logs;
use crate::out::Out;
use crate::place::Place;

/// The operations of `hold`: of the host, and of a daemon.
const HOLD: (Operation, Operation) = (Operation::HostHold, Operation::DaemonHold);
/// The operations of `go`.
const GO: (Operation, Operation) = (Operation::HostGo, Operation::DaemonGo);

/// Returns the command line, for completions and manual pages.
pub fn command() -> clap::Command {
    cli::command()
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let parsed = command().try_get_matches();
    let cli = match parsed.and_then(|parsed| CommandLine::from_arg_matches(&parsed)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let out = Out::new(&cli.global);
    // A panic exits with 70 and a message, as every other bug, instead of with 101.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| start(&cli, out)));
    match ended {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(failure)) => {
            out.failure(&failure);
            ExitCode::from(failure.exit as u8)
        }
        Err(_) => {
            out.failure(&CommandFailure::bug("the program panicked; this is a bug"));
            ExitCode::from(ExitKind::Internal as u8)
        }
    }
}

/// Prints a usage error, or the help that was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    // clap reports help as an error; a closed pipe, as in `daemon-run --help | head`, is not a failure.
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        error.print().unwrap_or_default();
        return ExitCode::SUCCESS;
    }
    // The arguments could not be parsed, so `--json` has to be searched for.
    let is_json = std::env::args_os()
        .skip(1)
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json");
    if is_json {
        let global = GlobalArgs {
            directory: None,
            home: None,
            json: true,
            utc: false,
            quiet: false,
            verbose: 0,
            color: Color::Auto,
            no_input: true,
        };
        let failure = CommandFailure::usage(problem(error)).help("see `daemon-run --help`");
        Out::new(&global).failure(&failure);
    } else {
        error.print().unwrap_or_default();
    }
    ExitCode::from(ExitKind::Usage as u8)
}

/// Returns the first paragraph of a usage error as one line.
fn problem(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::MissingSubcommand {
        return "a command is missing".to_owned();
    }
    let text = error.to_string();
    let paragraph = text.lines().take_while(|line| !line.trim().is_empty());
    let words: Vec<&str> = paragraph.map(str::trim).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

fn start(cli: &CommandLine, out: Out) -> Result<u8, CommandFailure> {
    let place = Place::read(&cli.global)?;
    let is_serving = matches!(cli.command, Command::Serve(_) | Command::Demo(_));
    let handles_signals = is_serving || matches!(cli.command, Command::Fire(_) | Command::Chat(_));
    // `serve` starts logging itself, after it has read the configuration.
    if !is_serving && logs::are_wanted(&cli.global, &place) {
        logs::begin(&Log::default(), &cli.global, &place, HostSecrets::default())?;
    }
    // Only a host has concurrent work; the other commands need no worker threads.
    let mut builder = if is_serving {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(workers(&place));
        builder
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| CommandFailure::bug(format!("the runtime cannot start: {error}")))?;
    let code = runtime.block_on(async {
        tokio::select! {
            ended = run(cli, &place, out) => ended,
            () = interrupted(), if !handles_signals => Ok(ExitKind::Interrupted as u8),
        }
    });
    // A blocking read of standard input cannot be cancelled; without a deadline it would keep the program from ending.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    code
}

/// Returns the number of threads of a host: as configured, or one for each core and at most 4.
fn workers(place: &Place) -> usize {
    // What is wrong with the configuration is reported when the host reads it.
    let config = Composer::new(place, Overrides::default()).load().ok();
    let configured = config.and_then(|config| config.host.workers);
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    configured.map_or_else(
        || cores().min(4),
        |workers| usize::try_from(workers).unwrap_or(4),
    )
}

/// Waits for ctrl-c. Commands that stop in order, as a host does, handle signals themselves.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn prompts(global: &GlobalArgs) -> Prompts {
    if global.no_input || !std::io::stdin().is_terminal() {
        Prompts::Never
    } else {
        Prompts::Allowed
    }
}

async fn run(cli: &CommandLine, place: &Place, out: Out) -> Result<u8, CommandFailure> {
    let done = |()| 0;
    let good = |is_good: bool| u8::from(!is_good);
    let prompts = prompts(&cli.global);
    let list = async |kind, args| listings::list(kind, args, place, out).await.map(done);
    match &cli.command {
        Command::Demo(args) => demo::run(args, &cli.global, place, out).await.map(good),
        Command::Init(args) => init::run(args, place, out, prompts).await.map(good),
        Command::New(args) => new::run(args, &place.directory, out, prompts).map(done),
        Command::Lint(args) => Ok(lint::run(args, &cli.global, place, out).await),
        Command::Rule(args) => rule::run(args, out).map(done),
        Command::List(args) => list(&listings::DAEMONS, args).await,
        Command::Show(args) => show::daemon(args, place, out).await.map(done),
        Command::Next(args) => next::run(args, place, out).await.map(done),
        Command::Explain(args) => explain::run(args, place, out)
            .await
            .map(|wakes| u8::from(args.exit_code && wakes == explain::Wakes::No)),
        Command::Context(args) => context::run(args, place, out).await.map(done),
        Command::Test(args) => test::run(args, place, out).map(good),
        Command::Fire(args) => fire::run(args, place, out).await.map(good),
        Command::Serve(args) => serve::run(args, &cli.global, place, out).await.map(done),
        Command::Login => act::login(place, out).await.map(done),
        Command::Reload => act::reload(place, out).await.map(done),
        Command::Hold(args) => act::gate(HOLD, args, place, out).await.map(done),
        Command::Go(args) => act::gate(GO, args, place, out).await.map(done),
        Command::Cancel(args) => act::cancel(args, place, out, prompts).await.map(done),
        Command::Retry(args) => act::retry(args, place, out).await.map(done),
        Command::Ask(args) => emanate::ask(args, place, out).await,
        Command::Emanate(args) => emanate::run(args, place, out).await,
        Command::Roster(args) => roster::run(args, place, out, prompts).await.map(done),
        Command::Chat(args) => chat::run(args, place, out).await.map(done),
        Command::Agent(args) => agent::run(args, place, out).await.map(done),
        Command::Call(args) => call::run(args, place, out).await.map(done),
        Command::Events(args) => events::run(args, place, out).await.map(done),
        Command::Activations(args) => list(&listings::ACTIVATIONS, args).await,
        Command::Runs(args) => list(&listings::RUNS, args).await,
        Command::Run(args) => show::run(args, place, out).await.map(done),
        Command::Logs(args) => show::logs(args, place, out).await.map(done),
        Command::Ticks(args) => list(&listings::TICKS, args).await,
        Command::Outputs(args) => outputs(args, place, out).await,
        Command::Import(args) => import::run(args, place, out).await.map(done),
        Command::Backup(args) => backup::run(back_up, args, place, out).map(done),
        Command::Restore(args) => backup::run(restore, args, place, out).map(done),
        Command::Doctor(args) => doctor::run(args, place, out).await.map(good),
        Command::Mcp(args) => crate::mcp::serve(args, place).await.map(done),
        Command::Lsp { .. } => lsp::run(place).map(done),
        Command::Schema(args) => schema::run(args, out).map(done),
        Command::Completions(args) => completions::completions(args, place, out).map(done),
        Command::Man(args) => completions::man(args, place, out).map(done),
        Command::ProbeRun(args) => crate::probe::run_child(args).map(done),
    }
}

async fn outputs(args: &OutputsArgs, place: &Place, out: Out) -> Result<u8, CommandFailure> {
    match &args.verb {
        None => listings::list(&listings::OUTPUTS, &args.listing, place, out)
            .await
            .map(|()| 0),
        Some(OutputsVerb::Prune(args)) => prune::run(args, place, out).await,
    }
}
