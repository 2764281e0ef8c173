//! `lint`: runs the library of `daemon-lint`.

use std::io::{self, BufWriter, IsTerminal as _};
use std::path::PathBuf;

use daemon_lint::{AutoColour, CommonArguments, Linting, StandardStreams, Surroundings};

use super::suggest;
use crate::cli::{GlobalArgs, LintArgs};
use crate::out::Out;
use crate::place::{Place, repository_root};

/// Locks the standard streams for one call.
// A macro, since the locks are temporaries of the calling expression.
macro_rules! streams {
    () => {
        StandardStreams {
            input: &mut io::stdin().lock(),
            output: &mut BufWriter::new(io::stdout().lock()),
            notes: &mut io::stderr().lock(),
        }
    };
}

/// Runs the linter and returns its exit code.
pub(crate) async fn run(args: &LintArgs, global: &GlobalArgs, place: &Place, out: Out) -> u8 {
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
        now: daemon_records::clock::now(),
        auto_colour: if is_coloured {
            AutoColour::Coloured
        } else {
            AutoColour::Plain
        },
    };
    let mut common = CommonArguments::default();
    common.json = global.json;
    common.quiet = global.quiet;
    common.verbose = global.verbose;
    common.no_input = global.no_input;
    common.color = global.color;
    let linting = match Linting::begin(&args.lint, &common, &surroundings, &mut streams!()) {
        Ok(linting) => linting,
        Err(code) => return code,
    };
    let code = if args.suggest {
        let repositories = repositories(args, place);
        let suggestions = suggest::suggestions(linting.unclear(), repositories, place, out).await;
        linting.print_with(&suggestions, &mut streams!())
    } else {
        linting.print(&mut streams!())
    };
    let has_daemons = repository_root(&place.directory)
        .join(".agents/daemons")
        .is_dir();
    if code == 0 && args.lint.format.is_none() && has_daemons {
        out.note("next: daemon-run explain ID --event PAYLOAD.json");
    }
    code
}

/// Returns the repositories of the linted paths.
fn repositories(args: &LintArgs, place: &Place) -> Vec<PathBuf> {
    let paths = args.lint.paths.iter().chain(&args.lint.stdin_path);
    let paths = paths.map(|path| repository_root(&place.directory.join(path)));
    let mut acc = vec![repository_root(&place.directory)];
    acc.extend(paths);
    acc.dedup();
    acc
}
