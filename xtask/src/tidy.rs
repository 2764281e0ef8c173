//! The shape of the repository: layers, sizes, names, pages, documents, words and forbidden patterns.

mod book;
mod ceilings;
mod documents;
mod functions;
mod layers;
mod links;
mod pages;
mod patterns;
mod phrases;
mod prose;
mod rates;
mod references;
mod rust;
mod samples;
mod sizes;
mod survey;
mod tree;
mod type_names;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use ceilings::{Ceilings, CountedPlaces, Measure};
use layers::Package;
use rates::ProseRates;
use survey::RustFiles;
use tree::{RepositoryFiles, TidyFinding};
use words::Prose;

/// What tidy does in addition to its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Only the checks.
    Check,
    /// Prints the places under the ceilings too.
    List,
    /// Prints the rates of each crate, folder and document.
    Rates,
    /// Writes the ceilings and the shared type names again, without what is no longer needed.
    Lower,
}

/// Runs every check, prints all findings at once and fails when one of them is an error.
pub(crate) fn run(root: &Path, mode: Mode) -> Result<ExitCode> {
    let tree = RepositoryFiles::read(root)?;
    let packages = layers::packages(root)?;
    let survey = RustFiles::read(&tree, &packages);
    let prose = words::read(&words::Table::read(&tree)?, &tree, &survey, &packages);
    let counts = counts(&survey, &prose);
    let ceilings = Ceilings::read(&tree)?;
    let type_names = type_names::Allowed::read(&tree)?;
    if mode == Mode::Lower {
        write(root, ceilings::FILE, &ceilings.lowered(&counts).to_toml())?;
        write(
            root,
            type_names::FILE,
            &type_names.lowered(&survey).to_toml(),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut problems = of_files(&tree);
    problems.extend(of_crates(&tree, &packages, &survey)?);
    problems.extend(ceilings.check(&counts));
    problems.extend(type_names.check(&survey));
    if mode == Mode::List {
        problems.extend(counts.into_values().flatten());
    }
    problems.sort_by(|a, b| (&a.path, a.line, &a.message).cmp(&(&b.path, b.line, &b.message)));
    // `--list` adds places that a check has reported already.
    problems.dedup();
    for problem in &problems {
        println!("{problem}");
    }
    print!("{}", layers::table(&packages, &survey.code_lines()));
    print_rates(&rates::read(&survey, &prose), mode);
    println!("tidy: {} errors", problems.len());
    Ok(if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Prints comments drawn at random.
pub(crate) fn samples(root: &Path, seed: u64) -> Result<ExitCode> {
    let tree = RepositoryFiles::read(root)?;
    let packages = layers::packages(root)?;
    print!(
        "{}",
        samples::draw(&RustFiles::read(&tree, &packages), seed)
    );
    Ok(ExitCode::SUCCESS)
}

fn of_files(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    [sizes::lengths, sizes::mains, sizes::names]
        .into_iter()
        .chain([pages::crate_pages, pages::roots, phrases::in_code])
        .chain([patterns::code, patterns::words, patterns::machine_paths])
        .chain([documents::presence, documents::error_pages])
        .chain([links::targets, links::inside_the_book, book::summary])
        .flat_map(|check| check(tree))
        .collect()
}

fn of_crates(
    tree: &RepositoryFiles,
    packages: &[Package],
    survey: &RustFiles<'_>,
) -> Result<Vec<TidyFinding>> {
    let mut acc = layers::check(packages);
    acc.extend(layers::sizes(packages, &survey.code_lines()));
    acc.extend(references::check(tree, survey, packages));
    acc.extend(documents::architecture(tree, packages));
    acc.extend(documents::dependencies(tree, packages)?);
    Ok(acc)
}

/// CountedPlaces what has ceilings.
fn counts<'a>(survey: &RustFiles<'a>, prose: &BTreeMap<&'a str, Prose>) -> CountedPlaces<'a> {
    let mut acc = CountedPlaces::new();
    for (unit, prose) in prose {
        acc.insert((Measure::Words, *unit), prose.hits.clone());
    }
    for file in &survey.files {
        let functions = acc.entry((Measure::Functions, file.package)).or_default();
        functions.extend(functions::too_long(file));
    }
    acc
}

fn print_rates(rates: &BTreeMap<&str, ProseRates>, mode: Mode) {
    let mut all = ProseRates::default();
    for (unit, rates) in rates {
        all += *rates;
        if mode == Mode::Rates {
            println!("{unit}: {rates}");
        }
    }
    println!("words and reasons: {all}");
}

fn write(root: &Path, path: &str, text: &str) -> Result<()> {
    std::fs::write(root.join(path), text).with_context(|| format!("failed to write `{path}`"))
}
