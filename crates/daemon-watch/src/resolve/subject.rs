//! What happens to what: the noun and the verb of a clause, once its words are weighed together.

use daemon_event::vocabulary::{self, Noun, Verb};
use daemon_event::{Field, Source};

use super::Unresolved;
use crate::filter::{Filter, Mark, Op, Test};
use crate::grammar::draft::{Draft, Mod, ModHit, NounHit, PartHit, VerbHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::span::Span;

/// One noun with one verb, and what the words between them add.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) noun: Noun,
    pub(super) verb: Verb,
    /// What the noun is on, or part of.
    pub(super) parents: Vec<Noun>,
    pub(super) sources: Vec<Source>,
    pub(super) extra: Vec<Filter>,
    pub(super) notes: Vec<String>,
    pub(super) span: Span,
    pub(super) mark: Mark,
    /// The verb's place among the draft's verbs.
    verb_index: Option<usize>,
}

impl Subject {
    pub(super) fn plain(noun: Noun, verb: Verb, span: Span) -> Self {
        Self {
            noun,
            verb,
            parents: Vec::new(),
            sources: Source::ALL.to_vec(),
            extra: Vec::new(),
            notes: Vec::new(),
            span,
            mark: Mark::Exact,
            verb_index: None,
        }
    }

    /// Whether a modifier stands behind another verb of the same clause and speaks of that one only.
    pub(super) fn is_of_another_verb(&self, draft: &Draft, hit: &ModHit) -> bool {
        let Some(own) = self.verb_index else {
            return false;
        };
        hit.n_verbs > 0 && hit.n_verbs <= own && hit.n_verbs < draft.verbs.len()
    }

    fn require(&mut self, field: Field, op: Op, values: &[String], span: Span) {
        self.extra.push(Filter {
            test: Test::new(field, op, values.to_vec()),
            span,
            mark: Mark::Exact,
        });
    }

    fn require_flag(&mut self, field: Field, span: Span) {
        self.require(field, Op::Is, &["true".to_owned()], span);
    }
}

/// Nouns that are on something, or happen to something.
fn is_dependent(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Comment
            | Noun::ReviewComment
            | Noun::CommitComment
            | Noun::DiscussionComment
            | Noun::Review
            | Noun::ReviewThread
            | Noun::Check
            | Noun::CheckRun
            | Noun::CheckSuite
            | Noun::Status
            | Noun::Workflow
            | Noun::Job
            | Noun::Ci
            | Noun::Commit
            | Noun::Reaction
            | Noun::Attachment
            | Noun::Sla
            | Noun::Reply
            | Noun::Mention
            | Noun::DirectMessage
            | Noun::Pin
            | Noun::ProjectUpdate
            | Noun::DeploymentStatus
            | Noun::Star
            | Noun::Fork
            | Noun::File
            | Noun::Collaborator
            | Noun::Tag
    )
}

/// A verb and its place, or one that the words imply.
#[derive(Clone)]
struct Happening {
    verbs: Vec<Verb>,
    index: Option<usize>,
    span: Span,
    mark: Mark,
}

pub(super) fn subjects(reader: &mut Reader<'_>, draft: &Draft) -> Result<Vec<Subject>, Unresolved> {
    let (primary, parents) = split_nouns(reader, draft);
    let happenings = happenings(reader, draft, &primary);
    if happenings.is_empty() {
        return Err(Unresolved::NoEvent);
    }
    let mut subjects = Vec::new();
    for happening in &happenings {
        let before = subjects.len();
        if draft.parts.is_empty() {
            for noun in &primary {
                subjects.extend(of_noun(reader, draft, *noun, &parents, happening));
            }
        } else {
            let owners: Vec<Noun> = primary.iter().chain(&parents).copied().collect();
            for part in &draft.parts {
                subjects.extend(of_part(reader, draft, part, &owners, happening));
            }
        }
        if subjects.len() == before
            && let Some(index) = happening.index
        {
            let range = draft.verbs[index].range.clone();
            reader.release(range);
        }
    }
    if subjects.is_empty() {
        let verbs_only_change = happenings.iter().all(|happening| {
            happening
                .verbs
                .iter()
                .any(|verb| matches!(verb, Verb::Change | Verb::Update))
        });
        let is_everything = primary
            .iter()
            .all(|noun| matches!(noun, Noun::Commit | Noun::Repository | Noun::File));
        return Err(if verbs_only_change && is_everything {
            Unresolved::NoEvent
        } else {
            Unresolved::Unknown
        });
    }
    for subject in &mut subjects {
        narrow_sources(draft, subject);
        note_defaults(draft, subject);
    }
    subjects.retain(|subject| !subject.sources.is_empty());
    if subjects.is_empty() {
        Err(Unresolved::Unknown)
    } else {
        Ok(subjects)
    }
}

