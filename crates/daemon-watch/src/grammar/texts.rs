//! Strings in titles, bodies, comments and messages.

use daemon_event::vocabulary::{Noun, Verb};

use daemon_event::Field;

use crate::filter::Op;
use crate::grammar::draft::{Draft, Mod, TextPlace};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads strings in titles, bodies, comments and messages.
    pub(crate) fn try_text(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let mut at = self.skip(start, &[Class::Unless]);
        let mut place = None;
        let mut negated = at > start || self.is(at, Class::Without);
        at = self.skip(
            at,
            &[
                Class::That,
                Class::With,
                Class::Without,
                Class::Whose,
                Class::Its,
                Class::Article,
                Class::In,
                Class::But,
            ],
        );
        if let Some((found, after)) = self.text_place(at) {
            place = Some(found);
            at = after;
        }
        let be = self.skip(at, &[Class::That, Class::Be, Class::Have]);
        let is_not = self.is(be, Class::Not);
        negated |= is_not;
        let verb = be + usize::from(is_not);
        let says = self.is_any(verb, &[Class::Contains, Class::Matching])
            || self.has_verb(verb, Verb::Mention)
                && self.has_form(
                    verb,
                    Forms(Forms::GERUND.0 | Forms::THIRD.0 | Forms::BASE.0),
                )
                && draft.agent.is_none();
        let from = if says { verb + 1 } else { at };
        let from = self.skip(from, &[Class::Article]);
        let Some((texts, mut end)) = self.list(from, |reader, at| match reader.kind(at) {
            Some(TokenKind::Quoted) => Some((reader.value(at), at + 1)),
            Some(TokenKind::User) if says => Some((format!("@{}", reader.value(at)), at + 1)),
            _ => None,
        }) else {
            return false;
        };
        // `with "crash" in the title`, `says "x" in a comment`
        let mut after = self.skip(end, &[Class::In, Class::At]);
        let begins_place = after > end;
        after = self.skip(after, &[Class::Its, Class::Article]);
        if begins_place && let Some((found, stop)) = self.text_place(after) {
            place = Some(found);
            end = stop;
        }
        let holds = self.is_any(start, &[Class::With, Class::Without]) && holds_nouns(draft);
        let is_text = says || place.is_some() || holds;
        if !is_text || (place.is_none() && self.is_path(from) && !says) {
            return false;
        }
        if place.is_none()
            && says
            && draft
                .nouns
                .iter()
                .any(|noun| noun.nouns.contains(&Noun::File))
        {
            return false;
        }
        if place.is_none() && self.is(verb, Class::Matching) {
            return false;
        }
        // `starting with`: the position of the string matters.
        let begins = says
            && self.unit(verb).is_some_and(|unit| {
                unit.text.starts_with("start") || unit.text.starts_with("begin")
            });
        let field = match place {
            Some(TextPlace::Title) => Some(Field::Title),
            Some(TextPlace::Comment | TextPlace::Body) | None if holds_nouns(draft) => {
                Some(Field::Comment)
            }
            Some(_) | None => None,
        };
        let kind = match field.filter(|_| begins) {
            Some(field) => Mod::Test(field, Op::Begins, texts),
            None => Mod::Text(place, texts),
        };
        self.push_mod(draft, kind, start..end);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated |= negated;
        }
        true
    }

    pub(crate) fn text_place(&self, at: usize) -> Option<(TextPlace, usize)> {
        let place = match self.part(at) {
            Some(Part::Title) => TextPlace::Title,
            Some(Part::Body) => TextPlace::Body,
            _ if self.unit(at).is_some_and(|unit| {
                matches!(unit.text.as_str(), "text" | "content" | "contents")
            }) =>
            {
                TextPlace::Comment
            }
            _ if self
                .unit(at)
                .is_some_and(|unit| matches!(unit.text.as_str(), "message" | "commit message")) =>
            {
                TextPlace::Message
            }
            _ if self.has_noun(at, Noun::Commit) && self.has_noun(at + 1, Noun::Message) => {
                return Some((TextPlace::Message, at + 2));
            }
            _ => return None,
        };
        let other = self.skip(at + 1, &[Class::Or, Class::And, Class::Its, Class::Article]);
        if other > at + 1
            && matches!(
                (place, self.part(other)),
                (TextPlace::Title, Some(Part::Body)) | (TextPlace::Body, Some(Part::Title))
            )
        {
            return Some((TextPlace::TitleOrBody, other + 1));
        }
        Some((place, at + 1))
    }

    /// A quotation that no other rule reads: a command, or a string in the comment or message.
    pub(crate) fn try_quoted(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let is_command_word = self.kind(at) == Some(TokenKind::Code)
            && self.value(at).starts_with('/')
            && self.value(at).matches('/').count() == 1;
        if self.kind(at) != Some(TokenKind::Quoted) && !is_command_word {
            return false;
        }
        let value = self.value(at);
        let says = draft.verbs.iter().any(|hit| {
            [Verb::Comment, Verb::Post, Verb::Reply]
                .iter()
                .any(|verb| hit.verbs.contains(verb))
        }) || draft.nouns.iter().any(|hit| {
            hit.nouns.iter().any(|noun| {
                matches!(
                    noun,
                    Noun::Comment | Noun::Message | Noun::Reply | Noun::Mention
                )
            })
        });
        let kind = if value.starts_with('/') {
            Mod::Test(Field::Comment, Op::Command, vec![value])
        } else if says {
            Mod::Text(None, vec![value])
        } else {
            return false;
        };
        self.push_mod(draft, kind, at..at + 1);
        true
    }
}

/// Whether the clause is about comments or messages.
fn holds_nouns(draft: &Draft) -> bool {
    draft.nouns.iter().any(|hit| {
        hit.nouns.iter().any(|noun| {
            matches!(
                noun,
                Noun::Message | Noun::Reply | Noun::DirectMessage | Noun::Mention | Noun::Comment
            )
        })
    })
}
