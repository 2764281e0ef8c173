//! The tool `search`. Its regular expressions match in linear time, because a model chooses them.

use std::ops::ControlFlow;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use rustix::fs::OFlags;
use serde::Deserialize;

use super::file::{Root, read_at_most};
use super::path::{Missing, SafePath};
use super::walk::{Kind, WHOLE_TREE, walk};
use daemon_provider::tool_loop::{ToolError, ToolOutput};

/// The most lines returned.
const MOST_HITS: usize = 200;
/// The most characters shown of a line.
const MOST_SHOWN: usize = 300;
/// The most bytes of a file that is searched; larger files are skipped.
const MOST_FILE: usize = 1 << 20;
/// The most bytes read by one search.
const MOST_READ: usize = 256 << 20;
/// The most bytes of a compiled expression.
const MOST_EXPRESSION: usize = 1 << 20;

#[derive(Debug, Deserialize)]
pub(super) struct Search {
    pattern: String,
    #[serde(default)]
    path: String,
    #[serde(default, rename = "in")]
    pub(super) root: Root,
    glob: Option<String>,
}

/// Returns the matching lines of the files below a path.
pub(super) fn run(root: &Path, wanted: &Search) -> Result<ToolOutput, ToolError> {
    let path = SafePath::parse(&wanted.path)?;
    let expression = RegexBuilder::new(&wanted.pattern)
        .size_limit(MOST_EXPRESSION)
        .build()
        .map_err(|error| ToolError::new(format!("the pattern cannot be used: {error}")))?;
    let glob = wanted.glob.as_deref().map(matcher).transpose()?;
    let directory = path.open_directory(root)?;
    let prefix = match path.to_string() {
        here if here == "." => String::new(),
        below => format!("{below}/"),
    };
    let mut hits = Vec::new();
    let mut n_read = 0;
    let walked = walk(&directory, &prefix, WHOLE_TREE, &mut |entry| {
        let fits = |path| glob.as_ref().is_none_or(|glob| glob.is_match(path));
        if entry.kind != Kind::File || !fits(entry.path) {
            return ControlFlow::Continue(());
        }
        let text = text(root, entry.path).unwrap_or_default();
        n_read += text.len();
        find(&expression, entry.path, &text, &mut hits)?;
        if n_read > MOST_READ {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    if walked.is_break() {
        hits.push("...[truncated: narrow the pattern, the path or the glob]".to_owned());
    }
    Ok(if hits.is_empty() {
        "(nothing found)".to_owned()
    } else {
        hits.join("\n")
    })
}

fn matcher(glob: &str) -> Result<GlobMatcher, ToolError> {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    built
        .map(|glob| glob.compile_matcher())
        .map_err(|error| ToolError::new(format!("the glob cannot be used: {error}")))
}

/// Reads a file as text; `None` if it is too large or not UTF-8.
fn text(root: &Path, path: &str) -> Option<String> {
    let path = SafePath::parse(path).ok()?;
    let mut file = path.open_file(root, OFlags::RDONLY, Missing::Fail).ok()?;
    let bytes = read_at_most(&mut file, MOST_FILE + 1).ok()?;
    if bytes.len() > MOST_FILE {
        return None;
    }
    String::from_utf8(bytes).ok()
}

fn find(expression: &Regex, path: &str, text: &str, hits: &mut Vec<String>) -> ControlFlow<()> {
    for (at, line) in text.lines().enumerate() {
        if !expression.is_match(line) {
            continue;
        }
        if hits.len() == MOST_HITS {
            return ControlFlow::Break(());
        }
        let shown: String = line.chars().take(MOST_SHOWN).collect();
        hits.push(format!("{path}:{}: {shown}", at + 1));
    }
    ControlFlow::Continue(())
}