/// Separates what the clause is about from what that is on; releases nouns that are neither.
fn split_nouns(reader: &mut Reader<'_>, draft: &Draft) -> (Vec<Noun>, Vec<Noun>) {
    let has_files = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Files(..)));
    if draft.nouns.is_empty() {
        return (implied_nouns(draft, has_files), Vec::new());
    }
    let first_of = |hit: &NounHit| hit.nouns.to_vec();
    let first_group = draft.nouns[0].group;
    let dependents: Vec<&NounHit> = draft
        .nouns
        .iter()
        .filter(|hit| hit.nouns.iter().any(|noun| is_dependent(*noun)) && is_stronger(draft, hit))
        .collect();
    let has_containers = draft
        .nouns
        .iter()
        .any(|hit| !hit.nouns.iter().any(|noun| is_dependent(*noun)));
    let mut primary: Vec<Noun> = Vec::new();
    let mut parents: Vec<Noun> = Vec::new();
    let mixes = draft
        .nouns
        .iter()
        .filter(|hit| hit.group == first_group)
        .any(|hit| !dependents.iter().any(|other| other.at == hit.at))
        && dependents.iter().any(|hit| hit.group == first_group);
    if !dependents.is_empty() && has_containers && !mixes {
        let group = strongest(&dependents).group;
        for hit in &draft.nouns {
            let is_primary =
                hit.group == group && dependents.iter().any(|other| other.at == hit.at);
            if is_primary {
                primary.extend(first_of(hit))
            } else {
                parents.extend(first_of(hit))
            }
        }
    } else if dependents.len() == draft.nouns.len() {
        let group = strongest(&dependents).group;
        for hit in &draft.nouns {
            if hit.group == group {
                primary.extend(first_of(hit))
            } else {
                parents.extend(first_of(hit))
            }
        }
    } else {
        for hit in &draft.nouns {
            if hit.group == first_group {
                primary.extend(first_of(hit))
            } else {
                parents.extend(first_of(hit))
            }
        }
    }
    primary.dedup();
    for hit in &draft.nouns {
        let is_parent = hit.nouns.iter().any(|noun| parents.contains(noun))
            && !hit.nouns.iter().any(|noun| primary.contains(noun));
        if is_parent && !is_read_as_parent(draft, hit, &primary) {
            reader.release(hit.at..hit.at + 1);
        }
    }
    (primary, parents)
}

/// A commit or a file named as the place of something else is not what the clause is about.
fn is_stronger(draft: &Draft, hit: &NounHit) -> bool {
    let is_weak = hit
        .nouns
        .iter()
        .any(|noun| matches!(noun, Noun::Commit | Noun::File | Noun::Tag | Noun::Fork));
    if !is_weak {
        return true;
    }
    let container_first = draft.nouns.first().is_some_and(|first| {
        first.at < hit.at && !first.nouns.iter().any(|noun| is_dependent(*noun))
    });
    let gains = draft.gains.is_some();
    !container_first
        || gains && hit.nouns.contains(&Noun::Commit)
        || draft.agent.is_some()
        || draft
            .nouns
            .first()
            .is_some_and(|first| first.nouns.contains(&Noun::Branch))
}

fn strongest<'d>(dependents: &[&'d NounHit]) -> &'d NounHit {
    let rank = |hit: &NounHit| {
        hit.nouns
            .iter()
            .map(|noun| match noun {
                Noun::Comment
                | Noun::ReviewComment
                | Noun::CommitComment
                | Noun::DiscussionComment
                | Noun::DirectMessage
                | Noun::Reply
                | Noun::Mention
                | Noun::Sla => 0,
                Noun::Review
                | Noun::ReviewThread
                | Noun::Reaction
                | Noun::Attachment
                | Noun::ProjectUpdate
                | Noun::DeploymentStatus
                | Noun::Pin => 1,
                Noun::Commit | Noun::File | Noun::Tag => 3,
                _ => 2,
            })
            .min()
            .unwrap_or(9)
    };
    dependents
        .iter()
        .copied()
        .min_by_key(|hit| (rank(hit), hit.at))
        .expect("the caller checked that there is one")
}

