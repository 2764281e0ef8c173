//! Idioms for verbs of the vocabulary: `goes up`, `makes it into`, `sends in`.

use std::collections::HashMap;
use std::sync::LazyLock;

use daemon_event::vocabulary::{Noun, Verb};

use crate::lexicon::Forms;
use crate::lexicon::inflect::verb_forms;

/// The construction of an idiom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// The thing is the subject: `a pull request comes in`.
    Itself,
    /// The thing is the subject, and a branch follows: `commits reach main`.
    Onto,
    /// The thing is the object or a passive subject: `sends in a pull request`, `a branch is cut`.
    Done,
}

/// Phrases for one verb of some nouns.
#[derive(Debug)]
pub(super) struct Idiom {
    pub(super) nouns: &'static [Noun],
    pub(super) verb: Verb,
    pub(super) voice: Voice,
    /// The edited part, if the phrase names it.
    pub(super) changed: Option<&'static str>,
    phrases: &'static str,
}

const fn idiom(nouns: &'static [Noun], verb: Verb, voice: Voice, phrases: &'static str) -> Idiom {
    Idiom {
        nouns,
        verb,
        voice,
        changed: None,
        phrases,
    }
}

const WRITTEN: &[Noun] = &[
    Noun::PullRequest,
    Noun::Issue,
    Noun::Comment,
    Noun::ReviewComment,
    Noun::CommitComment,
    Noun::DiscussionComment,
    Noun::Review,
    Noun::Discussion,
];
const COMMENTS: &[Noun] = &[
    Noun::Comment,
    Noun::ReviewComment,
    Noun::CommitComment,
    Noun::DiscussionComment,
    Noun::Review,
];
const PULL: &[Noun] = &[Noun::PullRequest];
const REFS: &[Noun] = &[Noun::Branch, Noun::Tag];

