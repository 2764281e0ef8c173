//! Phrases whose words have another meaning together.

use daemon_event::vocabulary::{self, Noun, Verb};

use crate::filter::Mark;
use crate::grammar::draft::{Draft, Mod, ModHit, NounHit, VerbHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// `pull_request.synchronize`, `issues:labeled`.
    pub(crate) fn try_raw(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = self.value(at).to_lowercase();
        // Kind and action are written with any of these: `issues:labeled`, `issues/labeled`.
        let Some((kind, action)) = text.split_once(['.', ':', '/']) else {
            return self.try_raw_kind(draft, &text);
        };
        let named = vocabulary::kinds()
            .iter()
            .filter(|known| known.name.eq_ignore_ascii_case(kind));
        let found = named.into_iter().find_map(|known| {
            let actions = known.rows.iter().filter_map(|row| row.action);
            // A kind with another word behind the point is a file or a branch, not an event.
            let action = actions
                .into_iter()
                .find(|name| name.eq_ignore_ascii_case(action))?;
            Some((known.name, action))
        });
        let Some((name, action)) = found else {
            return false;
        };
        draft.raw.push((name, Some(action), at..at + 1));
        self.take(at..at + 1);
        self.at += 1;
        true
    }

    /// `the issues event with action labeled`, "`Comment` `create` event": a kind, and its actions apart.
    fn try_raw_kind(&mut self, draft: &mut Draft, name: &str) -> bool {
        let at = self.at;
        let is_event_word = |at: usize| {
            self.unit(at).is_some_and(|unit| {
                matches!(unit.text.as_str(), "event" | "events" | "level event")
            })
        };
        let sources: Vec<_> = draft.sources.iter().map(|(source, _)| *source).collect();
        let found = vocabulary::kinds().iter().find(|known| {
            known.name.eq_ignore_ascii_case(name)
                && (sources.is_empty() || sources.contains(&known.source))
        });
        let Some(found) = found else { return false };
        // `push` or `release` alone are words of sentences; only quoted or with an underscore they are raw names.
        let is_marked = self.kind(at) == Some(TokenKind::Quoted) || name.contains('_');
        let mut end = at + 1;
        let mut says_event = false;
        let mut says_action = false;
        while let Some(unit) = self.unit(end) {
            says_event |= is_event_word(end);
            says_action |= matches!(unit.text.as_str(), "action" | "actions" | "type" | "types");
            let is_between = is_event_word(end)
                || unit.is_mark(",")
                || unit.is_mark(":")
                || unit.is(Class::With)
                || unit.is(Class::Whose)
                || says_action && unit.is(Class::Be)
                || matches!(unit.text.as_str(), "action" | "actions" | "type" | "types");
            if !is_between {
                break;
            }
            end += 1;
        }
        let actions = self.list(end, |reader, at| {
            let value = reader.value(at);
            let known = found.rows.iter().filter_map(|row| row.action);
            let mut known = known.filter(|action| action.eq_ignore_ascii_case(&value));
            // `labeled` may be the verb of the sentence unless the line says that it is an action.
            let may_be = says_action || reader.kind(at) == Some(TokenKind::Quoted);
            known
                .next()
                .filter(|_| may_be)
                .map(|action| (action.to_owned(), at + 1))
        });
        if let Some((actions, mut end)) = actions {
            while is_event_word(end) {
                end += 1;
            }
            for action in actions {
                let row = found
                    .rows
                    .iter()
                    .find(|row| row.action == Some(action.as_str()));
                draft
                    .raw
                    .push((found.name, row.and_then(|row| row.action), at..end));
            }
            self.take(at..end);
            self.at = end;
            return true;
        }
        // A raw kind without actions is read only at the end of the line: other words would narrow it.
        let ends_line = (at + 1..self.units.len()).all(is_event_word);
        if !is_marked || says_action || !(ends_line && (says_event || draft.is_blank())) {
            return false;
        }
        draft.raw.push((found.name, None, at..self.units.len()));
        self.take(at..self.units.len());
        self.at = self.units.len();
        true
    }

    /// Phrases whose words have another meaning together.
    pub(crate) fn try_special(&mut self, draft: &mut Draft) -> bool {
        self.try_verb_phrase(draft)
            || self.try_quantity()
            || self.try_qualified()
            || self.try_alert_list(draft)
            || self.try_exclusion(draft)
            || self.try_auto_merge(draft)
            || self.try_role(draft)
    }

    /// `changes are requested`, `closed without being merged`, `reopened again`.
    fn try_verb_phrase(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        // `changes are requested`
        if matches!(text(at), "changes" | "change")
            && self.is(at + 1, Class::Be)
            && matches!(text(at + 2), "requested")
        {
            self.push_verb(draft, vec![Verb::RequestChanges], at..at + 3);
            return true;
        }
        // `closed without being merged`
        let without = self.skip(at, &[Class::But]);
        if self.is_any(without, &[Class::Without, Class::Not]) {
            let verb = self.skip(without + 1, &[Class::Be, Class::Its]);
            let closes = draft
                .verbs
                .last()
                .is_some_and(|hit| hit.verbs.contains(&Verb::Close));
            if closes && (self.has_verb(verb, Verb::Merge) || matches!(text(verb), "a merge")) {
                // `closed` alone means not merged, so the words repeat it.
                self.take(at..verb + 1);
                self.at = verb + 1;
                return true;
            }
        }
        // `reopened again`: every reopening is a second opening, so `again` adds nothing.
        let returns = draft.verbs.last().is_some_and(|hit| {
            [
                Verb::Reopen,
                Verb::Unresolve,
                Verb::Regress,
                Verb::Rerequest,
            ]
            .iter()
            .any(|verb| hit.verbs.contains(verb))
        });
        if text(at) == "again" && returns {
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        false
    }

    /// `all checks`, `both reviews`.
    fn try_quantity(&mut self) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        // Each of many is one event; all of some is a judgement about several. So `all` is left over before checks and
        // dropped before what arrives one by one.
        if matches!(text(at), "all" | "both") {
            let next = self.skip(at + 1, &[Class::Article, Class::Of, Class::New]);
            let counts = self.part(next) == Some(Part::Approval)
                || self.sense(next).is_some_and(|sense| {
                    sense.nouns.iter().any(|noun| {
                        matches!(
                            noun,
                            Noun::Check
                                | Noun::CheckRun
                                | Noun::Status
                                | Noun::Review
                                | Noun::Workflow
                                | Noun::Job
                                | Noun::ReviewThread
                        )
                    })
                });
            if !counts {
                self.take(at..at + 1);
            }
            self.at += 1;
            return true;
        }
        false
    }

    /// `a protected branch`, `updated by a push`.
    fn try_qualified(&mut self) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        // `a protected branch`: no payload contains the protection of a branch.
        if crate::grammar::literals::NOT_A_BRANCH.contains(&text(at))
            // The words stay free, so that the qualified branch is left over.
            && self
                .sense(at + 1)
                .is_some_and(|sense| sense.nouns.contains(&Noun::Branch))
        {
            self.at += 2;
            return true;
        }
        // `updated by a push`
        if self.is(at, Class::By)
            && text(self.skip(at + 1, &[Class::Article, Class::New])) == "push"
        {
            let end = self.skip(at + 1, &[Class::Article, Class::New]) + 1;
            self.take(at..end);
            self.at = end;
            return true;
        }
        false
    }

    /// Dependabot as the first of several kinds of alerts.
    fn try_alert_list(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        // `Dependabot, secret scanning or code scanning alert`
        // `dependabot` alone is a user; in a list of alerts it names a kind.
        if text(at) == "dependabot" && self.alerts_follow(at + 1) {
            draft.nouns.push(NounHit {
                nouns: &[Noun::DependabotAlert],
                at,
                group: 0,
                plural: false,
                n_verbs: draft.verbs.len(),
            });
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        false
    }

    /// `(not a pull request)`: a noun that the condition is not about.
    fn try_exclusion(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        // `(not a pull request)`, `rather than a pull request`, `the target is an issue`
        if self.is_any(at, &[Class::Not, Class::Except]) {
            let noun = self.skip(at + 1, &[Class::Article, Class::On]);
            let excludes_other = self.is_noun(noun)
                // `a comment on an issue, not a pull request`: the other noun was never included.
                && self.other_noun(draft, noun)
                && self.sense(noun).is_some_and(|sense| {
                    sense.nouns.iter().any(|noun| {
                        matches!(
                            noun,
                            Noun::PullRequest
                                | Noun::Issue
                                | Noun::Discussion
                                | Noun::Comment
                                | Noun::ReviewComment
                        )
                    })
                });
            if excludes_other {
                self.take(at..noun + 1);
                self.at = noun + 1;
                return true;
            }
        }
        false
    }

    /// Auto-merge that is enabled or disabled.
    fn try_auto_merge(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        // `auto-merge is enabled`
        if self.part(at) == Some(Part::AutoMerge) {
            let be = self.skip(at + 1, &[Class::Be, Class::Get]);
            let verb = match text(be) {
                "enabled" | "activated" | "on" => Verb::EnableAutoMerge,
                "disabled" | "deactivated" | "off" => Verb::DisableAutoMerge,
                _ => return false,
            };
            self.push_verb(draft, vec![verb], at..be + 1);
            return true;
        }
        if matches!(text(at), "enables" | "enable" | "disables" | "disable")
            && self.part(at + 1) == Some(Part::AutoMerge)
        {
            let verb = if text(at).starts_with("enable") {
                Verb::EnableAutoMerge
            } else {
                Verb::DisableAutoMerge
            };
            self.push_verb(draft, vec![verb], at..at + 2);
            return true;
        }
        false
    }

    /// The bot of the daemon, and lines of a diff.
    fn try_role(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        // `the daemon's bot user`, `the bot`, where the app itself is meant
        if matches!(text(at), "daemon")
            && self.is(at + 1, Class::Possessive)
            && self.is(at + 2, Class::Bot)
        {
            self.take(at..at + 3);
            self.at += 3;
            return true;
        }
        // `a line of the diff`
        if matches!(text(at), "line" | "lines" | "diff") && self.comments(draft) {
            draft.mods.push(ModHit {
                kind: Mod::Inline,
                negated: false,
                range: at..at + 1,
                mark: Mark::Exact,
                n_verbs: draft.verbs.len(),
                of: None,
                is_shared: false,
            });
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        false
    }

    pub(crate) fn alerts_follow(&self, from: usize) -> bool {
        let joined = self
            .unit(from)
            .is_some_and(|unit| unit.is_mark(",") || unit.is(Class::Or) || unit.is(Class::And));
        let at = self.skip(from + 1, &[Class::Or, Class::And, Class::Article]);
        joined
            && self.sense(at).is_some_and(|sense| {
                sense
                    .nouns
                    .iter()
                    .any(|noun| matches!(noun, Noun::SecretAlert | Noun::CodeScanningAlert))
            })
    }

    pub(crate) fn comments(&self, draft: &Draft) -> bool {
        draft
            .verbs
            .iter()
            .any(|hit| hit.verbs.contains(&Verb::Comment))
            || draft.nouns.iter().any(|hit| {
                hit.nouns.contains(&Noun::Comment) || hit.nouns.contains(&Noun::ReviewComment)
            })
    }

    /// Whether a noun differs from those named so far: excluding it changes nothing.
    pub(crate) fn other_noun(&self, draft: &Draft, at: usize) -> bool {
        let Some(sense) = self.sense(at) else {
            return false;
        };
        !draft.nouns.is_empty()
            && draft
                .nouns
                .iter()
                .all(|hit| hit.nouns.iter().all(|noun| !sense.nouns.contains(noun)))
    }

    pub(crate) fn push_verb(
        &mut self,
        draft: &mut Draft,
        verbs: Vec<Verb>,
        range: std::ops::Range<usize>,
    ) {
        self.take(range.clone());
        self.at = range.end;
        draft.verbs.push(VerbHit {
            verbs,
            forms: Forms::PAST,
            at: range.start,
            values: Vec::new(),
            negated_values: false,
            range,
            is_sequel: false,
        });
    }
}
