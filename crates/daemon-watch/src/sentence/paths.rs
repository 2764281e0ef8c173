//! Changed files: paths, the words around them, exclusions, and their connectives.

use super::atom::{Guard, Says};
use super::formula::Formula;
use super::line::Line;
use super::people::OTHER_THAN;
use crate::filter::Op;
use crate::normalise::TokenKind;

/// Words that may be between a verb and a path.
const AROUND: &[&str] = &[
    "a",
    "an",
    "the",
    "any",
    "some",
    "all",
    "of",
    "files",
    "file",
    "anything",
    "something",
    "everything",
    "code",
    "stuff",
    "content",
    "contents",
    "changes",
    "in",
    "under",
    "inside",
    "within",
    "below",
    "to",
    "matching",
    "like",
    "that",
    "match",
    "matches",
    "at",
    "one",
    "or",
    "more",
    "underneath",
    "path",
    "paths",
    "whose",
    "located",
    "living",
    "anywhere",
    "its",
    "ones",
    "those",
    "things",
    "beneath",
    "source",
    "either",
    "on",
    "least",
    "single",
    "every",
    "each",
];
const OUTSIDE: &[&str] = &[
    "outside of",
    "outside",
    "other than those in",
    "other than those under",
    "other than in",
    "other than",
    "not in",
    "not under",
    "not matching",
    "beyond",
    "anywhere but in",
    "anywhere but",
    "that is not under",
    "that is not in",
    "that are not under",
    "that are not in",
    "except in",
    "except",
    "but",
];
const FOLDERS: &[&str] = &[
    "directory",
    "directories",
    "folder",
    "folders",
    "dir",
    "tree",
    "subtree",
];
/// Languages with one file extension.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("markdown", &["*.md"]),
    ("sql", &["*.sql"]),
    ("rust", &["*.rs"]),
    ("python", &["*.py"]),
    ("go", &["*.go"]),
    ("json", &["*.json"]),
    ("toml", &["*.toml"]),
    ("yaml", &["*.yml", "*.yaml"]),
    ("typescript", &["*.ts", "*.tsx"]),
    ("javascript", &["*.js", "*.jsx"]),
];
const NAMED_FILES: &[&str] = &[
    "readme",
    "changelog",
    "dockerfile",
    "makefile",
    "codeowners",
    "license",
    "gemfile",
    "justfile",
    "procfile",
];

/// The connective of a list of paths.
struct Paths {
    globs: Vec<String>,
    is_all: bool,
}

