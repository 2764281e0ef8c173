//! `test`: what an author expects of events and ticks, checked offline.

mod case;
mod file;
mod json;
mod judge;
mod report;
mod rewrite;
pub(crate) mod schema;

use std::path::{Path, PathBuf};

use daemon_host::driver::Checked;
use daemon_spec::SourceText;
use serde_json::{Map, json};

use self::case::Case;
use self::file::{Folder, Problem};
use self::judge::Outcome;
use crate::cli::Test;
use crate::failure::{Exit, Failure};
use crate::local::{self, LocalDaemon};
use crate::out::Out;
use crate::place::Place;

/// Where tests lie in a repository, outside the daemons' directories so that those stay portable.
const FOLDER: &str = ".agents/daemon-tests";

/// A daemon of the working tree, with what the linter says of it.
type Subject = (LocalDaemon, Checked);

/// One test file, read.
struct TestFile {
    /// Its path in the repository.
    shown: String,
    path: PathBuf,
    source: SourceText,
    cases: Vec<Case>,
}

/// One case and what came of it.
struct Ran {
    file: String,
    line: usize,
    name: String,
    daemon_id: String,
    outcome: Outcome,
}

/// What came of all cases.
struct Report {
    ran: Vec<Ran>,
    n_updated: usize,
}

/// Runs the tests of one daemon or of all, and returns whether they pass.
pub(crate) fn run(args: &Test, place: &Place, out: Out) -> Result<bool, Failure> {
    let root = local::root(place, args.repo.as_deref())?;
    let root = root
        .canonicalize()
        .map_err(|error| Failure::unreadable(&root, &error))?;
    let daemons = local::judged(&root, &|_| "UTC".to_owned())?;
    let folders = folders(&root, &daemons, args.id.as_deref(), out)?;
    let mut report = Report {
        ran: Vec::new(),
        n_updated: 0,
    };
    let mut problems: Vec<(String, SourceText, Problem)> = Vec::new();
    for (folder, subject) in &folders {
        for path in folder.files(out)? {
            match read(folder, path) {
                Ok(file) => {
                    let asked = if args.update {
                        Wish::Update
                    } else {
                        Wish::Check
                    };
                    report.add(file, folder, (subject, asked), out)?;
                }
                Err(found) => problems.extend(found),
            }
        }
    }
    if let Some(failure) = file::failure(&problems) {
        return Err(failure);
    }
    let n_failed = report.ran.iter().filter(|ran| !ran.outcome.ok).count();
    print(&report, n_failed, out)?;
    if report.ran.is_empty() {
        out.note(&format!(
            "no tests: write some in {FOLDER}/<id>/<name>.yml; `daemon-run schema fixture` says how"
        ));
    }
    Ok(n_failed == 0)
}

/// Finds the directories of tests and the daemons that they are about.
fn folders<'a>(
    root: &Path,
    daemons: &'a [Subject],
    id: Option<&str>,
    out: Out,
) -> Result<Vec<(Folder, &'a Subject)>, Failure> {
    let mut found = Vec::new();
    if let Some(id) = id {
        let subject = local::find(root, daemons, id)?;
        found.extend(Folder::open(root, subject.0.id())?.map(|folder| (folder, subject)));
        return Ok(found);
    }
    for name in Folder::names(root, out)? {
        let Some(folder) = Folder::open(root, &name)? else {
            continue;
        };
        // A directory without test files holds payloads that several share.
        if folder.files(out)?.is_empty() {
            continue;
        }
        let subject = local::find(root, daemons, &name).map_err(|failure| Failure {
            message: format!(
                "{FOLDER}/{name} tests a daemon that is not there: {}",
                failure.message
            ),
            ..failure
        })?;
        found.push((folder, subject));
    }
    Ok(found)
}

fn read(folder: &Folder, path: PathBuf) -> Result<TestFile, Vec<(String, SourceText, Problem)>> {
    let shown = folder.shown(&path);
    let bytes = match daemon_lint::read_daemon_file(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let problem = Problem::unreadable(error.to_string());
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

/// Whether failing cases are only told, or made to expect what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Check,
    Update,
}

impl Report {
    /// Judges the cases of a file, and rewrites what failing ones expect where that is asked.
    fn add(
        &mut self,
        file: TestFile,
        folder: &Folder,
        (subject, wish): (&Subject, Wish),
        out: Out,
    ) -> Result<(), Failure> {
        let before = outcomes(&file.cases, subject);
        let n_failing = count_failing(&before);
        let (file, outcomes) = if wish == Wish::Update && n_failing > 0 {
            match update(&file, &before, folder)? {
                Ok(updated) => {
                    let after = outcomes(&updated.cases, subject);
                    self.n_updated += n_failing.saturating_sub(count_failing(&after));
                    (updated, after)
                }
                Err(reason) => {
                    out.tell(&format!("{}: not rewritten: {reason}", file.shown));
                    (file, before)
                }
            }
        } else {
            (file, before)
        };
        for (case, outcome) in file.cases.iter().zip(outcomes) {
            self.ran.push(Ran {
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

fn outcomes(cases: &[Case], subject: &Subject) -> Vec<Outcome> {
    let judged = cases.iter().map(|case| judge::judge(case, subject));
    judged.collect()
}

fn count_failing(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|outcome| !outcome.ok).count()
}

/// Rewrites a file and reads it again; says why where it cannot be rewritten.
fn update(
    file: &TestFile,
    outcomes: &[Outcome],
    folder: &Folder,
) -> Result<Result<TestFile, String>, Failure> {
    let text = file.source.text().unwrap_or_default();
    let text = match rewrite::rewritten(text, &file.cases, outcomes) {
        Ok(text) => text,
        Err(reason) => return Ok(Err(reason)),
    };
    let source = SourceText::new(text.into_bytes());
    let Ok(cases) = case::read_all(&source, folder) else {
        return Ok(Err("the result could not be read".to_owned()));
    };
    daemon_lint::replace(&file.path, file.source.as_bytes(), source.as_bytes())
        .map_err(|error| Failure::unwritable(&file.path, &error))?;
    Ok(Ok(TestFile {
        shown: file.shown.clone(),
        path: file.path.clone(),
        source,
        cases,
    }))
}

fn print(report: &Report, n_failed: usize, out: Out) -> Result<(), Failure> {
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

/// Says that the tests could not be read.
fn invalid(message: String) -> Failure {
    Failure::new(Exit::Invalid, "invalid-test", message)
}
