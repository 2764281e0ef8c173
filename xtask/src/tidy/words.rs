//! Checks of words in prose: comments, documents, help and error messages.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::layers::Package;
use super::prose::{self, Word};
use super::rust::Literal;
use super::survey::{self, File, RustFiles};
use super::tree::{RepositoryFiles, TidyFinding};

const TABLE: &str = "xtask/tidy/words.toml";

/// The words to find, by the first word of each phrase.
#[derive(Debug)]
pub(crate) struct Table {
    phrases: HashMap<String, Vec<Phrase>>,
}

#[derive(Debug)]
struct Phrase {
    words: Vec<String>,
    instead: String,
}

#[derive(Deserialize)]
struct Document {
    words: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    find: Vec<String>,
    write: String,
}

impl Table {
    /// Reads the table of the repository.
    ///
    /// # Errors
    /// When the file is missing or not such a table.
    pub(crate) fn read(tree: &RepositoryFiles) -> Result<Self> {
        let text = tree
            .text(TABLE)
            .with_context(|| format!("`{TABLE}` is missing"))?;
        Self::parse(text).with_context(|| format!("failed to read `{TABLE}`"))
    }

    fn parse(text: &str) -> Result<Self> {
        let document: Document = toml::from_str(text)?;
        let mut phrases: HashMap<String, Vec<Phrase>> = HashMap::new();
        for row in document.words {
            for phrase in row.find {
                let words: Vec<String> = phrase.split(' ').map(str::to_owned).collect();
                let first = words.first().cloned().unwrap_or_default();
                phrases.entry(first).or_default().push(Phrase {
                    words,
                    instead: row.write.clone(),
                });
            }
        }
        Ok(Self { phrases })
    }

    /// Returns the phrases in a paragraph.
    fn hits(&self, path: &str, words: &[Word]) -> Vec<TidyFinding> {
        let starts_here = |at: usize, phrase: &Phrase| {
            let rest = words.get(at..at + phrase.words.len());
            rest.is_some_and(|rest| {
                let is_joined = rest.iter().skip(1).all(|word| word.follows);
                is_joined
                    && rest
                        .iter()
                        .zip(&phrase.words)
                        .all(|(word, found)| word.word == *found)
            })
        };
        let mut acc = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let phrases = self.phrases.get(&word.word).into_iter().flatten();
            for phrase in phrases.filter(|phrase| starts_here(at, phrase)) {
                let message = format!("\"{}\": write {}", phrase.words.join(" "), phrase.instead);
                acc.push(TidyFinding::new(path, word.line, message));
            }
        }
        acc
    }
}

/// The prose of one crate, folder or document.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    pub(crate) n_words: usize,
    pub(crate) hits: Vec<TidyFinding>,
}

impl Prose {
    fn add(&mut self, table: &Table, path: &str, line: usize, paragraph: &str) {
        let words = prose::words(line, paragraph);
        self.n_words += words.len();
        self.hits.extend(table.hits(path, &words));
    }
}

/// Reads all prose of the repository, by crate, and by folder or document for what is in no crate.
pub(crate) fn read<'a>(
    table: &Table,
    tree: &'a RepositoryFiles,
    survey: &RustFiles<'a>,
    packages: &'a [Package],
) -> BTreeMap<&'a str, Prose> {
    let mut acc: BTreeMap<&str, Prose> = BTreeMap::new();
    for file in &survey.files {
        let prose = acc.entry(file.package).or_default();
        for block in file.comment_blocks() {
            let lines = block.lines.iter().map(String::as_str);
            for (line, paragraph) in prose::paragraphs(block.line, lines) {
                prose.add(table, file.path, line, &paragraph);
            }
        }
        for literal in user_texts(file) {
            prose.add(table, file.path, literal.line, &unescaped(&literal.text));
        }
    }
    for (path, text) in tree.texts().filter(|(path, _)| is_document(path)) {
        let unit = survey::package_of(path, packages).unwrap_or_else(|| folder_or_document(path));
        let prose = acc.entry(unit).or_default();
        for (line, paragraph) in prose::paragraphs(1, text.lines()) {
            prose.add(table, path, line, &paragraph);
        }
    }
    acc
}

/// Fixtures are the words of the authors they were taken from.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && !path.starts_with("fixtures/")
}

/// Returns `docs/errors` for a page of an error, and the path of any other document.
fn folder_or_document(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((folder, _)) if folder.contains('/') => folder,
        _ => path,
    }
}