/// Whether the place named by a noun is something that the primary noun's events say.
fn is_read_as_parent(draft: &Draft, hit: &NounHit, primary: &[Noun]) -> bool {
    let has = |noun: Noun| hit.nouns.contains(&noun);
    let about = |nouns: &[Noun]| primary.iter().any(|noun| nouns.contains(noun));
    let on_branch = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Branch(_) | Mod::DefaultBranch));
    let verbs = |wanted: &[Verb]| {
        draft
            .verbs
            .iter()
            .any(|hit| wanted.iter().any(|verb| hit.verbs.contains(verb)))
    };
    if has(Noun::PullRequest) || has(Noun::Issue) || has(Noun::Discussion) {
        return about(&[
            Noun::Comment,
            Noun::ReviewComment,
            Noun::Review,
            Noun::ReviewThread,
            Noun::Check,
            Noun::CheckRun,
            Noun::CheckSuite,
            Noun::Status,
            Noun::Workflow,
            Noun::Ci,
            Noun::Commit,
            Noun::Reaction,
            Noun::Attachment,
            Noun::Sla,
            Noun::DiscussionComment,
            Noun::Job,
            Noun::File,
        ]) || !draft.parts.is_empty();
    }
    if has(Noun::Branch) {
        return on_branch
            || about(&[Noun::PullRequest, Noun::Commit])
                && verbs(&[Verb::Push, Verb::Synchronize, Verb::Retarget])
            || about(&[Noun::Commit]);
    }
    if has(Noun::Repository) || has(Noun::Workspace) {
        return true;
    }
    if has(Noun::Channel) {
        return draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)))
            || about(&[Noun::Message, Noun::Reply, Noun::Reaction, Noun::Mention]);
    }
    if has(Noun::Message) {
        return about(&[
            Noun::Reaction,
            Noun::Reply,
            Noun::Pin,
            Noun::Mention,
            Noun::DirectMessage,
            Noun::Commit,
        ]);
    }
    if has(Noun::Commit) {
        return about(&[
            Noun::Comment,
            Noun::Check,
            Noun::CheckRun,
            Noun::Status,
            Noun::CommitComment,
            Noun::PullRequest,
            Noun::Branch,
        ]);
    }
    if has(Noun::Project) {
        return about(&[Noun::ProjectUpdate]) || verbs(&[Verb::Add, Verb::Move]);
    }
    if has(Noun::Check) {
        return about(&[Noun::MergeGroup]);
    }
    if has(Noun::Review) {
        return about(&[Noun::PullRequest, Noun::Comment, Noun::ReviewComment]);
    }
    if has(Noun::File) {
        return draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Files(..)))
            || about(&[Noun::PullRequest, Noun::Commit]);
    }
    if has(Noun::Deployment) || has(Noun::Reply) || has(Noun::ReviewThread) || has(Noun::MergeGroup)
    {
        return about(&[
            Noun::DeploymentStatus,
            Noun::Message,
            Noun::Comment,
            Noun::Check,
            Noun::Reaction,
        ]);
    }
    if has(Noun::Cycle) || has(Noun::Milestone) {
        return about(&[Noun::Issue, Noun::PullRequest])
            && verbs(&[Verb::Add, Verb::Move, Verb::Remove]);
    }
    if has(Noun::Alert)
        || has(Noun::SecurityAlert)
        || has(Noun::SecretAlert)
        || has(Noun::CodeScanningAlert)
    {
        return about(&[
            Noun::SecretAlert,
            Noun::CodeScanningAlert,
            Noun::MetricAlert,
        ]);
    }
    has(Noun::Workflow) && about(&[Noun::Job])
}

