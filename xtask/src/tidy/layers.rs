//! Checks of crates: layers, dependencies and sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::tree::TidyFinding;
use crate::shell;

/// Below this layer a crate is pure.
const FIRST_IMPURE_LAYER: u8 = 3;

/// Dependencies that a pure crate may not have: runtimes, HTTP, SQL and git.
const IMPURE: [&str; 16] = [
    "async-std",
    "axum",
    "deadpool-postgres",
    "git2",
    "gix",
    "hyper",
    "notify",
    "octocrab",
    "reqwest",
    "rmcp",
    "rusqlite",
    "smol",
    "tokio",
    "tokio-postgres",
    "tokio-util",
    "tower",
];

/// Crates that implement a seam; only the composing layer may depend on them.
const ADAPTERS: [&str; 3] = ["daemon-store-", "daemon-provider-", "daemon-surface"];
const COMPOSING_LAYER: u8 = 8;

/// The linter, and the crates of the workspace that it may link: it must build in seconds.
const LINTER: &str = "daemon-lint";
const LINTER_LINKS: [&str; 5] = [
    "daemon-cron",
    "daemon-event",
    "daemon-spec",
    "daemon-validate",
    "daemon-watch",
];

/// One crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The path of the manifest from the root.
    pub(crate) manifest: String,
    /// The layer in the manifest, if there is one.
    pub(crate) layer: Option<u8>,
    /// The names of its dependencies and build dependencies.
    pub(crate) links: BTreeSet<String>,
    /// The names of its dev-dependencies.
    pub(crate) tests_with: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: std::path::PathBuf,
    metadata: Option<serde_json::Value>,
    dependencies: Vec<MetadataDependency>,
}

#[derive(Deserialize)]
struct MetadataDependency {
    name: String,
    kind: Option<String>,
}

/// Returns the crates of the workspace from `cargo metadata`.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>> {
    let args = [
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
        // Tidy must work without a network.
        "--offline",
    ];
    let text = shell::capture(&mut shell::cargo(root, &args))?;
    let metadata: Metadata =
        serde_json::from_str(&text).context("failed to read `cargo metadata`")?;
    metadata
        .packages
        .into_iter()
        .map(|package| Package::from_metadata(root, package))
        .collect()
}

impl Package {
    fn from_metadata(root: &Path, package: MetadataPackage) -> Result<Self> {
        let manifest = package
            .manifest_path
            .strip_prefix(root)
            .with_context(|| format!("`{}` is outside of the workspace", package.name))?;
        let layer = package
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.pointer("/daemon/layer"));
        let (tests_with, links): (Vec<_>, Vec<_>) = package
            .dependencies
            .into_iter()
            .partition(|dependency| dependency.kind.as_deref() == Some("dev"));
        let names = |list: Vec<MetadataDependency>| {
            list.into_iter().map(|dependency| dependency.name).collect()
        };
        Ok(Self {
            manifest: manifest.to_string_lossy().replace('\\', "/"),
            layer: layer
                .and_then(serde_json::Value::as_u64)
                .and_then(|layer| u8::try_from(layer).ok()),
            name: package.name,
            links: names(links),
            tests_with: names(tests_with),
        })
    }
}

/// Checks every crate against the layers.
pub(crate) fn check(packages: &[Package]) -> Vec<TidyFinding> {
    let by_name: BTreeMap<&str, &Package> = packages
        .iter()
        .map(|package| (package.name.as_str(), package))
        .collect();
    let mut acc = Vec::new();
    for package in packages {
        let Some(layer) = package.layer else {
            acc.push(problem(
                package,
                "set `layer = N` under `[package.metadata.daemon]`",
            ));
            continue;
        };
        strictly_lower(package, layer, &by_name, &mut acc);
        purity(package, layer, &mut acc);
        adapters(package, layer, &mut acc);
    }
    linter(&by_name, &mut acc);
    acc
}

