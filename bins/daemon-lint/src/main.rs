//! The program `daemon-lint`: passes the process state to the library.

use std::env;
use std::io::{self, BufWriter, IsTerminal as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use daemon_lint::{AutoColour, StandardStreams, Surroundings, exit, run};
use jiff::Timestamp;

fn main() -> ExitCode {
    let Ok(directory) = env::current_dir() else {
        return ExitCode::from(exit::CANNOT_READ);
    };
    let surroundings = Surroundings {
        directory,
        now: Timestamp::now(),
        auto_colour: auto_colour(),
    };
    // A panic has an exit code of its own, so that scripts can distinguish a bug from a bad file.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        let mut streams = StandardStreams {
            input: &mut io::stdin().lock(),
            output: &mut BufWriter::new(io::stdout().lock()),
            notes: &mut io::stderr().lock(),
        };
        run(env::args_os(), &surroundings, &mut streams)
    }));
    ExitCode::from(outcome.unwrap_or(exit::BUG))
}

fn auto_colour() -> AutoColour {
    // By their conventions an empty variable counts as unset.
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_forced =
        env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    if is_set("NO_COLOR") {
        AutoColour::Plain
    } else if is_forced || io::stdout().is_terminal() {
        AutoColour::Coloured
    } else {
        AutoColour::Plain
    }
}
