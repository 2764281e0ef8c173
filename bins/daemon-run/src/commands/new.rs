//! `new`: writes a daemon and its tests from a template, or lists the templates.

mod catalogue;
mod parameters;
mod render;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use daemon_cron::Zone;
use daemon_lint::{FileInput, NewFile, check_files, write_new};
use daemon_spec::Severity;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use self::catalogue::{PLAIN, TEMPLATES, Template, TemplateAbout};
use self::parameters::Values;
use self::render::{DaemonFiles, TESTS};
use crate::cli::NewArgs;
use crate::commands::act::Prompts;
use crate::failure::{CommandFailure, ExitKind};
use crate::out::{Out, put};
use crate::place::working_root;

pub(crate) use self::catalogue::names;

/// Writes the daemon and its tests, or shows templates.
pub(crate) fn run(
    args: &NewArgs,
    directory: &Path,
    out: Out,
    prompts: Prompts,
) -> Result<(), CommandFailure> {
    if args.list {
        return list(out);
    }
    if let Some(name) = &args.show {
        return show(template(name)?, out);
    }
    let installed = plan(args, directory, out, prompts)?.write()?;
    report(&installed, out)
}

/// A daemon that was written.
pub(crate) struct Installed<'a> {
    id: &'a str,
    template: &'static Template,
    values: Values,
    /// The paths of its file and its tests, from the root of the repository.
    pub(crate) paths: Vec<String>,
}

/// A daemon that can be written: its file has no errors, and its places are free.
pub(crate) struct Planned<'a> {
    id: &'a str,
    template: &'static Template,
    values: Values,
    files: DaemonFiles,
    root: PathBuf,
}

/// Plans a daemon and its tests. Writes nothing.
///
/// # Errors
/// The arguments are wrong, the daemon would have errors, or a file or a link is in its place.
pub(crate) fn plan<'a>(
    args: &'a NewArgs,
    directory: &Path,
    out: Out,
    prompts: Prompts,
) -> Result<Planned<'a>, CommandFailure> {
    let id = args.id.as_deref().or(args.template.as_deref());
    let id = id.ok_or_else(|| {
        let failure = CommandFailure::usage("a new daemon needs an id or a template");
        failure.help("`daemon-run new --list` lists the templates")
    })?;
    check_id(id)?;
    // A daemon that is named like a template starts from it.
    let named = args
        .template
        .as_deref()
        .or(catalogue::named(id).map(|one| one.name));
    let template = template(named.unwrap_or(PLAIN))?;
    let root = working_root(directory)?;
    // Before questions are asked, whose answers would be lost.
    refuse_links(&root, &folder(&root, id))?;
    refuse_links(&root, &tests(&root, id))?;
    refuse_existing(&folder(&root, id).join("DAEMON.md"))?;
    let values = Values::read(template, &args.set, prompts, out)?;
    let files = render::files(id, template, &values, args);
    refuse_errors(id, &files.daemon, out)?;
    for (name, _) in &files.tests {
        refuse_existing(&tests(&root, id).join(name))?;
    }
    Ok(Planned {
        id,
        template,
        values,
        files,
        root,
    })
}

fn folder(root: &Path, id: &str) -> PathBuf {
    root.join(".agents/daemons").join(id)
}

fn tests(root: &Path, id: &str) -> PathBuf {
    root.join(TESTS).join(id)
}

impl<'a> Planned<'a> {
    /// Writes the daemon and its tests.
    pub(crate) fn write(self) -> Result<Installed<'a>, CommandFailure> {
        let mut files = vec![NewFile {
            folder: folder(&self.root, self.id),
            name: "DAEMON.md",
            text: &self.files.daemon,
        }];
        files.extend(self.files.tests.iter().map(|(name, text)| NewFile {
            folder: tests(&self.root, self.id),
            name,
            text,
        }));
        let paths = write_new(&files).map_err(|error| match error.source.kind() {
            // Another process has created it meanwhile.
            ErrorKind::AlreadyExists => existing(&error.path),
            _ => CommandFailure::unwritable(&error.path, &error.source),
        })?;
        let of_root = |path: &PathBuf| {
            let path = path.strip_prefix(&self.root).unwrap_or(path);
            path.display().to_string()
        };
        Ok(Installed {
            id: self.id,
            template: self.template,
            paths: paths.iter().map(of_root).collect(),
            values: self.values,
        })
    }
}

fn template(name: &str) -> Result<&'static Template, CommandFailure> {
    catalogue::named(name).ok_or_else(|| {
        let failure = CommandFailure::usage(format!("there is no template `{name}`"));
        failure.help("`daemon-run new --list` lists the templates")
    })
}

