//! Runs the transcripts of `tests/transcripts`: Markdown files of commands and the output that is expected of them.
//!
//! `docs/program-tests.md` describes the format. `UPDATE_TRANSCRIPTS=1` rewrites the output in the files instead of comparing it.

mod builtins;
mod document;
mod json;
mod masks;
mod runner;
mod tests;
mod world;

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the transcripts.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// Makes a test of each named transcript, and one that every transcript has a test.
macro_rules! transcripts {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                verify(stringify!($name));
            }
        )*

        #[test]
        fn every_transcript_is_run() {
            let entries = fs::read_dir(directory()).expect("the directory exists");
            let names = entries.map(|entry| entry.expect("a readable entry").file_name());
            let mut names: Vec<String> = names
                .filter_map(|name| Some(name.to_str()?.strip_suffix(".md")?.to_owned()))
                .collect();
            names.sort_unstable();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

transcripts! {
    authors,
    configuration,
    context,
    corpus,
    demo,
    examples,
    explain,
    facts,
    fire,
    gates,
    init,
    listings,
    new,
    next,
    recorded,
    refusals,
    roster,
    rules,
    streams,
    suggest,
    surroundings,
    unregistered,
}

/// Pages of the documentation are transcripts as well.
fn verify_page(name: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    verify_file(&docs.join(name));
}

#[test]
fn the_tutorial_does_what_it_prints() {
    verify_page("tutorial.md");
}

#[test]
fn the_guide_for_authors_does_what_it_prints() {
    verify_page("authors.md");
}

fn verify(name: &str) {
    verify_file(&directory().join(format!("{name}.md")));
}

/// Runs a transcript, and compares it with its file or rewrites the file.
fn verify_file(path: &Path) {
    let expected = fs::read_to_string(path).expect("the transcript exists");
    let actual =
        runner::run(&expected).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        fs::write(path, actual).expect("the transcript is writable");
    } else if let Err(difference) = document::compare(&expected, &actual) {
        panic!(
            "{}: {difference}\nUPDATE_TRANSCRIPTS=1 writes the actual output into the file",
            path.display()
        );
    }
}
