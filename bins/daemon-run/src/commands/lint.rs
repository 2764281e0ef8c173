//! `lint`: the linter, as a command.

use std::io::{self, BufWriter, IsTerminal as _};

use daemon_lint::{ColourWish, CommonArguments, LintArguments, Streams, Surroundings, run_with};

use crate::cli::{Color, Global};
use crate::out::Out;
use crate::place::{Place, repository_root};

/// Runs the linter and returns its exit code.
pub(crate) fn run(args: &LintArguments, global: &Global, place: &Place, out: Out) -> u8 {
    let is_set = |name: &str| {
        place
            .environment
            .get(name)
            .is_some_and(|value| !value.is_empty())
    };
    let is_forced = place
        .environment
        .get("CLICOLOR_FORCE")
        .is_some_and(|value| !value.is_empty() && value != "0");
    let is_coloured = !is_set("NO_COLOR") && (is_forced || io::stdout().is_terminal());
    let surroundings = Surroundings {
        directory: place.directory.clone(),
        now: daemon_host::random::now(),
        colour_wish: if is_coloured {
            ColourWish::Coloured
        } else {
            ColourWish::Plain
        },
    };
    let mut common = CommonArguments::default();
    common.json = global.json;
    common.quiet = global.quiet;
    common.verbose = global.verbose;
    common.no_input = global.no_input;
    common.color = match global.color {
        Color::Auto => daemon_lint::Color::Auto,
        Color::Always => daemon_lint::Color::Always,
        Color::Never => daemon_lint::Color::Never,
    };
    let mut streams = Streams {
        input: &mut io::stdin().lock(),
        output: &mut BufWriter::new(io::stdout().lock()),
        notes: &mut io::stderr().lock(),
    };
    let code = run_with(args, &common, &surroundings, &mut streams);
    let has_daemons = repository_root(&place.directory)
        .join(".agents/daemons")
        .is_dir();
    if code == 0 && args.format.is_none() && has_daemons {
        out.note("next: daemon-run explain ID --event PAYLOAD.json");
    }
    code
}