fn strictly_lower(
    package: &Package,
    layer: u8,
    by_name: &BTreeMap<&str, &Package>,
    acc: &mut Vec<TidyFinding>,
) {
    for link in &package.links {
        let Some(lower) = by_name.get(link.as_str()).and_then(|used| used.layer) else {
            continue;
        };
        if lower >= layer {
            let message = format!(
                "layer {layer} may not use `{link}` of layer {lower}; only strictly lower ones"
            );
            acc.push(problem(package, message));
        }
    }
}

fn purity(package: &Package, layer: u8, acc: &mut Vec<TidyFinding>) {
    if layer >= FIRST_IMPURE_LAYER && package.name != LINTER {
        return;
    }
    for link in package
        .links
        .iter()
        .filter(|link| IMPURE.contains(&link.as_str()))
    {
        acc.push(problem(
            package,
            format!("may not use `{link}`: no runtime, HTTP, SQL or git here"),
        ));
    }
}

fn adapters(package: &Package, layer: u8, acc: &mut Vec<TidyFinding>) {
    if layer >= COMPOSING_LAYER {
        return;
    }
    let is_adapter = |name: &str| ADAPTERS.iter().any(|adapter| name.starts_with(adapter));
    for link in package.links.iter().filter(|link| is_adapter(link)) {
        acc.push(problem(
            package,
            format!("may not name the adapter `{link}`; use its trait instead"),
        ));
    }
}

fn linter(by_name: &BTreeMap<&str, &Package>, acc: &mut Vec<TidyFinding>) {
    let Some(linter) = by_name.get(LINTER) else {
        return;
    };
    let mut linked: BTreeSet<&str> = BTreeSet::new();
    let mut waiting: Vec<&Package> = vec![linter];
    while let Some(package) = waiting.pop() {
        for used in package
            .links
            .iter()
            .filter_map(|link| by_name.get(link.as_str()))
        {
            if linked.insert(&used.name) {
                waiting.push(used);
            }
        }
    }
    for link in linked
        .into_iter()
        .filter(|link| !LINTER_LINKS.contains(link))
    {
        acc.push(problem(
            linter,
            format!(
                "links `{link}`; the linter links only {}",
                LINTER_LINKS.join(", ")
            ),
        ));
    }
}

/// The lines of code that the `src` of a crate may have.
const MAX_CODE_LINES: usize = 16_000;

/// Checks that no crate has more code than one person can know.
pub(crate) fn sizes(packages: &[Package], code_lines: &BTreeMap<&str, usize>) -> Vec<TidyFinding> {
    let mut acc = Vec::new();
    for package in packages {
        let n_lines = code_lines.get(package.name.as_str()).copied().unwrap_or(0);
        if n_lines > MAX_CODE_LINES {
            let message = format!(
                "{n_lines} lines of code in `src`, the limit is {MAX_CODE_LINES}; divide the crate"
            );
            acc.push(problem(package, message));
        }
    }
    acc
}

/// Prints each layer with its crates and their lines of code, the lowest last.
pub(crate) fn table(packages: &[Package], code_lines: &BTreeMap<&str, usize>) -> String {
    let mut by_layer: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for package in packages {
        let n_lines = code_lines.get(package.name.as_str()).copied().unwrap_or(0);
        let layer = by_layer
            .entry(package.layer.unwrap_or(u8::MAX))
            .or_default();
        layer.push(format!("{} {n_lines}", package.name));
    }
    let lines = by_layer
        .iter()
        .rev()
        .map(|(layer, crates)| format!("layer {layer}: {}\n", crates.join(", ")));
    lines.collect()
}

fn problem(package: &Package, message: impl Into<String>) -> TidyFinding {
    TidyFinding::new(&package.manifest, 1, message)
}

