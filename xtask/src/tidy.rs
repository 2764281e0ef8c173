//! The shape of the repository: layers, sizes, names, pages, documents and forbidden patterns.

mod documents;
mod layers;
mod pages;
mod patterns;
mod sizes;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use tree::{Problem, Tree};

/// Runs every check, prints all findings at once and fails when one of them is an error.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let tree = Tree::read(root)?;
    let packages = layers::packages(root)?;
    let mut problems: Vec<Problem> = [sizes::lengths, sizes::mains, sizes::names]
        .into_iter()
        .chain([pages::crate_pages, pages::roots])
        .chain([patterns::code, patterns::words, patterns::machine_paths])
        .chain([
            documents::presence,
            documents::error_pages,
            documents::links,
        ])
        .flat_map(|check| check(&tree))
        .collect();
    problems.extend(layers::check(&packages));
    problems.extend(documents::architecture(&tree, &packages));
    problems.extend(documents::dependencies(&tree, &packages)?);
    problems.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for problem in &problems {
        println!("{problem}");
    }
    println!("tidy: {} errors", problems.len());
    Ok(if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