/// Infinitives, by their meaning.
static IDIOMS: &[Idiom] = &[
    idiom(
        WRITTEN,
        Verb::Create,
        Voice::Itself,
        "arrive | come in | come up | show up | turn up | pop up | appear | roll in | go up | emerge | \
         spring up | come along | come through | come our way | drop in | trickle in | flow in | \
         get in touch | hit the repository | hit the repo | hit the tracker | hit the queue | \
         hit the inbox | reach us | reach the repository | reach the repo | enter the queue",
    ),
    idiom(
        &[
            Noun::Issue,
            Noun::Comment,
            Noun::ReviewComment,
            Noun::CommitComment,
            Noun::DiscussionComment,
            Noun::Review,
            Noun::Discussion,
        ],
        Verb::Create,
        Voice::Itself,
        "land | drop | get in | go in",
    ),
    idiom(
        REFS,
        Verb::Create,
        Voice::Itself,
        "arrive | come in | show up | turn up | pop up | appear | emerge | spring up | come up | \
         come into being | come into existence",
    ),
    idiom(
        REFS,
        Verb::Delete,
        Voice::Itself,
        "disappear | go away | vanish",
    ),
    idiom(
        &[Noun::Release],
        Verb::Publish,
        Voice::Itself,
        "come out | go out | go live | go public | land | arrive | drop | ship | appear | show up | \
         become available | become public | see the light of day | hit the shelves",
    ),
    idiom(
        &[Noun::Commit],
        Verb::Push,
        Voice::Itself,
        "arrive | come in | show up | turn up | pop up | appear | roll in | go up | land | go in | get in",
    ),
    idiom(
        &[Noun::Commit],
        Verb::Push,
        Voice::Onto,
        "reach | hit | enter | make it to | make it into | make it onto | make their way to | \
         make their way into | make its way to | make its way into | get to | get into | go to | go into | \
         end up on | end up in | land in",
    ),
    idiom(
        PULL,
        Verb::Merge,
        Voice::Onto,
        "reach | hit | make it to | make it into | make it onto | make its way into | make its way to | \
         get into | go into | end up on | end up in",
    ),
    idiom(
        PULL,
        Verb::Reopen,
        Voice::Itself,
        "come back to life | come back from the dead",
    ),
    idiom(
        &[Noun::Issue],
        Verb::Reopen,
        Voice::Itself,
        "come back to life | come back from the dead",
    ),
    idiom(
        PULL,
        Verb::ReadyForReview,
        Voice::Itself,
        "go from draft to ready | go from draft to ready for review | leave the draft stage | \
         leave the draft phase | turn ready | turn ready for review | get ready for review | \
         get ready | graduate from draft | cease to be a draft | lose its draft status | \
         shed its draft status | drop its draft status | go from draft to open",
    ),
    idiom(
        PULL,
        Verb::ConvertToDraft,
        Voice::Itself,
        "revert to draft | revert to a draft | fall back to draft | move back to draft | \
         turn back into a draft | turn into a draft | go into draft | go into draft mode | go to draft | \
         enter draft | enter draft mode | drop back to draft | slip back into draft",
    ),
    idiom(
        PULL,
        Verb::Create,
        Voice::Done,
        "initiate | put up | send in | send | propose | start | make | hand in | post | put forward | throw up | push up | \
         receive | put in | bring | offer",
    ),
    idiom(
        &[Noun::Issue],
        Verb::Create,
        Voice::Done,
        "send in | lodge | post | make | receive | register | start | enter | put in | write | put up | \
         bring up",
    ),
    idiom(
        COMMENTS,
        Verb::Create,
        Voice::Done,
        "drop | make | put | place | send | record | hand in | type | receive | add | leave | \
         pen | log | write | post | submit | offer | share | put in | turn in",
    ),
    idiom(
        &[Noun::Discussion],
        Verb::Create,
        Voice::Done,
        "start | begin | kick off | make | launch | post | open up | get going",
    ),
    idiom(
        &[Noun::Branch],
        Verb::Create,
        Voice::Done,
        "cut | make | start | spin up | fork off | add | branch off | set up | introduce | publish",
    ),
    idiom(
        &[Noun::Tag],
        Verb::Create,
        Voice::Done,
        "cut | make | set | add | place | put | introduce",
    ),
    idiom(
        REFS,
        Verb::Delete,
        Voice::Done,
        "remove | drop | nuke | kill | clean up | prune | wipe | get rid of | take down | throw away | erase",
    ),
    idiom(
        &[Noun::Comment, Noun::ReviewComment, Noun::DiscussionComment],
        Verb::Delete,
        Voice::Done,
        "erase | take down | get rid of | wipe",
    ),
    idiom(
        &[Noun::Release],
        Verb::Publish,
        Voice::Done,
        "make | put out | push out | roll out | drop | announce | ship | cut | bring out | push live | issue | \
         make public | make available",
    ),
    idiom(&[Noun::Release], Verb::Create, Voice::Done, "save | set up"),
    idiom(&[Noun::Fork], Verb::Create, Voice::Done, "make"),
    idiom(
        PULL,
        Verb::Close,
        Voice::Done,
        "abandon | discard | scrap | decline | reject | turn down | throw out | shut",
    ),
    idiom(
        &[Noun::Issue],
        Verb::Close,
        Voice::Done,
        "shut | settle | finish",
    ),
    idiom(
        PULL,
        Verb::Approve,
        Voice::Done,
        "green-light | greenlight | okay | sign off | sign off on | give the green light to | \
         give the thumbs up to | give a thumbs up to | give approval to | wave through",
    ),
    idiom(
        PULL,
        Verb::RequestChanges,
        Voice::Done,
        "send back | send back for changes | send back for rework | send back with changes requested | \
         kick back | bounce | want changes on | demand changes on | want changes to",
    ),
    idiom(
        PULL,
        Verb::Review,
        Voice::Done,
        "finish reviewing | complete a review of | do a review of | complete the review of | go over",
    ),
    idiom(
        PULL,
        Verb::Merge,
        Voice::Done,
        "squash-merge | squash merge | rebase-merge | rebase and merge | squash and merge | merge in",
    ),
    idiom(
        PULL,
        Verb::ReadyForReview,
        Voice::Done,
        "undraft | un-draft | open for review | publish for review | make ready | make ready for review | \
         flip to ready | flip to ready for review | set to ready | set to ready for review | \
         declare ready | declare ready for review | promote from draft | promote out of draft | \
         move to ready for review | switch to ready for review",
    ),
    idiom(
        PULL,
        Verb::ConvertToDraft,
        Voice::Done,
        "put back into draft | put back in draft | set back to draft | set to draft | make a draft | \
         change to draft | change back to draft | change to a draft | change back to a draft | flip to draft | flip back to draft | switch to draft | switch back to draft | redraft | \
         send back to draft | demote to draft | demote to a draft | revert to draft | put into draft | \
         put in draft | move into draft | return to draft | turn back to draft",
    ),
    idiom(
        PULL,
        Verb::Synchronize,
        Voice::Done,
        "push commits to | push new commits to | push more commits to | rebase and push | \
         update by a push | update with a push | update with new commits | amend with new commits",
    ),
    idiom(
        PULL,
        Verb::Dequeue,
        Voice::Itself,
        "fall out of the merge queue | drop out of the merge queue | leave the merge queue |          exit the merge queue | get kicked out of the merge queue | come out of the merge queue |          get thrown out of the merge queue | get bumped from the merge queue",
    ),
    idiom(
        PULL,
        Verb::Enqueue,
        Voice::Itself,
        "enter the merge queue | join the merge queue | go into the merge queue | go in the merge queue |          land in the merge queue | get into the merge queue | line up in the merge queue",
    ),
    idiom(
        &[Noun::Issue],
        Verb::Transfer,
        Voice::Itself,
        "leave for another repo | leave for another repository | move to another repo |          move to another repository | move to a different repository | go to another repository",
    ),
    idiom(
        &[Noun::Release],
        Verb::Prerelease,
        Voice::Done,
        "mark as a prerelease | mark as prerelease | mark as a pre-release | flag as a prerelease |          turn into a prerelease",
    ),
    Idiom {
        nouns: &[Noun::PullRequest, Noun::Issue, Noun::Discussion],
        verb: Verb::Edit,
        voice: Voice::Done,
        changed: Some("title"),
        phrases: "rename | retitle | re-title | reword the title of | give a new title",
    },
    Idiom {
        nouns: PULL,
        verb: Verb::Edit,
        voice: Voice::Done,
        changed: Some("base"),
        phrases: "re-target | point at another branch | point at a different branch | point to another branch | \
                  aim at another branch | redirect to another branch | switch to another base | \
                  move to another base | move to another base branch | retarget",
    },
    Idiom {
        nouns: &[Noun::PullRequest, Noun::Issue],
        verb: Verb::Edit,
        voice: Voice::Itself,
        changed: Some("title"),
        phrases: "get a new title | receive a new title | get a different title | change title | \
                  change its title | change name",
    },
];