impl Line<'_> {
    /// Reads the touched paths after the verb.
    pub(super) fn touched(&mut self, only: bool) -> Option<Guard> {
        self.attempt(|line| {
            let start = line.at;
            let nothing = line.eat_phrase(&[
                "nothing but",
                "nothing except",
                "nothing other than",
                "nothing outside of",
                "nothing outside",
                "no files except",
                "no files other than",
                "no files but",
                "no files outside of",
                "no files outside",
                "no file other than",
                "no file outside",
            ]);
            let only = line.eat_any(&["only", "just", "solely", "exclusively"]) || only || nothing;
            let no = !only && (line.eat("nothing") || line.eat("no"));
            // `to both docs/ and src/`: the preposition precedes `both`.
            if line.word(1) == "both" {
                line.eat_any(&["to", "in", "under", "within"]);
            }
            let both = line.eat("both");
            let is_outside = !only && line.outside();
            let plural = matches!(line.word(0), "files" | "anything" | "any" | "changes");
            let found = line.paths()?;
            let except = line.attempt(Self::excepted);
            // `files in docs/ and src/` are files of either; `touches docs/ and src/` means both.
            let is_all = both || found.is_all && !plural;
            // `docs/ but not docs/old.md` means that the file is not changed; `except` only removes it from the comparison.
            // The reading that wakes less often wins.
            let (except, untouched) = match except {
                Some((globs, true)) if !only && !is_outside => (None, globs),
                Some((globs, _)) => (Some(globs), Vec::new()),
                None => (None, Vec::new()),
            };
            let mut guard = line.joined(start, found.globs, except, only, is_outside, is_all)?;
            if !untouched.is_empty() {
                guard = guard.and(line.says(Says::Files(Op::None, untouched), start));
            }
            Some(if no { guard.not() } else { guard })
        })
    }

    /// `files outside docs/`, `anything other than docs/`
    fn outside(&mut self) -> bool {
        self.attempt(|line| {
            line.skip_any(&[
                "a",
                "any",
                "some",
                "file",
                "files",
                "anything",
                "something",
                "code",
                "paths",
                "changes",
            ]);
            line.eat_phrase(OUTSIDE).then_some(())
        })
        .is_some()
    }

    fn joined(
        &self,
        start: usize,
        globs: Vec<String>,
        except: Option<Vec<String>>,
        only: bool,
        is_outside: bool,
        is_all: bool,
    ) -> Option<Guard> {
        let files = |op: Op, globs: Vec<String>| self.says(Says::Files(op, globs), start);
        if is_outside {
            let mut all = vec!["**".to_owned()];
            // Outside `docs/` means some file that is not below it.
            all.extend(
                globs
                    .iter()
                    .chain(except.iter().flatten())
                    .map(|glob| format!("!{glob}")),
            );
            return Some(files(Op::Any, all));
        }
        let op = if only { Op::Only } else { Op::Any };
        let except = except.unwrap_or_default();
        // An excluded path inside the others is removed from the comparison; one elsewhere must not be changed at all.
        let (inside, elsewhere): (Vec<_>, Vec<_>) = except
            .into_iter()
            .partition(|glob| globs.iter().any(|outer| lies_in(glob, outer)));
        let out = || inside.iter().map(|glob| format!("!{glob}"));
        let mut found = if is_all && !only {
            let each = globs
                .iter()
                .map(|glob| files(op, std::iter::once(glob.clone()).chain(out()).collect()));
            each.fold(Formula::Always, Formula::and)
        } else {
            files(op, globs.iter().cloned().chain(out()).collect())
        };
        if !elsewhere.is_empty() {
            found = found.and(files(Op::None, elsewhere));
        }
        Some(found)
    }

    /// `except G`, `but not G`, `other than G`
    fn excepted(&mut self) -> Option<(Vec<String>, bool)> {
        let bracket = self.eat_mark("(");
        if !bracket {
            self.eat_mark(",");
        }
        let is_strict = matches!(self.word(0), "not" | "nothing")
            || self.sees("but not")
            || self.sees("but nothing");
        self.eat("but");
        self.eat_phrase(&["that is", "that are", "which are", "which is"]);
        let says =
            self.eat_phrase(OTHER_THAN) || self.eat_any(&["not", "nothing", "outside", "without"]);
        if !says {
            return None;
        }
        let found = self.paths()?;
        (!bracket || self.eat_mark(")")).then_some((found.globs, is_strict))
    }

    /// Paths joined by commas, `or`, `and`, with the words around them.
    fn paths(&mut self) -> Option<Paths> {
        let mut globs = self.path_with_words()?;
        let mut is_all = false;
        let mut is_any = false;
        while let Some((more, and)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "nor"]);
            let and = !or && line.eat("and");
            let more = line.path_with_words()?;
            (comma || or || and).then_some((more, and))
        }) {
            globs.extend(more);
            is_all |= and;
            is_any |= !and && !self.is_mark(0, ",");
        }
        let is_all = is_all && !is_any;
        Some(Paths { globs, is_all })
    }

    fn path_with_words(&mut self) -> Option<Vec<String>> {
        self.attempt(|line| {
            let mut n_words = 0;
            while AROUND.contains(&line.word(0)) && !line.word(0).is_empty() {
                line.at += 1;
                n_words += 1;
                if n_words > 8 {
                    return None;
                }
            }
            let found = line.path()?;
            line.skip_any(&["file", "files"]);
            Some(found)
        })
    }

    /// Reads one path: by its form, a well-known file, a folder, or a language.
    fn path(&mut self) -> Option<Vec<String>> {
        let value = self.value(0);
        let has_form = |text: &str| {
            let is_command =
                // `/deploy` is a command.
                text.starts_with('/') && text.matches('/').count() == 1 && !text.contains('.');
            let is_data = text.contains(' ') || text.starts_with("http") || is_command;
            !is_data && text.contains(['/', '*', '.'])
        };
        let is_path = match self.kind(0)? {
            TokenKind::Code => !value.starts_with(':'),
            TokenKind::Quoted => has_form(&value) || FOLDERS.contains(&self.word(1)),
            TokenKind::Word => {
                let word = self.word(0);
                let language = LANGUAGES.iter().find(|(name, _)| *name == word);
                if let Some((_, globs)) = language
                    && matches!(self.word(1), "files" | "file")
                {
                    self.at += 1;
                    return Some(globs.iter().map(|glob| (*glob).to_owned()).collect());
                }
                NAMED_FILES.contains(&word)
                    || FOLDERS.contains(&self.word(1)) && crate::lexicon::exact(word).is_none()
                // `the docs folder`: an unknown word before `folder` is its name.
            }
            TokenKind::User
            | TokenKind::Channel
            | TokenKind::Reference
            | TokenKind::Number
            | TokenKind::Mark => false,
        };
        if !is_path {
            return None;
        }
        self.at += 1;
        let mut path = value;
        if path.starts_with('.')
            && !path.contains('/')
            && path.matches('.').count() == 1
            && is_ending(&path)
        {
            path.insert(0, '*');
        }
        if self.eat_any(FOLDERS) && !path.ends_with(['/', '*']) {
            path.push('/');
        }
        Some(vec![path])
    }
}

/// Whether `.sql` is an ending rather than a file of that name.
fn is_ending(path: &str) -> bool {
    path.len() <= 6 && !matches!(path, ".env")
}

/// Whether a glob is inside another, by their literal prefixes.
fn lies_in(glob: &str, outer: &str) -> bool {
    let root = outer.split(['*', '{', '?']).next().unwrap_or_default();
    root.is_empty() || glob.starts_with('*') || glob.starts_with(root) || !glob.contains('/')
}