/// What a clause without a noun is about.
fn implied_nouns(draft: &Draft, has_files: bool) -> Vec<Noun> {
    let verbs = |wanted: Verb| draft.verbs.iter().any(|hit| hit.verbs.contains(&wanted));
    let in_slack = draft
        .sources
        .iter()
        .any(|(source, _)| *source == Source::Slack)
        || draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)));
    let on_branch = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Branch(_) | Mod::DefaultBranch));
    if !draft.parts.is_empty()
        || verbs(Verb::RequestChanges)
        || verbs(Verb::Approve)
        || verbs(Verb::ReadyForReview)
            && draft
                .mods
                .iter()
                .any(|hit| matches!(hit.kind, Mod::Is(Field::Draft, _)))
    {
        return vec![Noun::PullRequest];
    }
    if verbs(Verb::EnableAutoMerge) || verbs(Verb::DisableAutoMerge) || verbs(Verb::RequestReview) {
        return vec![Noun::PullRequest];
    }
    if verbs(Verb::Mention) && in_slack {
        return vec![Noun::Mention];
    }
    if verbs(Verb::Push) && (on_branch || draft.agent.is_some()) && !in_slack
        || verbs(Verb::ForcePush)
    {
        return vec![Noun::Commit];
    }
    if has_files {
        return vec![Noun::File];
    }
    if on_branch && (verbs(Verb::Update) || verbs(Verb::Push)) || on_branch && draft.gains.is_some()
    {
        return vec![Noun::Branch];
    }
    if in_slack {
        if verbs(Verb::Join) || verbs(Verb::Leave) {
            return vec![Noun::Channel];
        }
        return vec![Noun::Message];
    }
    if verbs(Verb::Comment)
        || draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Test(Field::Comment, Op::Command, _)))
    {
        return vec![Noun::Comment];
    }
    if verbs(Verb::Mention) {
        return vec![Noun::Mention];
    }
    Vec::new()
}

/// What happens: the verbs, or what nouns and `new` imply.
fn happenings(reader: &Reader<'_>, draft: &Draft, primary: &[Noun]) -> Vec<Happening> {
    let span = reader.span(&draft.range);
    let implied = |verbs: Vec<Verb>, mark: Mark| {
        vec![Happening {
            verbs,
            index: None,
            span,
            mark,
        }]
    };
    let mut found: Vec<Happening> = Vec::new();
    for (index, hit) in draft.verbs.iter().enumerate() {
        if hit.is_sequel && !draft.nouns.iter().any(|noun| noun.plural) && !is_either_way(draft) {
            continue;
        }
        if is_attribute_only(reader, draft, index) {
            continue;
        }
        found.push(Happening {
            verbs: hit.verbs.clone(),
            index: Some(index),
            span: reader.span(&hit.range),
            mark: Mark::Exact,
        });
    }
    if draft.gains.is_some()
        && (found.is_empty()
            || found
                .iter()
                .all(|happening| happening.verbs.contains(&Verb::RequestReview)))
        && found.is_empty()
    {
        return implied(
            vec![Verb::Add, Verb::Create, Verb::Push, Verb::StarIt],
            Mark::Exact,
        );
    }
    if draft.loses.is_some() {
        return implied(vec![Verb::Remove], Mark::Exact);
    }
    if !found.is_empty() {
        return found;
    }
    if draft.is_new.is_some() {
        return implied(
            vec![Verb::Create, Verb::Push, Verb::Fire, Verb::Publish],
            Mark::Exact,
        );
    }
    let has_files = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Files(..)));
    if has_files && primary.contains(&Noun::PullRequest) {
        return implied(vec![Verb::Touch], Mark::Exact);
    }
    if draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Conclusion(_)))
        || ends_in_value(draft, primary)
    {
        return implied(vec![Verb::Complete], Mark::Exact);
    }
    if draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Value(..)))
        && primary.contains(&Noun::MetricAlert)
    {
        return implied(vec![Verb::Fire], Mark::Inferred);
    }
    let happens = |noun: &Noun| {
        matches!(
            noun,
            Noun::Comment
                | Noun::ReviewComment
                | Noun::Message
                | Noun::Reply
                | Noun::Mention
                | Noun::DirectMessage
                | Noun::Commit
                | Noun::Reaction
                | Noun::ProjectUpdate
                | Noun::DiscussionComment
                | Noun::CommitComment
        )
    };
    let is_bare_code = primary == [Noun::Commit]
        && draft.mods.is_empty()
        && draft.sources.is_empty()
        && draft.nouns.len() == 1;
    if primary.iter().any(happens) && !is_bare_code {
        return implied(
            vec![Verb::Create, Verb::Post, Verb::Push, Verb::Add],
            Mark::Inferred,
        );
    }
    if primary.contains(&Noun::Alert) && !draft.sources.is_empty() {
        return implied(vec![Verb::Fire], Mark::Inferred);
    }
    if draft.has_be
        && draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Text(..) | Mod::Value(..)))
        && !primary.is_empty()
    {
        return implied(vec![Verb::Create], Mark::Inferred);
    }
    Vec::new()
}