/// An inflected phrase of an idiom.
#[derive(Debug)]
struct Phrase {
    words: Vec<String>,
    forms: Forms,
    idiom: &'static Idiom,
}

/// By first word; the longest phrases first.
static PHRASES: LazyLock<HashMap<String, Vec<Phrase>>> = LazyLock::new(|| {
    let mut found: HashMap<String, Vec<Phrase>> = HashMap::new();
    for idiom in IDIOMS {
        for phrase in idiom.phrases.split('|').map(str::trim) {
            for (form, forms) in verb_forms(phrase) {
                let words: Vec<String> = form.split(' ').map(str::to_owned).collect();
                let phrase = Phrase {
                    words,
                    forms,
                    idiom,
                };
                found
                    .entry(phrase.words[0].clone())
                    .or_default()
                    .push(phrase);
            }
        }
    }
    for phrases in found.values_mut() {
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.words.len()));
    }
    found
});

/// Finds the idioms at the beginning of some words, the longest first, with the number of their words.
pub(super) fn idioms(
    words: &[String],
    voices: &'static [Voice],
    forms: Forms,
) -> impl Iterator<Item = (&'static Idiom, usize)> {
    let phrases = words.first().and_then(|first| PHRASES.get(first));
    phrases.into_iter().flatten().filter_map(move |phrase| {
        let stands = voices.contains(&phrase.idiom.voice)
            && phrase.forms.has(forms)
            && phrase.words.len() <= words.len()
            && phrase.words.iter().zip(words).all(|(a, b)| a == b);
        stands.then_some((phrase.idiom, phrase.words.len()))
    })
}
