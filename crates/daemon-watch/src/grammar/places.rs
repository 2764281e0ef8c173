//! Places after the event: a channel's id, a project, a team, a milestone, an alert's rule.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use crate::grammar::draft::{Draft, Mod};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads a place after the event.
    pub(crate) fn try_place(&mut self, draft: &mut Draft) -> bool {
        self.try_channel_id(draft)
            || self.try_alert_behind(draft)
            || self.try_project_of_errors(draft)
            || self.try_team_behind(draft)
            || self.try_milestone_behind(draft)
    }

    /// `in channel C0123ABCD`.
    fn try_channel_id(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let at = self.skip(start, &[Class::In, Class::On, Class::To, Class::Article]);
        if !self.has_noun(at, Noun::Channel) {
            return false;
        }
        let is_id = |reader: &Self, at: usize| {
            let text = reader.value(at);
            text.len() >= 8
                && text.starts_with(['C', 'G', 'D'])
                && text
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        };
        let ids = self.list(at + 1, |reader, at| {
            (reader.is_literal(at) && is_id(reader, at)).then(|| (reader.value(at), at + 1))
        });
        let Some((ids, end)) = ids else {
            return false;
        };
        self.push_mod(draft, Mod::Is(Field::ChannelId, ids), start..end);
        true
    }

    /// `the alert rule "p95 latency"`.
    fn try_alert_behind(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let follows_alert = draft.nouns.last().is_some_and(|hit| {
            hit.at + 1 == start
                && hit
                    .nouns
                    .iter()
                    .any(|noun| matches!(noun, Noun::Alert | Noun::MetricAlert | Noun::IssueAlert))
        });
        if !follows_alert || self.kind(start) != Some(TokenKind::Quoted) {
            return false;
        }
        let names = self.list(start, |reader, at| {
            (reader.kind(at) == Some(TokenKind::Quoted)).then(|| (reader.value(at), at + 1))
        });
        let Some((names, end)) = names else {
            return false;
        };
        self.push_mod(draft, Mod::Is(Field::Name, names), start..end);
        true
    }

    /// `in the kiln-web project`, `in project kiln-web`, `in kiln-web`, for issues and alerts of Sentry.
    fn try_project_of_errors(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let in_sentry = draft
            .sources
            .iter()
            .any(|(source, _)| *source == daemon_event::Source::Sentry);
        let is_outside = self.is(start, Class::Outside);
        let mut at = self.skip(
            start,
            &[
                Class::In,
                Class::For,
                Class::From,
                Class::Of,
                Class::Outside,
            ],
        );
        if at == start || !in_sentry {
            return false;
        }
        at = self.skip(at, &[Class::Article]);
        let says_project = self.has_noun(at, Noun::Project);
        at += usize::from(says_project);
        at = self.skip(at, &[Class::Matching]);
        let is_not = self.is_any(at, &[Class::Except, Class::Not]);
        at = self.skip(at + usize::from(is_not), &[Class::Article]);
        let names = self.list(at, |reader, at| {
            let next_is_project = reader.has_noun(at + 1, Noun::Project);
            let is_name = reader.kind(at) == Some(TokenKind::Quoted)
                || reader.is_literal(at)
                    && (says_project
                        || next_is_project
                        || reader.written(at).contains(['-', '_', '/']));
            is_name.then(|| (reader.value(at), at + 1 + usize::from(next_is_project)))
        });
        let Some((names, end)) = names else {
            return false;
        };
        self.push_mod(draft, Mod::Is(Field::Project, names), start..end);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated |= is_not || is_outside;
        }
        true
    }

    /// `in team KLN`, `for the team "Kilns"`.
    fn try_team_behind(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let mut at = self.skip(
            start,
            &[Class::In, Class::For, Class::On, Class::Of, Class::Article],
        );
        let is_linear = |at: usize| {
            self.sense(at)
                .is_some_and(|sense| sense.source == Some(daemon_event::Source::Linear))
        };
        while at > start && is_linear(at) {
            at += 1;
        }
        let of_issues = draft.nouns.iter().any(|hit| {
            hit.nouns
                .iter()
                .any(|noun| matches!(noun, Noun::Issue | Noun::Project | Noun::Cycle))
        });
        if at == start || !of_issues || self.part(at) != Some(Part::Team) {
            return false;
        }
        let from = self.skip(at + 1, &[Class::Matching]);
        let names = self.list(from, |reader, at| {
            let is_name = reader.kind(at) == Some(TokenKind::Quoted)
                || reader.is_literal(at) && reader.written(at).starts_with(char::is_uppercase);
            is_name.then(|| (reader.value(at), at + 1))
        });
        let Some((names, end)) = names else {
            return false;
        };
        self.push_mod(draft, Mod::Is(Field::Team, names), start..end);
        true
    }

    /// `in milestone "v2"`, `in the project checkout-web`.
    fn try_milestone_behind(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let at = self.skip(
            start,
            &[
                Class::In,
                Class::For,
                Class::Of,
                Class::Article,
                Class::With,
            ],
        );
        let field = if self.has_noun(at, Noun::Milestone) {
            Field::Milestone
        } else if self.has_noun(at, Noun::Project) && !self.is(start, Class::With) {
            Field::Project
        } else {
            return false;
        };
        if at == start || draft.nouns.is_empty() {
            return false;
        }
        let names = self.list(self.skip(at + 1, &[Class::Matching]), |reader, at| {
            reader.is_literal(at).then(|| (reader.value(at), at + 1))
        });
        let Some((names, end)) = names else {
            return false;
        };
        self.push_mod(draft, Mod::Is(field, names), start..end);
        true
    }
}