#[cfg(test)]
impl Package {
    /// Returns a crate that uses no other.
    pub(crate) fn named(name: &str, manifest: &str) -> Self {
        Self {
            name: name.to_owned(),
            manifest: manifest.to_owned(),
            layer: Some(0),
            links: BTreeSet::new(),
            tests_with: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, layer: impl Into<Option<u8>>, links: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            layer: layer.into(),
            links: links.iter().map(|&link| link.to_owned()).collect(),
            tests_with: BTreeSet::new(),
        }
    }

    fn messages(packages: &[Package]) -> Vec<String> {
        check(packages)
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn a_crate_may_use_only_strictly_lower_layers() {
        let low = package("daemon-event", 0, &["serde"]);
        assert_eq!(
            messages(&[low.clone(), package("daemon-watch", 1, &["daemon-event"])]),
            Vec::<String>::new()
        );
        assert_eq!(
            messages(&[low.clone(), package("daemon-cron", 0, &["daemon-event"])]),
            ["layer 0 may not use `daemon-event` of layer 0; only strictly lower ones"]
        );
        assert_eq!(
            messages(&[
                package("daemon-event", 0, &["daemon-watch"]),
                package("daemon-watch", 1, &[])
            ]),
            ["layer 0 may not use `daemon-watch` of layer 1; only strictly lower ones"]
        );
    }

    #[test]
    fn a_crate_without_a_layer_fails() {
        assert_eq!(
            messages(&[package("a", None, &[])]),
            ["set `layer = N` under `[package.metadata.daemon]`"]
        );
    }

    #[test]
    fn a_pure_crate_uses_no_runtime() {
        assert_eq!(
            messages(&[package("a", 2, &["tokio"]), package("b", 3, &["tokio"])]),
            ["may not use `tokio`: no runtime, HTTP, SQL or git here"]
        );
    }

    #[test]
    fn only_the_top_names_adapters() {
        let sqlite = package("daemon-store-sqlite", 4, &[]);
        assert_eq!(
            messages(&[
                sqlite,
                package("daemon-host", 7, &["daemon-store-sqlite"]),
                package("daemon-run", 8, &["daemon-store-sqlite"]),
            ]),
            ["may not name the adapter `daemon-store-sqlite`; use its trait instead"]
        );
    }

    #[test]
    fn the_linter_links_its_list_and_no_more_even_indirectly() {
        let found = messages(&[
            package("daemon-lint", 5, &["daemon-validate"]),
            package("daemon-validate", 2, &["daemon-engine"]),
            package("daemon-engine", 1, &[]),
        ]);
        assert_eq!(
            found,
            [
                "links `daemon-engine`; the linter links only daemon-cron, daemon-event, daemon-spec, \
              daemon-validate, daemon-watch"
            ]
        );
        assert_eq!(
            messages(&[package("daemon-lint", 5, &["tokio"])]),
            ["may not use `tokio`: no runtime, HTTP, SQL or git here"]
        );
    }

    #[test]
    fn a_crate_over_the_limit_fails() {
        let packages = [package("a", 0, &[]), package("b", 0, &[])];
        let found = |lines: [usize; 2]| {
            let code_lines = [("a", lines[0]), ("b", lines[1])];
            let problems = sizes(&packages, &code_lines.into()).into_iter();
            problems.map(|problem| problem.message).collect::<Vec<_>>()
        };
        assert_eq!(found([16_000, 16_000]), Vec::<String>::new());
        assert_eq!(
            found([16_000, 16_001]),
            ["16001 lines of code in `src`, the limit is 16000; divide the crate"]
        );
    }

    #[test]
    fn the_table_lists_the_layers_from_the_top() {
        let packages = [
            package("a", 0, &[]),
            package("b", 1, &["a"]),
            package("c", 0, &[]),
        ];
        let code_lines = [("a", 1), ("b", 2), ("c", 3)];
        assert_eq!(
            table(&packages, &code_lines.into()),
            "layer 1: b 2\nlayer 0: a 1, c 3\n"
        );
    }
}