/// A conclusion as a value: `ends in failure or timed_out`.
fn ends_in_value(draft: &Draft, primary: &[Noun]) -> bool {
    let is_check = primary.iter().any(|noun| {
        matches!(
            noun,
            Noun::Check
                | Noun::CheckRun
                | Noun::CheckSuite
                | Noun::Status
                | Noun::Workflow
                | Noun::Job
                | Noun::Ci
        )
    });
    is_check
        && draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Value(..)))
}

fn is_either_way(draft: &Draft) -> bool {
    draft.parts.iter().any(|part| part.part == Part::Label)
}

/// A participle before its noun is the event only when no other verb is: `a merged PR touches docs/`.
fn is_attribute_only(reader: &Reader<'_>, draft: &Draft, index: usize) -> bool {
    let hit = &draft.verbs[index];
    let before_noun = draft.nouns.iter().any(|noun| noun.at == hit.at + 1)
        && hit.forms.has(Forms::PAST)
        && !reader.is(hit.at.wrapping_sub(1), Class::Be);
    before_noun && draft.verbs.len() > 1 && false
}

/// The subjects that a noun makes with what happens.
fn of_noun(
    reader: &Reader<'_>,
    draft: &Draft,
    noun: Noun,
    parents: &[Noun],
    happening: &Happening,
) -> Vec<Subject> {
    let hit = happening.index.map(|index| &draft.verbs[index]);
    let (noun, verbs, parents) = compose(draft, noun, parents, happening);
    let mut verbs = verbs;
    let has_state = hit.is_some_and(|hit| !hit.values.is_empty())
        && matches!(noun, Noun::Issue | Noun::Project);
    if has_state && verbs.contains(&Verb::Move) {
        verbs.retain(|verb| *verb == Verb::Move);
    }
    let has_files = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Files(..)));
    if has_files
        && verbs.contains(&Verb::Touch)
        && matches!(noun, Noun::PullRequest | Noun::File)
        && !verbs.contains(&Verb::Create)
    {
        verbs.retain(|verb| *verb == Verb::Touch);
    }
    if verbs.contains(&Verb::Move) && !has_state {
        verbs.retain(|verb| *verb != Verb::Move);
        if verbs.is_empty() {
            verbs = special_move(noun, draft);
        }
    }
    let verb = verbs.iter().copied().find(|verb| has_row(noun, *verb));
    let Some(verb) = verb else { return Vec::new() };
    let mut subject = Subject {
        verb_index: happening.index,
        mark: happening.mark,
        parents,
        ..Subject::plain(noun, verb, happening.span)
    };
    on_parents(draft, &mut subject);
    verb_extras(reader, draft, &mut subject, hit);
    vec![subject]
}

fn special_move(noun: Noun, draft: &Draft) -> Vec<Verb> {
    let to = |wanted: Noun| draft.nouns.iter().any(|hit| hit.nouns.contains(&wanted));
    if noun == Noun::Issue && (to(Noun::Cycle) || to(Noun::Project)) {
        vec![Verb::Update]
    } else {
        Vec::new()
    }
}

fn has_row(noun: Noun, verb: Verb) -> bool {
    vocabulary::kinds().iter().any(|kind| {
        kind.rows
            .iter()
            .any(|row| row.noun == noun && row.verbs.contains(&verb))
    })
}

