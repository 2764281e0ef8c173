//! `new`: writes a daemon file without lint errors.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use daemon_cron::Zone;
use daemon_lint::{FileInput, check_files};
use daemon_spec::Severity;
use jiff::tz::TimeZone;
use serde_json::{Map, json};

use crate::cli::NewArgs;
use crate::failure::{CommandFailure, ExitKind};
use crate::out::{Out, put};
use crate::place::repository_root;

/// The templates of new daemons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// A daemon with one routine
    Plain,
    /// Keeps pull requests ready to merge
    PrHelper,
    /// Keeps documentation current
    Librarian,
    /// Completes bug issues
    BugTriage,
}

/// The fields and the body of a template.
struct TemplateText {
    purpose: &'static str,
    watch: &'static [&'static str],
    schedule: Option<&'static str>,
    routines: &'static [&'static str],
    deny: &'static [&'static str],
    body: &'static str,
}

const PLAIN: TemplateText = TemplateText {
    purpose: "Keeps every new pull request easy to review.",
    watch: &["when a pull request is opened"],
    schedule: None,
    routines: &["comment with one question for each changed file without a test"],
    deny: &[
        "merge or approve pull requests",
        "push commits to branches that people work on",
    ],
    body: "## Policy\n\n- Ask only about what the change itself leaves open.\n- Stay silent when nothing is missing.\n\n\
           ## Limits\n\n- Post at most 1 comment per pull request.\n\n\
           ## Output format\n\nA list with one line per file: its path, then the question.\n",
};

const PR_HELPER: TemplateText = TemplateText {
    purpose: "Keeps pull requests ready to merge by removing mechanical blockers.",
    watch: &[
        "when a pull request is opened",
        "when a pull request is synchronized",
        "when a check fails on a pull request",
    ],
    schedule: None,
    routines: &[
        "fix failing checks whose cause is mechanical and local to the change",
        "keep the title and the description true to the diff",
    ],
    deny: &[
        "merge pull requests",
        "approve pull requests",
        "push commits directly to protected branches",
    ],
    body: "## Policy\n\n- Prefer the smallest change that unblocks the pull request.\n\
           - Leave style and refactoring to the author.\n\n\
           ## Limits\n\n- Post at most 1 comment per activation.\n- Retry a flaky check at most 2 times per commit.\n\n\
           ## Escalation\n\n- Hand over when the right fix needs a product decision.\n\n\
           ## Output format\n\nOne short comment that names each commit made and each blocker left.\n",
};

const LIBRARIAN: TemplateText = TemplateText {
    purpose: "Keeps the repository's documentation current and its links working.",
    watch: &["when a pull request is merged into the default branch"],
    schedule: Some("0 9 * * *"),
    routines: &[
        "update pages that the merged change made stale",
        "repair relative links whose target moved",
    ],
    deny: &[
        "change files that are not documentation",
        "change changelogs or release notes",
    ],
    body: "## Policy\n\n- Every claim must be supported by the code as it is.\n- Keep the author's voice.\n\n\
           ## Limits\n\n- Keep at most 1 open pull request.\n- Push at most 3 commits per activation.\n\n\
           ## Output format\n\nThe pull request's description lists each change after the commit it belongs to.\n",
};

const BUG_TRIAGE: TemplateText = TemplateText {
    purpose: "Makes every bug issue complete enough to start fixing it.",
    watch: &[
        "when a Linear issue is created with the bug label",
        "when the bug label is added to a Linear issue",
    ],
    schedule: None,
    routines: &[
        "set the priority from the impact that the evidence shows",
        "append missing reproduction steps to the description",
        "post one comment with the likely cause and its evidence",
    ],
    deny: &[
        "create or delete issues",
        "change the status of issues",
        "override what a person has set",
    ],
    body: "## Policy\n\n- Fill in only what is missing.\n- Support every claim with a trace, a number or a line of code.\n\n\
           ## Escalation\n\n- Flag anything that looks like a vulnerability, and stop.\n\n\
           ## Limits\n\n- Post at most 1 comment per issue.\n\n\
           ## Output format\n\nOne comment: cause, evidence, confidence and gaps.\n",
};

/// Writes the daemon, and prints the next steps.
pub(crate) fn run(args: &NewArgs, directory: &Path, out: Out) -> Result<(), CommandFailure> {
    check_id(&args.id)?;
    let root = repository_root(directory);
    let parts = parts(args);
    let text = render(args, parts);
    let folder = root.join(".agents/daemons").join(&args.id);
    // Checked before anything is written, so that a rejected daemon leaves no file.
    refuse_errors(args, &text, out)?;
    let path = write(&folder, &text)?;
    let shown = path
        .strip_prefix(&root)
        .unwrap_or(&path)
        .display()
        .to_string();
    if out.is_json() {
        let mut map = Map::new();
        map.insert("ok".to_owned(), json!(true));
        map.insert("id".to_owned(), json!(args.id));
        map.insert("path".to_owned(), json!(shown));
        return out.envelope(map);
    }
    out.text(&format!("wrote {shown}"))?;
    out.note(&format!(
        "next: edit the file, then run: daemon-run lint {shown}"
    ));
    out.note(&format!(
        "put tests into .agents/daemon-tests/{id}/*.yml, and run them with: daemon-run test {id}",
        id = args.id
    ));
    Ok(())
}

