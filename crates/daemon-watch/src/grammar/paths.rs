//! Changed files: `that touches src/**`, `files matching G except H`, `with changes outside docs/`.

use daemon_event::vocabulary::{Noun, Verb};

use crate::filter::{Mark, Op};
use crate::grammar::draft::{Draft, Mod, ModHit};
use crate::grammar::reader::Reader;
use crate::lexicon::Class;
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Whether a unit is a path or a glob: by its form, or quoted and of a path's form.
    pub(crate) fn is_path(&self, at: usize) -> bool {
        let Some(unit) = self.unit(at) else {
            return false;
        };
        let of_path_form = |text: &str| {
            !text.contains(' ')
                // `/deploy` in quotes is a command, and URLs are no paths of the repository.
                && !text.starts_with('/')
                && (text.contains(['/', '*']) || text.contains('.'))
                && !text.starts_with("http")
        };
        match unit.kind {
            TokenKind::Code => !self.written(at).starts_with(':'),
            TokenKind::Quoted => of_path_form(&unit.text),
            TokenKind::Word => {
                unit.sense.is_none()
                    && matches!(
                        unit.text.as_str(),
                        "readme"
                            | "changelog"
                            | "dockerfile"
                            | "makefile"
                            | "codeowners"
                            | "license"
                            | "gemfile"
                            | "justfile"
                            | "procfile"
                    )
            }
            TokenKind::User
            | TokenKind::Channel
            | TokenKind::Reference
            | TokenKind::Number
            | TokenKind::Mark => false,
        }
    }

    fn path_value(&self, at: usize) -> String {
        let value = self.value(at);
        if value.starts_with('.') && !value.contains('/') && value.matches('.').count() == 1 {
            // `.sql files` are all files of that extension.
            format!("*{value}")
        } else {
            value
        }
    }

    /// Reads a list of paths with the words between them, and where it ends.
    pub(crate) fn path_list(&self, from: usize) -> Option<(Vec<String>, usize)> {
        const BETWEEN: &[Class] = &[
            Class::Article,
            Class::Anything,
            Class::In,
            Class::Under,
            Class::Matching,
            Class::Of,
            Class::Its,
            Class::To,
        ];
        let mut paths = Vec::new();
        let mut end = from;
        let mut at = from;
        loop {
            at = self.skip_path_words(at, BETWEEN);
            if !self.is_path(at) {
                break;
            }
            let is_directory = self.unit(at + 1).is_some_and(|unit| {
                matches!(
                    unit.text.as_str(),
                    "directory" | "folder" | "dir" | "tree" | "subtree" | "directories" | "folders"
                )
            });
            let mut path = self.path_value(at);
            // `the docs directory` means everything below it.
            if is_directory && !path.ends_with(['/', '*']) {
                path.push('/');
            }
            paths.push(path);
            at += 1 + usize::from(is_directory);
            // `docs/** files`
            while self
                .sense(at)
                .is_some_and(|sense| sense.nouns.contains(&Noun::File))
            {
                at += 1;
            }
            end = at;
            let mut next = at;
            while self.unit(next).is_some_and(|unit| unit.is_mark(","))
                || self.is_any(next, &[Class::Or, Class::And])
            {
                next += 1;
            }
            if next == at {
                break;
            }
            at = next;
        }
        (!paths.is_empty()).then_some((paths, end))
    }

    /// Skips words that may precede a path.
    fn skip_path_words(&self, mut at: usize, classes: &[Class]) -> usize {
        loop {
            let is_file = self
                .sense(at)
                .is_some_and(|sense| sense.nouns.contains(&Noun::File));
            let is_word = self.unit(at).is_some_and(|unit| {
                matches!(
                    unit.text.as_str(),
                    "code" | "those" | "directory" | "folder" | "root" | "changes" | "ones"
                )
            });
            if is_file || is_word || self.is_any(at, classes) {
                at += 1;
            } else {
                return at;
            }
        }
    }

    /// Reads changed files and the words before them.
    pub(crate) fn try_files(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let mut at = self.skip(start, &[Class::That, Class::Whose]);
        let mut touch_verb = None;
        let mut op = Op::Any;
        let mut is_complement = false;
        let mut said_touch = false;
        loop {
            if self.is_any(at, &[Class::With]) {
                said_touch = true;
            } else if self.is(at, Class::Without) {
                op = Op::None;
                said_touch = true;
            } else if self.is(at, Class::Only) {
                op = Op::Only;
                said_touch = true;
            } else if self.is(at, Class::Outside) {
                is_complement = true;
                said_touch = true;
            } else if self.is(at, Class::Except) && touches_files(self, at, said_touch, draft) {
                is_complement = true;
            } else if self.is_any(at, &[Class::Not, Class::Have]) && said_or_near_touch(self, at) {
                if self.is(at, Class::Not) {
                    op = if op == Op::Only { op } else { Op::None };
                }
            } else if self.has_verb(at, Verb::Touch) || self.is(at, Class::Contains) {
                touch_verb = Some(at);
                said_touch = true;
            } else if self.is_noun_file(at)
                || self.is_any(
                    at,
                    &[
                        Class::Anything,
                        Class::Changes,
                        Class::Article,
                        Class::In,
                        Class::Under,
                        Class::Matching,
                        Class::To,
                        Class::Of,
                        Class::Its,
                        Class::Filler,
                    ],
                )
            {
                // Words that may be between the verb and the path.
            } else if self
                .unit(at)
                .is_some_and(|unit| matches!(unit.text.as_str(), "code" | "changes" | "ones"))
            {
            } else {
                break;
            }
            at += 1;
            if at > start + 12 {
                return false;
            }
        }
        if self.is_repository(draft, at) {
            return false;
        }
        let Some((mut paths, mut end)) = self.path_list(at) else {
            return false;
        };
        if !self.is_file_context(draft, start, at, said_touch) {
            return false;
        }
        if is_complement {
            // Outside `docs/` means some file that is not below it, which is every path except those.
            paths = std::iter::once("**".to_owned())
                .chain(paths.into_iter().map(|path| format!("!{path}")))
                .collect();
        }
        let mut except_from = self.skip(end, &[Class::Article]);
        while self
            .unit(except_from)
            .is_some_and(|unit| unit.is_mark(",") || unit.is_mark("("))
            || self.is(except_from, Class::But)
        {
            except_from += 1;
        }
        if self.is_any(except_from, &[Class::Except, Class::Outside, Class::Not])
            && let Some((excepted, after)) = self.path_list(self.skip(
                except_from + 1,
                &[Class::For, Class::In, Class::Under, Class::Outside],
            ))
        {
            paths.extend(excepted.into_iter().map(|path| format!("!{path}")));
            end = after + usize::from(self.unit(after).is_some_and(|unit| unit.is_mark(")")));
        }
        let negation = if touch_verb.is_some() && op == Op::Any {
            self.negation_before(start)
        } else {
            None
            // `does not touch docs/` excludes the files; with `only` the negation is in the operator already.
        };
        if negation.is_some() {
            op = Op::None;
        }
        let start = negation.unwrap_or(start);
        self.take(start..end);
        self.at = end;
        draft.touches |= touch_verb.is_some();
        draft.mods.push(ModHit {
            kind: Mod::Files(op, paths),
            negated: false,
            range: start..end,
            mark: Mark::Exact,
            n_verbs: draft.verbs.len(),
            of: None,
            is_shared: false,
        });
        true
    }

    fn is_noun_file(&self, at: usize) -> bool {
        self.sense(at)
            .is_some_and(|sense| sense.nouns.contains(&Noun::File))
    }

    /// Whether a path here means changed files, rather than a branch or a repository.
    fn is_file_context(&self, draft: &Draft, start: usize, path: usize, said_touch: bool) -> bool {
        if said_touch {
            return !self
                .sense(path + 1)
                .is_some_and(|sense| sense.nouns.contains(&Noun::Branch))
                || self.is(path.wrapping_sub(1), Class::Under);
        }
        let next_is_branch = self.sense(path + 1).is_some_and(|sense| {
            sense.nouns.contains(&Noun::Branch)
                || sense.nouns.contains(&Noun::Tag)
                || sense.nouns.contains(&Noun::Repository)
        });
        // `the ci/build status`: a slash before a noun is part of its name, not of a path.
        let names_noun = self.part(path + 1) == Some(crate::lexicon::Part::Status)
            || self.sense(path + 1).is_some_and(|sense| {
                !sense.nouns.is_empty()
                    && (!sense.is_verb() || sense.nouns.contains(&Noun::Milestone))
                    && !sense.nouns.contains(&Noun::File)
            });
        let names_refs = draft.nouns.last().is_some_and(|hit| {
            hit.at + 1 >= start
                && (hit.nouns.contains(&Noun::Branch) || hit.nouns.contains(&Noun::Tag))
        });
        let is_quoted = self.kind(path) == Some(TokenKind::Quoted);
        let has_event = draft
            .verbs
            .iter()
            .any(|verb| !verb.verbs.contains(&Verb::Touch));
        // `a comment that says "docs/x"` quotes a string.
        let is_text = is_quoted && has_event && start == path;
        let names_other = next_is_branch
            || names_noun
            || names_refs
            || is_text
            || self.is_any(start, &[Class::To, Class::Of]);
        !names_other
    }
}

fn touches_files(reader: &Reader<'_>, at: usize, said_touch: bool, draft: &Draft) -> bool {
    said_touch
        || draft
            .nouns
            .last()
            .is_some_and(|hit| hit.at + 1 == at && hit.nouns.contains(&Noun::File))
        || reader.is_path(at + 1)
}

fn said_or_near_touch(reader: &Reader<'_>, at: usize) -> bool {
    let next = reader.skip(at + 1, &[Class::Have, Class::Not]);
    reader.has_verb(next, Verb::Touch)
        || reader.is(next, Class::Changes)
        || reader.is_noun_file(next)
}