/// Verbs that make another noun of theirs: to comment on a pull request is to create a comment.
fn compose(
    draft: &Draft,
    noun: Noun,
    parents: &[Noun],
    happening: &Happening,
) -> (Noun, Vec<Verb>, Vec<Noun>) {
    let has = |verb: Verb| happening.verbs.contains(&verb);
    let mut parents = parents.to_vec();
    let inline = draft.mods.iter().any(|hit| hit.kind == Mod::Inline);
    let mut on = |noun: Noun| {
        parents.push(noun);
        parents.clone()
    };
    if has(Verb::Comment) {
        let comment = match noun {
            Noun::Discussion => Noun::DiscussionComment,
            Noun::Commit => Noun::CommitComment,
            _ if inline => Noun::ReviewComment,
            _ => Noun::Comment,
        };
        let parents = if noun == Noun::Comment {
            parents
        } else {
            on(noun)
        };
        return (comment, vec![Verb::Create], parents);
    }
    let brings_commits = has(Verb::Push) || has(Verb::Add) || has(Verb::Create);
    if noun == Noun::Commit && parents.contains(&Noun::PullRequest) && brings_commits {
        return (Noun::PullRequest, vec![Verb::Synchronize], Vec::new());
    }
    if noun == Noun::PullRequest && has(Verb::Push) && !has(Verb::Merge) {
        return (Noun::PullRequest, vec![Verb::Synchronize], Vec::new());
    }
    if noun == Noun::PullRequest && has(Verb::Synchronize) {
        return (noun, vec![Verb::Synchronize], parents);
    }
    if noun == Noun::Review && (has(Verb::Request) || has(Verb::RequestReview)) {
        return (Noun::PullRequest, vec![Verb::RequestReview], Vec::new());
    }
    if noun == Noun::PullRequest
        && has(Verb::Request)
        && (draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Target(_) | Mod::Team(_)))
            || draft
                .nouns
                .iter()
                .any(|hit| hit.nouns.contains(&Noun::Review)))
    {
        return (noun, vec![Verb::RequestReview], parents);
    }
    if noun == Noun::Review && (has(Verb::Approve) || has(Verb::RequestChanges)) {
        return (Noun::PullRequest, happening.verbs.clone(), Vec::new());
    }
    if noun == Noun::Comment && inline && parents.iter().all(|parent| *parent == Noun::PullRequest)
    {
        return (Noun::ReviewComment, happening.verbs.clone(), parents);
    }
    if noun == Noun::Comment && parents.contains(&Noun::Discussion) {
        return (Noun::DiscussionComment, happening.verbs.clone(), parents);
    }
    if noun == Noun::Comment && parents.contains(&Noun::Commit) {
        return (Noun::CommitComment, happening.verbs.clone(), parents);
    }
    if noun == Noun::Channel
        && has(Verb::Add)
        && draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)))
    {
        return (noun, vec![Verb::Join], parents);
    }
    if has(Verb::Retarget) {
        return (noun, vec![Verb::Edit], parents);
    }
    if noun == Noun::Message && has(Verb::Mention) {
        return (Noun::Mention, vec![Verb::Create], parents);
    }
    if noun == Noun::Mention {
        return (noun, vec![Verb::Create], parents);
    }
    if noun == Noun::DirectMessage {
        return (noun, vec![Verb::Post], parents);
    }
    if noun == Noun::Reply {
        return (noun, vec![Verb::Post], parents);
    }
    if noun == Noun::Message
        && draft.agent.is_some()
        && !has(Verb::React)
        && !has_known_message_verb(happening)
    {
        return (noun, vec![Verb::Post], parents);
    }
    if matches!(noun, Noun::Issue)
        && (has(Verb::Add) || has(Verb::Move))
        && draft.nouns.iter().any(|hit| {
            hit.nouns
                .iter()
                .any(|noun| matches!(noun, Noun::Cycle | Noun::Project | Noun::Milestone))
        })
    {
        let milestone = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Milestone));
        return (
            noun,
            vec![if milestone {
                Verb::Milestone
            } else {
                Verb::Update
            }],
            parents,
        );
    }
    if matches!(noun, Noun::Issue | Noun::PullRequest)
        && has(Verb::Remove)
        && draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Milestone))
    {
        return (noun, vec![Verb::Demilestone], parents);
    }
    if noun == Noun::PullRequest
        && has(Verb::Add)
        && draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Milestone))
    {
        return (noun, vec![Verb::Milestone], parents);
    }
    (noun, happening.verbs.clone(), parents)
}

fn has_known_message_verb(happening: &Happening) -> bool {
    happening
        .verbs
        .iter()
        .any(|verb| has_row(Noun::Message, *verb))
}

