//! `test`: checks offline what an author expects of events and schedules.

mod case;
mod file;
mod json;
mod outcome;
mod report;
mod rewrite;
pub(crate) mod schema;

use std::path::{Path, PathBuf};

use daemon_host::driver::Checked;
use daemon_spec::SourceText;
use serde_json::{Map, json};

use self::case::Case;
use self::file::{TestFileProblem, TestFolder};
use self::outcome::CaseOutcome;
use crate::cli::TestArgs;
use crate::failure::{CommandFailure, ExitKind};
use crate::local::{self, LocalDaemon};
use crate::out::Out;
use crate::place::Place;

/// The directory of tests in a repository. It is outside of the daemons' directories, so that those stay portable.
const FOLDER: &str = ".agents/daemon-tests";

/// A daemon of the working tree, with the result of the linter.
type Subject = (LocalDaemon, Checked);

/// One parsed test file.
struct TestFile {
    /// The path in the repository, for messages.
    shown: String,
    path: PathBuf,
    source: SourceText,
    cases: Vec<Case>,
}

/// One case and its outcome.
struct FinishedCase {
    file: String,
    line: usize,
    name: String,
    daemon_id: String,
    outcome: CaseOutcome,
}

/// The outcomes of all cases.
struct TestReport {
    ran: Vec<FinishedCase>,
    n_updated: usize,
}

/// Runs the tests of one daemon or of all, and returns whether they pass.
pub(crate) fn run(args: &TestArgs, place: &Place, out: Out) -> Result<bool, CommandFailure> {
    let root = local::root(place, args.repo.as_deref())?;
    // A test directory must not be behind a link, which is checked against the canonical root.
    let root = root
        .canonicalize()
        .map_err(|error| CommandFailure::unreadable(&root, &error))?;
    let daemons = local::judged(&root, &|_| "UTC".to_owned())?;
    let folders = folders(&root, &daemons, args.id.as_deref(), out)?;
    let mut report = TestReport {
        ran: Vec::new(),
        n_updated: 0,
    };
    let mut problems: Vec<(String, SourceText, TestFileProblem)> = Vec::new();
    for (folder, subject) in &folders {
        for path in folder.files(out)? {
            match read(folder, path) {
                Ok(file) => {
                    let mode = if args.update {
                        FailingCases::Update
                    } else {
                        FailingCases::Check
                    };
                    report.add(file, folder, (subject, mode), out)?;
                }
                Err(found) => problems.extend(found),
            }
        }
    }
    // All files are read first, so that every problem is reported at once.
    if let Some(failure) = file::failure(&problems) {
        return Err(failure);
    }
    let n_failed = report.ran.iter().filter(|ran| !ran.outcome.ok).count();
    print(&report, n_failed, out)?;
    if report.ran.is_empty() {
        out.note(&format!(
            "no tests: write them to {FOLDER}/<id>/<name>.yml; `daemon-run schema fixture` prints the format"
        ));
    }
    Ok(n_failed == 0)
}

/// Finds the directories with tests, and the daemon that each tests.
fn folders<'a>(
    root: &Path,
    daemons: &'a [Subject],
    id: Option<&str>,
    out: Out,
) -> Result<Vec<(TestFolder, &'a Subject)>, CommandFailure> {
    let mut found = Vec::new();
    if let Some(id) = id {
        let subject = local::find(root, daemons, id)?;
        found.extend(TestFolder::open(root, subject.0.id())?.map(|folder| (folder, subject)));
        return Ok(found);
    }
    for name in TestFolder::names(root, out)? {
        let Some(folder) = TestFolder::open(root, &name)? else {
            continue;
        };
        // A directory without test files contains payloads that several daemons' tests share.
        if folder.files(out)?.is_empty() {
            continue;
        }
        let subject = local::find(root, daemons, &name).map_err(|failure| CommandFailure {
            message: format!(
                "{FOLDER}/{name} tests a daemon that does not exist: {}",
                failure.message
            ),
            ..failure
        })?;
        found.push((folder, subject));
    }
    Ok(found)
}

