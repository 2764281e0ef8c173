//! The program `daemon-lint`.

use std::env;
use std::io::{self, BufWriter, IsTerminal as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use daemon_lint::{ColourWish, Streams, Surroundings, exit, run};
use jiff::Timestamp;

fn main() -> ExitCode {
    let Ok(directory) = env::current_dir() else {
        return ExitCode::from(exit::CANNOT_READ);
    };
    let surroundings = Surroundings {
        directory,
        now: Timestamp::now(),
        colour_wish: colour_wish(),
    };
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        let mut streams = Streams {
            input: &mut io::stdin().lock(),
            output: &mut BufWriter::new(io::stdout().lock()),
            notes: &mut io::stderr().lock(),
        };
        run(env::args_os(), &surroundings, &mut streams)
    }));
    ExitCode::from(outcome.unwrap_or(exit::BUG))
}

fn colour_wish() -> ColourWish {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_forced =
        env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    if is_set("NO_COLOR") {
        ColourWish::Plain
    } else if is_forced || io::stdout().is_terminal() {
        ColourWish::Coloured
    } else {
        ColourWish::Plain
    }
}