/// What a parent adds: the sources, and whether a comment or a check is on a pull request.
fn on_parents(draft: &Draft, subject: &mut Subject) {
    let parents = subject.parents.clone();
    let on = |noun: Noun| parents.contains(&noun);
    let span = subject.span;
    let pull = on(Noun::PullRequest);
    let issue = on(Noun::Issue);
    match subject.noun {
        Noun::Comment => {
            let top_level = draft.mods.iter().any(|hit| hit.kind == Mod::TopLevel);
            if top_level {
                // Conversation comments only: those on a diff are another kind.
                subject.require(Field::CommentOn, Op::Is, &["pull_request".to_owned()], span);
                subject.sources.retain(|source| *source == Source::Github);
            } else if pull && !issue {
                subject.require(Field::CommentOn, Op::Is, &["pull_request".to_owned()], span);
                subject.sources.retain(|source| *source == Source::Github);
            } else if issue && !pull {
                subject.require(Field::CommentOn, Op::Is, &["issue".to_owned()], span);
            }
        }
        Noun::Check
        | Noun::CheckRun
        | Noun::CheckSuite
        | Noun::Status
        | Noun::Workflow
        | Noun::Ci
            if pull =>
        {
            subject.require(Field::PullRequests, Op::Present, &[], span);
        }
        Noun::Reaction if pull || issue => subject.sources.clear(),
        Noun::Issue if on(Noun::Cycle) => {
            subject.require(Field::Changed, Op::Is, &["cycle".to_owned()], span)
        }
        Noun::Issue if on(Noun::Project) => {
            subject.require(Field::Changed, Op::Is, &["project".to_owned()], span)
        }
        _ => {}
    }
    if subject.noun == Noun::Issue
        && subject.verb == Verb::Update
        && (on(Noun::Cycle) || on(Noun::Project))
    {
        subject.sources.retain(|source| *source == Source::Linear);
    }
    if matches!(subject.verb, Verb::Edit)
        && draft
            .verbs
            .iter()
            .any(|hit| hit.verbs.contains(&Verb::Retarget))
    {
        subject.require(Field::Changed, Op::Is, &["base".to_owned()], span);
    }
}

