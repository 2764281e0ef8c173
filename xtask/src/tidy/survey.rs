//! The Rust sources of the repository, taken apart once and grouped by crate.

use std::collections::BTreeMap;

use super::layers::Package;
use super::rust::{CommentKind, RustSource};
use super::tree::RepositoryFiles;

/// One Rust source of the repository.
#[derive(Debug)]
pub(crate) struct File<'a> {
    pub(crate) path: &'a str,
    /// The crate it belongs to.
    pub(crate) package: &'a str,
    pub(crate) source: RustSource,
}

/// Every Rust source, in the order of the paths.
#[derive(Debug, Default)]
pub(crate) struct RustFiles<'a> {
    pub(crate) files: Vec<File<'a>>,
}

impl<'a> RustFiles<'a> {
    /// Reads the sources of the crates; files outside of crates are left out.
    pub(crate) fn read(tree: &'a RepositoryFiles, packages: &'a [Package]) -> Self {
        let read = |(path, text): (&'a str, &'a str)| {
            Some(File {
                path,
                package: package_of(path, packages)?,
                source: RustSource::read(text),
            })
        };
        Self {
            files: tree.sources().filter_map(read).collect(),
        }
    }

    /// Returns the lines of code in the `src` of each crate, without files of tests.
    pub(crate) fn code_lines(&self) -> BTreeMap<&'a str, usize> {
        let mut acc = BTreeMap::new();
        for file in &self.files {
            let n_lines = if file.is_test() {
                0
            } else {
                file.source.code_lines()
            };
            *acc.entry(file.package).or_default() += n_lines;
        }
        acc
    }
}

/// Returns the crate in whose folder a file is.
pub(crate) fn package_of<'a>(path: &str, packages: &'a [Package]) -> Option<&'a str> {
    let is_below = |package: &&Package| {
        let folder = package.manifest.strip_suffix("Cargo.toml");
        folder.is_some_and(|folder| path.starts_with(folder))
    };
    packages
        .iter()
        .find(is_below)
        .map(|package| package.name.as_str())
}

impl File<'_> {
    /// Reports whether the file is compiled only for tests, benchmarks or as an example.
    pub(crate) fn is_test(&self) -> bool {
        let folders = ["/tests/", "/benches/", "/examples/"];
        self.path.ends_with("tests.rs") || folders.iter().any(|folder| self.path.contains(folder))
    }

    /// Returns the line on which a module of tests at the end of the file begins, or a line after the last.
    pub(crate) fn first_test_line(&self) -> usize {
        let at = self.source.code.find("\n#[cfg(test)]\nmod ").filter(|at| {
            let declaration = &self.source.code[at + "\n#[cfg(test)]\nmod ".len()..];
            let is_inline = declaration.find('{') < declaration.find(';');
            declaration.contains('{') && is_inline
        });
        at.map_or(usize::MAX, |at| self.source.line_of(at) + 1)
    }

    /// Returns the blocks of comment: lines that follow each other and are of one kind.
    pub(crate) fn comment_blocks(&self) -> Vec<Block> {
        let mut acc: Vec<Block> = Vec::new();
        for comment in &self.source.comments {
            let n_lines = acc.last().map_or(0, |block| block.lines.len());
            match acc.last_mut() {
                Some(block)
                    if block.kind == comment.kind
                        // Comments after code on consecutive lines are about different lines.
                        && comment.kind != CommentKind::Trailing
                        && block.line + n_lines == comment.line =>
                {
                    block.lines.push(comment.text.clone());
                }
                _ => acc.push(Block {
                    line: comment.line,
                    kind: comment.kind,
                    lines: vec![comment.text.clone()],
                }),
            }
        }
        acc
    }
}

/// Lines of comment that are read as one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first line in the file, from 1.
    pub(crate) line: usize,
    pub(crate) kind: CommentKind,
    pub(crate) lines: Vec<String>,
}
