//! Notes for the author about default readings.

use super::subject::{LABEL_BY_ID, Subject};
use crate::filter::Mark;
use crate::grammar::draft::{Draft, Mod};
use crate::grammar::reader::Reader;
use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

/// Whether the line names the repository as the place.
fn names_repository(reader: &Reader<'_>) -> bool {
    let mut units = reader.units.iter();
    units.any(|unit| {
        let mut words = unit.text.split(' ');
        unit.is_word() && words.any(|word| matches!(word, "repository" | "repo"))
    })
}

pub(super) fn narrow_sources(reader: &Reader<'_>, draft: &Draft, subject: &mut Subject) {
    let names_channel = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel | Field::ChannelId, _)));
    if names_channel {
        subject.sources.retain(|source| *source == Source::Slack);
    }
    let of_repository = subject.noun == Noun::RepositoryLabel || subject.noun == Noun::IssueLabel;
    if draft.sources.is_empty() && of_repository && names_repository(reader) {
        subject.sources.retain(|source| *source == Source::Github);
        return;
    }
    if draft.sources.is_empty() {
        let is_shared = matches!(subject.noun, Noun::Issue | Noun::Comment);
        subject
            .sources
            .retain(|source| !is_shared || *source != Source::Sentry);
        return;
    }
    subject
        .sources
        .retain(|source| draft.sources.iter().any(|(named, _)| named == source));
}

pub(super) fn note_defaults(reader: &Reader<'_>, draft: &Draft, subject: &mut Subject) {
    let says = |text: &str| {
        let named = draft.nouns.iter().filter_map(|hit| reader.unit(hit.at));
        named.into_iter().any(|unit| unit.text.starts_with(text))
    };
    let is_named = !draft.sources.is_empty();
    let only_changes = draft
        .verbs
        .iter()
        .all(|hit| hit.verbs.contains(&Verb::Change));
    let verb = if subject.verb == Verb::Change && !only_changes {
        Verb::Update
    } else {
        subject.verb
    };
    let says_mr = says("merge request") || says("mr");
    let loses_label = subject.sources.contains(&Source::Linear)
        && subject.extra.iter().any(|filter| {
            filter.test.field() == Field::LabelRemoved && !filter.test.values().is_empty()
        });
    if subject.noun == Noun::Issue && loses_label {
        subject.notes.push(LABEL_BY_ID.to_owned());
        return;
    }
    let note = default_note(subject.noun, verb, is_named, subject.sources.len(), says_mr);
    let Some(note) = note else { return };
    subject.notes.push(note.to_owned());
    if subject.verb != Verb::Merge {
        subject.mark = subject.mark.weaker(Mark::Inferred);
    }
}

/// The note about the default reading of a noun and a verb.
pub(crate) fn default_note(
    noun: Noun,
    verb: Verb,
    is_named: bool,
    n_sources: usize,
    says_merge_request: bool,
) -> Option<&'static str> {
    Some(match noun {
        Noun::PullRequest if says_merge_request => "`merge request` is read as a pull request",
        Noun::PullRequest if verb == Verb::Change => {
            "`changes` is read as new commits, or an edited title, body or base"
        }
        Noun::PullRequest if verb == Verb::Merge && !is_named => {
            "a merge that git shows on the default branch counts as well"
        }
        Noun::Issue if !is_named => "`issue` is read as an issue of GitHub or Linear",
        Noun::Comment if n_sources > 2 && !is_named => {
            "`comment` is read as a comment on GitHub or in Linear"
        }
        Noun::File if !is_named => {
            "changed files are met on the default branch and in pull requests"
        }
        Noun::Alert if !is_named => "`alert` is read as an alert of Sentry",
        _ => return None,
    })
}