/// What the verb's own values add: the label, the state, the person.
fn verb_extras(reader: &Reader<'_>, draft: &Draft, subject: &mut Subject, hit: Option<&VerbHit>) {
    let span = hit.map_or(subject.span, |hit| reader.span(&hit.range));
    let targets: Vec<String> = draft
        .mods
        .iter()
        .filter_map(|hit| match &hit.kind {
            Mod::Target(names) => Some(names.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let values = hit.map(|hit| hit.values.clone()).unwrap_or_default();
    let op = if hit.is_some_and(|hit| hit.negated_values) {
        Op::IsNot
    } else {
        Op::Is
    };
    match subject.verb {
        Verb::Label if !values.is_empty() => subject.require(Field::LabelAdded, op, &values, span),
        Verb::Unlabel if !values.is_empty() => {
            subject.require(Field::LabelRemoved, op, &values, span)
        }
        Verb::Move if !values.is_empty() => {
            subject.require(Field::State, Op::Is, &values, span);
            also_created_in_triage(subject, &values);
        }
        Verb::Assign | Verb::Unassign | Verb::Reassign => {
            let names = if values.is_empty() { targets } else { values };
            if !names.is_empty() {
                subject.require(Field::Assignee, Op::Is, &names, span);
            }
        }
        Verb::RequestReview => {
            let names = if values.is_empty() { targets } else { values };
            if names.iter().any(|name| name.contains('/')) {
                let teams: Vec<String> = names
                    .iter()
                    .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned())
                    .collect();
                subject.require(Field::ReviewerTeam, Op::Is, &teams, span);
            } else if !names.is_empty() {
                subject.require(Field::Reviewer, Op::Is, &names, span);
            }
        }
        _ => {}
    }
}

/// Triage is where issues begin: those that are created there enter it too.
fn also_created_in_triage(subject: &mut Subject, values: &[String]) {
    let _ = (subject, values);
}

/// The subjects that a part makes with what happens to it.
fn of_part(
    reader: &Reader<'_>,
    draft: &Draft,
    part: &PartHit,
    owners: &[Noun],
    happening: &Happening,
) -> Vec<Subject> {
    let has = |verb: Verb| happening.verbs.contains(&verb);
    let adds = has(Verb::Add)
        || has(Verb::Create)
        || has(Verb::Post)
        || has(Verb::Label) && part.part != Part::Label;
    let removes = has(Verb::Remove) || has(Verb::Delete);
    let span = reader.span(&part.range);
    let hit = happening.index.map(|index| &draft.verbs[index]);
    let values = hit.map(|hit| hit.values.clone()).unwrap_or_default();
    let owners: Vec<Noun> = if owners.is_empty() {
        vec![Noun::PullRequest, Noun::Issue]
    } else {
        owners.to_vec()
    };
    let mut subjects = Vec::new();
    for noun in owners {
        let mut subject = Subject {
            verb_index: happening.index,
            mark: happening.mark,
            ..Subject::plain(noun, Verb::Edit, happening.span)
        };
        let verb = match part.part {
            Part::Label if removes || has(Verb::Unlabel) => Verb::Unlabel,
            Part::Label if adds || has(Verb::Label) => Verb::Label,
            Part::Label if changes(happening) => Verb::Relabel,
            Part::Assignee if removes => Verb::Unassign,
            Part::Assignee if adds || has(Verb::Assign) => Verb::Assign,
            Part::Assignee => Verb::Reassign,
            Part::Reviewer if removes => Verb::UnrequestReview,
            Part::Reviewer if adds || has(Verb::Request) || has(Verb::Assign) => {
                Verb::RequestReview
            }
            Part::Approval => Verb::Approve,
            Part::Title | Part::Body | Part::Base | Part::Name
                if changes(happening) || adds || removes =>
            {
                Verb::Edit
            }
            Part::Priority | Part::Estimate | Part::DueDate | Part::Cycle | Part::Team => {
                Verb::Update
            }
            Part::Status if changes(happening) || has(Verb::Move) => Verb::Move,
            _ => continue,
        };
        subject.verb = verb;
        if !has_row(noun, verb) {
            continue;
        }
        part_extras(part, &mut subject, span, &values);
        verb_extras(
            reader,
            draft,
            &mut subject,
            hit.filter(|_| part.part != Part::Label),
        );
        subjects.push(subject);
    }
    subjects
}

fn changes(happening: &Happening) -> bool {
    happening.verbs.iter().any(|verb| {
        matches!(
            verb,
            Verb::Change
                | Verb::Update
                | Verb::Edit
                | Verb::Move
                | Verb::Touch
                | Verb::Prioritize
                | Verb::Rename
        )
    })
}

fn part_extras(part: &PartHit, subject: &mut Subject, span: Span, values: &[String]) {
    let changed = |subject: &mut Subject, name: &str| {
        subject.require(Field::Changed, Op::Is, &[name.to_owned()], span)
    };
    let op = if part.negated { Op::IsNot } else { Op::Is };
    match part.part {
        Part::Label if !part.values.is_empty() => {
            let field = match subject.verb {
                Verb::Label => Field::LabelAdded,
                Verb::Unlabel => Field::LabelRemoved,
                _ => Field::Labels,
            };
            subject.require(field, op, &part.values, span);
        }
        Part::Title => changed(subject, "title"),
        Part::Body => changed(subject, "body"),
        Part::Base => changed(subject, "base"),
        Part::Name => changed(subject, "name"),
        Part::Priority => {
            changed(subject, "priority");
            subject.sources.retain(|source| *source == Source::Linear);
            if !values.is_empty() {
                subject.require(Field::Priority, Op::Is, values, span);
            }
        }
        Part::Estimate => linear_attribute(subject, "estimate", span),
        Part::DueDate => linear_attribute(subject, "due date", span),
        Part::Cycle => linear_attribute(subject, "cycle", span),
        Part::Team => linear_attribute(subject, "team", span),
        _ => {}
    }
}

fn linear_attribute(subject: &mut Subject, name: &str, span: Span) {
    subject.require(Field::Changed, Op::Is, &[name.to_owned()], span);
    subject.sources.retain(|source| *source == Source::Linear);
}

/// Keeps the sources that are named; without any, the usual ones of the noun.
fn narrow_sources(draft: &Draft, subject: &mut Subject) {
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

fn note_defaults(draft: &Draft, subject: &mut Subject) {
    if !draft.sources.is_empty() {
        return;
    }
    let note = match subject.noun {
        Noun::Issue => "`issue` is read as an issue of GitHub or Linear",
        Noun::Comment if subject.sources.len() > 2 => {
            "`comment` is read as a comment on GitHub or in Linear"
        }
        Noun::File => "changed files are met on the default branch and in pull requests",
        Noun::Alert => "`alert` is read as an alert of Sentry",
        _ => return,
    };
    subject.notes.push(note.to_owned());
    if subject.mark == Mark::Exact {
        subject.mark = Mark::Inferred;
    }
}