/// Returns the literals that users read: the messages of errors, and in a program every literal of several words.
fn user_texts<'a>(file: &'a File<'_>) -> impl Iterator<Item = &'a Literal> {
    let is_program = file.path.starts_with("bins/") || file.path.starts_with("xtask/");
    // Literals in tests are data and not shown to users.
    let first_test_line = if file.is_test() {
        0
    } else {
        file.first_test_line()
    };
    let is_message = |literal: &Literal| {
        // The lexer keeps offsets, so the code before a literal shows what the literal is for.
        let before = file.source.code[..literal.at].trim_end();
        before.ends_with("#[error(")
    };
    file.source.strings.iter().filter(move |literal| {
        let is_read = is_program && literal.text.contains(' ') || is_message(literal);
        is_read && literal.line < first_test_line
    })
}

/// Replaces the escapes of line ends, of which `\n` would join a letter to the next word.
fn unescaped(text: &str) -> String {
    text.replace("\\n", " \u{b6} ")
        .replace("\\\n", "\n")
        .replace("\\t", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "[[words]]\nfind = [\"tells\", \"goes on\"]\nwrite = \"returns\"\n";

    fn hits(path: &str, text: &str) -> Vec<String> {
        let tree = RepositoryFiles::from([(path, text)]);
        let packages = [
            Package::named("a", "bins/a/Cargo.toml"),
            Package::named("b", "crates/b/Cargo.toml"),
        ];
        let survey = RustFiles::read(&tree, &packages);
        let prose = read(&Table::parse(WORDS).unwrap(), &tree, &survey, &packages);
        let hits = prose
            .into_iter()
            .flat_map(|(unit, prose)| prose.hits.into_iter().map(move |hit| (unit, hit)));
        hits.map(|(unit, hit)| format!("{unit}: {}: {}", hit.line, hit.message))
            .collect()
    }

    #[test]
    fn a_word_is_found_in_comments_of_every_kind_and_not_in_code() {
        let text = "//! Tells.\n/// It\n/// `tells` (tells).\n/// ```\n/// tells\n/// ```\nfn tells() {} // tells\n";
        let found = |line: usize| format!("b: {line}: \"tells\": write returns");
        assert_eq!(
            hits("crates/b/src/b.rs", text),
            [found(1), found(3), found(7)]
        );
    }

    #[test]
    fn a_phrase_is_found_over_the_end_of_a_line_and_not_over_a_full_stop() {
        let text = "// It goes\n// on. He goes. On we go.\n";
        assert_eq!(
            hits("crates/b/tests/b.rs", text),
            ["b: 1: \"goes on\": write returns"]
        );
    }

    #[test]
    fn documents_count_for_their_folder_and_fixtures_do_not() {
        let hit = "1: \"tells\": write returns";
        assert_eq!(
            hits("docs/errors/D001.md", "tells"),
            [format!("docs/errors: {hit}")]
        );
        assert_eq!(
            hits("docs/runs.md", "tells"),
            [format!("docs/runs.md: {hit}")]
        );
        assert_eq!(hits("README.md", "tells"), [format!("README.md: {hit}")]);
        assert_eq!(hits("crates/b/src/b.md", "tells"), [format!("b: {hit}")]);
        assert_eq!(hits("fixtures/a/DAEMON.md", "tells"), Vec::<String>::new());
    }

    #[test]
    fn literals_count_where_users_read_them() {
        let text = "#[error(\"it tells\")]\nconst A: &str = \"x\\ntells y\";\nconst B: &str = \"tells\";\n\
                    #[cfg(test)]\nmod tests {\n    const C: &str = \"it tells\";\n}\n";
        let found = |line: usize| format!("{line}: \"tells\": write returns");
        assert_eq!(
            hits("bins/a/src/a.rs", text),
            [format!("a: {}", found(1)), format!("a: {}", found(2))]
        );
        assert_eq!(
            hits("crates/b/src/b.rs", text),
            [format!("b: {}", found(1))]
        );
        assert_eq!(hits("bins/a/tests/it/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn the_table_of_the_repository_is_read_and_names_each_phrase_once() {
        let table = Table::parse(include_str!("../../tidy/words.toml")).unwrap();
        let mut phrases: Vec<String> = table
            .phrases
            .values()
            .flatten()
            .map(|it| it.words.join(" "))
            .collect();
        phrases.sort();
        let n_phrases = phrases.len();
        phrases.dedup();
        assert_eq!(phrases.len(), n_phrases);
        for phrase in phrases {
            let words = prose::words(1, &phrase);
            assert_eq!(table.hits("a", &words).len(), 1, "{phrase}");
        }
    }
}
