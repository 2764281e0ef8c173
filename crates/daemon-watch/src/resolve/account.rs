//! The account of a resolved clause: hits that gave no filter go to the remainder.

use super::ClauseSet;
use super::subject::Subject;
use crate::grammar::draft::{Draft, Mod};
use crate::grammar::reader::Reader;

/// Releases the words of every modifier, verb value and part value that no subject turned into a filter.
///
/// Each subject skips the hits of other verbs and nouns. A hit is lost if its own verb or noun has no subject:
/// in `a review is submitted with any state other than X approved` the approval absorbs the submission, and
/// the state belonged to the submission.
pub(super) fn release_unused(
    reader: &mut Reader<'_>,
    draft: &Draft,
    subjects: &[&Subject],
    found: &ClauseSet,
) {
    for hit in &draft.mods {
        let is_used = match &hit.kind {
            Mod::Target(names) | Mod::Name(_, names) => has_values(found, names),
            _ => subjects
                .iter()
                .any(|subject| subject.is_narrowed_by(draft, hit)),
        };
        if !is_used {
            reader.release(hit.range.clone());
        }
    }
    for hit in &draft.verbs {
        if !has_values(found, &hit.values) {
            reader.release(hit.range.clone());
        }
    }
    for hit in &draft.parts {
        if !has_values(found, &hit.values) {
            reader.release(hit.range.clone());
        }
    }
}

/// Whether the filters compare with each of the values.
///
/// A team is compared by the name after its organization, the file of a workflow by a glob.
fn has_values(found: &ClauseSet, values: &[String]) -> bool {
    values.iter().all(|value| {
        let name = value.rsplit('/').next().unwrap_or(value);
        found.filters.iter().any(|filter| {
            let mut compared = filter.test.values().iter();
            compared.any(|known| {
                known.eq_ignore_ascii_case(value)
                    || known.eq_ignore_ascii_case(name)
                    || known.strip_prefix("**/") == Some(value)
            })
        })
    })
}