fn report(installed: &Installed<'_>, out: Out) -> Result<(), CommandFailure> {
    let Installed {
        id,
        template,
        values,
        paths,
    } = installed;
    if out.is_json() {
        let mut map = Map::new();
        map.insert("ok".to_owned(), json!(true));
        map.insert("id".to_owned(), json!(id));
        map.insert("path".to_owned(), json!(paths.first()));
        map.insert("tests".to_owned(), json!(paths.get(1..)));
        return out.envelope(map);
    }
    let wrote: String = paths.iter().map(|path| format!("wrote {path}\n")).collect();
    out.text(&wrote)?;
    let about = template.about();
    let policy = policy(id, &about, values);
    if !policy.is_empty() {
        out.note(&format!("its outputs need in config.toml:\n{policy}"));
    }
    out.note(&match paths.len() {
        1 => format!("next: edit {}, then run: daemon-run lint", paths.concat()),
        _ => format!("next: edit the files, then run: daemon-run lint; daemon-run test {id}"),
    });
    Ok(())
}

/// Returns the lines of the configuration that the outputs of a daemon need.
fn policy(id: &str, about: &TemplateAbout, values: &Values) -> String {
    let mut lines = String::new();
    if about.capability != "propose" {
        put!(lines, "  capability = \"{}\"\n", about.capability);
    }
    if !about.targets.is_empty() {
        let targets: Vec<String> = about
            .targets
            .iter()
            .map(|one| values.fill(one, id))
            .collect();
        put!(lines, "  targets = {}\n", json!(targets));
    }
    if lines.is_empty() {
        return lines;
    }
    format!("  [policy.daemon.{id}]\n{}", lines.trim_end())
}

fn list(out: Out) -> Result<(), CommandFailure> {
    if out.is_json() {
        let mut map = Map::new();
        let all: Vec<Value> = TEMPLATES.iter().map(object).collect();
        map.insert("templates".to_owned(), Value::Array(all));
        map.insert("next".to_owned(), Value::Null);
        return out.envelope(map);
    }
    let widest = names().map(str::len).max().unwrap_or_default();
    let mut text = String::new();
    for template in TEMPLATES {
        put!(
            text,
            "{:<widest$}  {}\n",
            template.name,
            template.about().summary
        );
    }
    out.text(&text)?;
    out.note("next: daemon-run new --show TEMPLATE; daemon-run new ID --template TEMPLATE");
    Ok(())
}

fn show(template: &Template, out: Out) -> Result<(), CommandFailure> {
    if out.is_json() {
        let mut map = Map::new();
        map.insert("template".to_owned(), object(template));
        map.insert("daemon".to_owned(), json!(template.daemon));
        map.insert("events".to_owned(), json!(template.events));
        map.insert("ticks".to_owned(), json!(template.ticks));
        return out.envelope(map);
    }
    let about = template.about();
    let mut text = format!("{}: {}\n", template.name, about.summary);
    put!(text, "needs: {}\n", about.needs.join(", "));
    put!(text, "capability: {}\n", about.capability);
    for parameter in &about.parameters {
        let default = match &parameter.default {
            Some(default) => format!("`{default}` by default"),
            None => "must be given".to_owned(),
        };
        put!(
            text,
            "--set {}=VALUE: {} ({default})\n",
            parameter.name,
            parameter.about
        );
    }
    out.text(&format!("{text}\n{}", template.daemon))?;
    out.note(&format!(
        "next: daemon-run new ID --template {}",
        template.name
    ));
    Ok(())
}

fn object(template: &Template) -> Value {
    let about = template.about();
    json!({
        "name": template.name,
        "summary": about.summary,
        "needs": about.needs,
        "capability": about.capability,
        "targets": about.targets,
        "parameters": about.parameters,
    })
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

/// Fails with the first error that the linter finds, and prints its warnings.
fn refuse_errors(id: &str, text: &str, out: Out) -> Result<(), CommandFailure> {
    let given = FileInput {
        path: format!(".agents/daemons/{id}/DAEMON.md"),
        directory: id.to_owned(),
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

/// Fails if a link is in place of a directory below the root: it may lead out of the repository, and no daemon is read behind it.
fn refuse_links(root: &Path, folder: &Path) -> Result<(), CommandFailure> {
    let below = folder.ancestors().take_while(|path| *path != root);
    let mut links = below.filter(|path| path.is_symlink());
    links.next().map_or(Ok(()), |link| {
        let message = format!(
            "`{}` is a link, behind which no daemon is read",
            link.display()
        );
        Err(CommandFailure::new(ExitKind::CannotWrite, "link", message)
            .help("put a directory in its place"))
    })
}

fn refuse_existing(path: &Path) -> Result<(), CommandFailure> {
    if path.symlink_metadata().is_ok() {
        return Err(existing(path));
    }
    Ok(())
}

fn existing(path: &Path) -> CommandFailure {
    let message = format!("`{}` already exists", path.display());
    CommandFailure::new(ExitKind::CannotWrite, "exists", message)
        .help("choose another id, or edit the file")
}