fn check_id(id: &str) -> Result<(), CommandFailure> {
    let shaped = id.len() <= 64
        && id.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && !id.ends_with('-')
        && !id.contains("--")
        && id
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if shaped {
        return Ok(());
    }
    let failure = CommandFailure::usage(format!("`{id}` cannot be a daemon's id"));
    Err(failure.help("lower-case words joined by `-`, at most 64 characters, such as `pr-helper`"))
}

fn parts(args: &NewArgs) -> &'static TemplateText {
    // A daemon that is named like a template starts from it.
    let named = Template::from_str(&args.id, false)
        .ok()
        .filter(|_| args.template == Template::Plain);
    match named.unwrap_or(args.template) {
        Template::Plain => &PLAIN,
        Template::PrHelper => &PR_HELPER,
        Template::Librarian => &LIBRARIAN,
        Template::BugTriage => &BUG_TRIAGE,
    }
}

fn render(args: &NewArgs, parts: &TemplateText) -> String {
    let is_given = !args.watch.is_empty() || args.schedule.is_some();
    let watch: Vec<&str> = match is_given {
        true => args.watch.iter().map(String::as_str).collect(),
        false => parts.watch.to_vec(),
    };
    let schedule = if is_given {
        args.schedule.as_deref()
    } else {
        parts.schedule
    };
    let mut text = format!("---\nid: {}\npurpose: {}\n", args.id, parts.purpose);
    list(&mut text, "watch", &watch);
    if let Some(schedule) = schedule {
        put!(text, "schedule: {}\n", quoted(schedule));
    }
    list(&mut text, "routines", parts.routines);
    list(&mut text, "deny", parts.deny);
    text.push_str("---\n\n");
    text.push_str(parts.body);
    text
}

/// Fails with the first error that the linter finds, and prints its warnings.
fn refuse_errors(args: &NewArgs, text: &str, out: Out) -> Result<(), CommandFailure> {
    let given = FileInput {
        path: format!(".agents/daemons/{}/DAEMON.md", args.id),
        directory: args.id.clone(),
        bytes: text.as_bytes().to_vec(),
        support: Vec::new(),
        zone: Zone::new(TimeZone::UTC),
    };
    let judged = check_files(vec![given], daemon_records::clock::now());
    for found in judged.iter().flat_map(|one| &one.diagnostics) {
        let code = found.code.to_string();
        match found.severity {
            Severity::Error => {
                let failure = CommandFailure::new(ExitKind::Invalid, code, found.message.clone());
                return Err(CommandFailure {
                    help: found.help.clone(),
                    ..failure
                });
            }
            Severity::Warning => out.note(&format!("warning[{code}]: {}", found.message)),
            Severity::Advice => {}
        }
    }
    Ok(())
}

fn list(text: &mut String, name: &str, entries: &[&str]) {
    if entries.is_empty() {
        return;
    }
    text.push_str(name);
    text.push_str(":\n");
    for entry in entries {
        // Only scalars that every YAML reader takes as a string are not quoted.
        let is_plain = entry.starts_with(|c: char| c.is_ascii_alphabetic())
            && entry
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || " ,.'/_-".contains(c))
            && !entry.ends_with(' ');
        text.push_str("  - ");
        text.push_str(&if is_plain {
            (*entry).to_owned()
        } else {
            quoted(entry)
        });
        text.push('\n');
    }
}

/// Returns a YAML double-quoted scalar. Every JSON string is one.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// Writes a daemon file into a new directory.
pub(crate) fn write(folder: &Path, text: &str) -> Result<PathBuf, CommandFailure> {
    let path = folder.join("DAEMON.md");
    fs::create_dir_all(folder).map_err(|error| CommandFailure::unwritable(folder, &error))?;
    let file = fs::OpenOptions::new()
        .write(true)
        // Fails if the file exists, also if another process has created it meanwhile.
        .create_new(true)
        .open(&path);
    let mut file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let message = format!("`{}` already exists", path.display());
            return Err(
                CommandFailure::new(ExitKind::CannotWrite, "exists", message)
                    .help("choose another id, or edit the file"),
            );
        }
        Err(error) => return Err(CommandFailure::unwritable(&path, &error)),
    };
    file.write_all(text.as_bytes())
        .map_err(|error| CommandFailure::unwritable(&path, &error))?;
    Ok(path)
}