fn read(
    folder: &TestFolder,
    path: PathBuf,
) -> Result<TestFile, Vec<(String, SourceText, TestFileProblem)>> {
    let shown = folder.shown(&path);
    let bytes = match daemon_lint::read_daemon_file(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let problem = TestFileProblem::unreadable(error.to_string());
            return Err(vec![(shown, SourceText::new(Vec::new()), problem)]);
        }
    };
    let source = SourceText::new(bytes);
    match case::read_all(&source, folder) {
        Ok(cases) => Ok(TestFile {
            shown,
            path,
            source,
            cases,
        }),
        Err(problems) => Err(problems
            .into_iter()
            .map(|problem| (shown.clone(), source.clone(), problem))
            .collect()),
    }
}

/// Whether failing cases are only reported, or rewritten to expect the actual result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailingCases {
    Check,
    Update,
}

impl TestReport {
    /// Runs the cases of a file, and rewrites the expectations of failing ones with `FailingCases::Update`.
    fn add(
        &mut self,
        file: TestFile,
        folder: &TestFolder,
        (subject, mode): (&Subject, FailingCases),
        out: Out,
    ) -> Result<(), CommandFailure> {
        let before = outcomes(&file.cases, subject);
        let n_failing = count_failing(&before);
        let (file, outcomes) = if mode == FailingCases::Update && n_failing > 0 {
            match update(&file, &before, folder)? {
                Ok(updated) => {
                    let after = outcomes(&updated.cases, subject);
                    self.n_updated += n_failing.saturating_sub(count_failing(&after));
                    (updated, after)
                }
                Err(reason) => {
                    out.warn(&format!("{}: not rewritten: {reason}", file.shown));
                    (file, before)
                }
            }
        } else {
            (file, before)
        };
        for (case, outcome) in file.cases.iter().zip(outcomes) {
            self.ran.push(FinishedCase {
                file: file.shown.clone(),
                line: file.source.position(case.span.start).line,
                name: case.name.clone(),
                daemon_id: subject.0.id().to_owned(),
                outcome,
            });
        }
        Ok(())
    }
}

fn outcomes(cases: &[Case], subject: &Subject) -> Vec<CaseOutcome> {
    let outcomes = cases.iter().map(|case| outcome::of_case(case, subject));
    outcomes.collect()
}

fn count_failing(outcomes: &[CaseOutcome]) -> usize {
    outcomes.iter().filter(|outcome| !outcome.ok).count()
}

/// Rewrites a file and reads it again; the inner error is the reason why it cannot be rewritten.
fn update(
    file: &TestFile,
    outcomes: &[CaseOutcome],
    folder: &TestFolder,
) -> Result<Result<TestFile, String>, CommandFailure> {
    let text = file.source.text().unwrap_or_default();
    let text = match rewrite::rewritten(text, &file.cases, outcomes) {
        Ok(text) => text,
        Err(reason) => return Ok(Err(reason)),
    };
    let source = SourceText::new(text.into_bytes());
    let Ok(cases) = case::read_all(&source, folder) else {
        return Ok(Err("the result could not be read".to_owned()));
    };
    // Fails if the file has changed since it was read.
    daemon_lint::replace(&file.path, file.source.as_bytes(), source.as_bytes())
        .map_err(|error| CommandFailure::unwritable(&file.path, &error))?;
    Ok(Ok(TestFile {
        shown: file.shown.clone(),
        path: file.path.clone(),
        source,
        cases,
    }))
}

fn print(report: &TestReport, n_failed: usize, out: Out) -> Result<(), CommandFailure> {
    if !out.is_json() {
        return out.text(&report::text(report, n_failed));
    }
    let cases = report.ran.iter().map(|ran| {
        json!({
            "file": ran.file,
            "line": ran.line,
            "name": ran.name,
            "daemon_id": ran.daemon_id,
            "ok": ran.outcome.ok,
            "expected": ran.outcome.expected,
            "got": ran.outcome.got,
            "why": ran.outcome.why,
        })
    });
    let cases: Vec<_> = cases.collect();
    let mut map = Map::new();
    map.insert("passed".to_owned(), json!(cases.len() - n_failed));
    map.insert("failed".to_owned(), json!(n_failed));
    map.insert("updated".to_owned(), json!(report.n_updated));
    map.insert("cases".to_owned(), json!(cases));
    out.envelope(map)
}

/// Returns the failure of invalid test files.
fn invalid(message: String) -> CommandFailure {
    CommandFailure::new(ExitKind::Invalid, "invalid-test", message)
}
