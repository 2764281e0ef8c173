//! Words that are neither nouns nor verbs of events: grammar, people, attributes, parts.

/// The class of a word that shapes a sentence or qualifies an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// `when`, `whenever`, `as soon as`.
    Lead,
    /// `a`, `the`, `any`.
    Article,
    /// Forms of `be`, and `gets` before a participle.
    Be,
    /// Forms of `have` as an auxiliary.
    Have,
    /// `gets`, `receives`: something is added to the subject.
    Get,
    /// `loses`: something is removed from the subject.
    Lose,
    By,
    To,
    Into,
    On,
    In,
    At,
    From,
    With,
    Without,
    /// `against`, `targeting`.
    Against,
    /// `under`, `below`.
    Under,
    Outside,
    For,
    Of,
    As,
    /// `matching`, `like`.
    Matching,
    Not,
    /// The `non` of `non-draft`.
    Non,
    /// `except`, `other than`, `ignoring`.
    Except,
    Unless,
    Or,
    And,
    But,
    /// `that`, `which`, `who`.
    That,
    Whose,
    /// `its`, `their`.
    Its,
    Only,
    /// `'s`.
    Possessive,
    /// `someone`, `anybody`: no filter.
    Anyone,
    Human,
    Bot,
    Maintainer,
    Outsider,
    FirstTimer,
    /// `the author`, `a reviewer`: a relation that a payload does not decide.
    New,
    Draft,
    /// `open` as a state.
    Open,
    /// `from a fork`.
    Fork,
    TopLevel,
    Inline,
    DefaultBranch,
    Prerelease,
    Stable,
    /// `not planned` as a reason.
    NotPlanned,
    /// `current head`, `latest commit`.
    CurrentHead,
    /// `files`, `anything`, `something` before a path.
    Anything,
    /// `changes` as what a pull request brings.
    Changes,
    /// `successful`.
    Success,
    /// `non-successful`, `unsuccessful`.
    Failure,
    /// A word that adds nothing: `directly`, `just`, `already`, `event`.
    Filler,
    /// `repository` forms after `in the … repository`.
    Contains,
    /// `as long as`, `provided`: the words after it must hold as well.
    Provided,
    /// `despite`, `while`: a circumstance of the event that no payload contains.
    Despite,
}

/// Every phrase of a class.
pub(crate) const CLASSES: &[(Class, &str)] = &[
    (
        Class::Lead,
        "when | whenever | if | once | after | upon | as soon as | every time | each time | any time | \
         anytime | the moment | in case | wake when | wake on | wake up when | trigger when | \
         trigger on | run when | run on | activate when | activate on | fire when | in the event that | \
         every time that | each time that | right after | just after | immediately after | \
         immediately when | wake me when | respond when | react when | watch for | listen for | \
         wait for | as and when | following",
    ),
    (
        Class::Article,
        "a | an | the | any | some | this | these | one of | any of | another | their | different | either | \
         any one of | each of | our | each | every | both | or more | one or more",
    ),
    (
        Class::Be,
        "is | are | was | were | be | been | being | is being | are being | has been | have been | \
         had been | is now | just got | just been | will be | can be",
    ),
    (Class::Have, "has | have | had | having | does | do | did"),
    (
        Class::Get,
        "get | gets | got | getting | receive | receives | received | receiving | gain | gains | \
         gained | pick up | picks up | picked up | acquire | acquires | obtains | earns",
    ),
    (
        Class::Lose,
        "lose | loses | lost | losing | no longer has | no longer have | no longer carries",
    ),
    (
        Class::By,
        "by | authored by | written by | whose author is | that was opened by | which was opened by | \
         whose creator is | by the user | that were opened by | proposed by",
    ),
    (Class::To, "to | toward | towards"),
    (Class::Into, "into | onto | in to"),
    (
        Class::On,
        "on | upon | belonging to | that belongs to | that belong to | which belongs to | associated with",
    ),
    (Class::In, "in | inside | within | inside of"),
    (Class::At, "at"),
    (
        Class::From,
        "from | coming from | off | out of | originating from | that comes from | that came from",
    ),
    (
        Class::With,
        "with | having | carrying | bearing | that has | that have | which has | which have | \
         that carries | that bears | which carries | that already has | marked with",
    ),
    (
        Class::Without,
        "without | lacking | missing | that does not have | that lacks | that do not have | with no | \
         that has no | that have no | which has no | which lacks | not having",
    ),
    (
        Class::Against,
        "against | targeting | that targets | that target | which targets | targeted at | aimed at | \
         targets | based on | whose base is | whose base branch is | whose target is | \
         whose target branch is | that is against | with base | with base branch | \
         whose target branch matches | with target branch | going into | headed for | bound for | \
         that goes into | destined for",
    ),
    (
        Class::Under,
        "under | underneath | below | beneath | anywhere under | anywhere in | living under | \
         located in",
    ),
    (
        Class::Outside,
        "outside | outside of | not in | not under | not inside | other than those in | \
         other than those under | other than in | elsewhere than | other than files in | \
         other than the ones in | that are not in | that are not under | not within | \
         other than files under | beyond",
    ),
    (
        Class::For,
        "for | about | because of | due to | regarding | concerning | as part of",
    ),
    (Class::Of, "of"),
    (Class::As, "as"),
    (
        Class::Matching,
        "matching | that match | that matches | which match | which matches | like | such as | named | \
         called | whose name is | whose name matches | whose path matches | whose paths match | \
         with a name matching | whose name starts with | match | matches",
    ),
    (Class::Not, "not | never | no | neither | nor"),
    (Class::Non, "non"),
    (
        Class::Except,
        "except | except for | excluding | other than | ignoring | apart from | aside from | besides | \
         but not | skipping | not counting | save for | leaving out | with the exception of | \
         excepting | rather than | anything but | anything other than | anything except | \
         not including | omitting | instead of | anywhere but | anywhere except | anywhere other than | \
         everywhere but | everywhere except",
    ),
    (Class::Unless, "unless"),
    (
        Class::Or,
        "or | and/or | as well as | or else | or if | plus | or even",
    ),
    (Class::And, "and | & | + | and also"),
    (Class::But, "but"),
    (Class::That, "that | which | who | where"),
    (Class::Whose, "whose"),
    (Class::Its, "its | it | them | they | those | it's"),
    (
        Class::Only,
        "only | nothing but | just | solely | exclusively | nothing except | nothing other than | \
         no files but | no files other than | no files except | nothing outside",
    ),
    (Class::Possessive, "'s"),
    (
        Class::Anyone,
        "someone | somebody | anyone | anybody | everyone | everybody | people on github | \
         user | users | whoever | anyone at all | contributor | contributors | \
         developer | developers | committer | we | i | you | members",
    ),
    (
        Class::Human,
        "human | humans | person | people | real person | real people | human being | human user | \
         non-bot human | non-bot user | non-bot | non bot | a non-bot | actual person | human author | \
         human contributor | human beings | human users | actual human",
    ),
    (
        Class::Bot,
        "bot | bots | bot account | bot accounts | automation | bot user | bot users | \
         robot | robots | automated account | automated accounts | app | apps | application | \
         applications | github app | github apps | integration | integrations",
    ),
    (
        Class::Maintainer,
        "maintainer | maintainers | repo maintainer | repository maintainer | collaborator | \
         collaborators | project maintainer | repo collaborator | repository collaborator | \
         owner or maintainer | someone with write access | repo owner | repository owner | org member | \
         organization member | repo maintainers | member | maintainer of the repository | \
         maintainer of the repo | maintainer of this repo | project collaborator | owner | owners | \
         core maintainer | team insider | insider",
    ),
    (
        Class::Outsider,
        "outsider | outsiders | external contributor | external contributors | outside contributor | \
         outside contributors | external user | external users | someone outside the team | \
         someone outside the organization | someone outside the org | someone from outside | \
         somebody outside the team | anyone outside the team | non-member | non-members | \
         someone who is not a collaborator | someone who is not a maintainer | \
         someone outside the company | non-collaborator | someone from outside the team | \
         someone from outside the organization | external author | community member | non-maintainer | \
         anyone outside the organization | a stranger | community contributor",
    ),
    (
        Class::FirstTimer,
        "first-time contributor | first time contributor | first-time contributors | first-timer | \
         first timer | newcomer | first-time committer | someone contributing for the first time | \
         new contributor | first-time author",
    ),
    (
        Class::New,
        "new | brand new | brand-new | newly | fresh | freshly | another",
    ),
    (
        Class::Draft,
        "draft | a draft | drafts | as a draft | as draft | in draft | draft mode | still a draft | \
         work in progress pr",
    ),
    (Class::Open, "open | still open | currently open"),
    (
        Class::Fork,
        "fork | forks | forked repository | forked repo",
    ),
    (
        Class::TopLevel,
        "top-level | top level | toplevel | conversation | general",
    ),
    (Class::Inline, "inline | in-line"),
    (
        Class::DefaultBranch,
        "default branch | default-branch | repository default branch | repo default branch | \
         main branch of the repository | repository's default branch | repo's default branch | \
         the trunk",
    ),
    (
        Class::Prerelease,
        "prerelease | pre-release | prereleases | pre-releases | pre release | beta release | \
         release candidate",
    ),
    (
        Class::Stable,
        "stable | full | non-prerelease | non-pre-release | production-ready | final",
    ),
    (
        Class::NotPlanned,
        "not planned | not_planned | won't fix | wontfix | not-planned",
    ),
    (
        Class::CurrentHead,
        "current head | latest commit | head commit | current head commit | latest head | head sha | \
         current head sha",
    ),
    (
        Class::Anything,
        "anything | something | contents | content | any of the files | one of the files | stuff | \
         everything | things | any files | a file | any file",
    ),
    (
        Class::Success,
        "successful | successfully | green | passing | with success",
    ),
    (
        Class::Failure,
        "non-successful | non-success | unsuccessful | unsuccessfully | not successful | \
         non successful | unsuccessful result | red | badly",
    ),
    (
        Class::Filler,
        "directly | already | also | manually | event | events | then | ever | currently | \
         in the repository | in the repo | in this repository | in this repo | on the repository | \
         on the repo | to the repo | to the repository | of the repository | of the repo | \
         in our repo | in our repository | to this repository | to this repo | result | a result | \
         results | finally | itself | please | existing | given | action | \
         for review comments | actually | simply | there is | there are | there's | comes | come | \
         from scratch | made | of any kind | at all | github's | reports a | \
         comes back with | ends up | including | either by | specifically | whatever the outcome | whatever the result | whatever its conclusion | \
         whatever the conclusion | whatever its outcome | whatever its result | regardless of the outcome | \
         regardless of the result | regardless of outcome | no matter how it ends | however it ends | whether it succeeds or fails | whether it passes or fails | \
         successfully or not | \
         particular | specific | level event | place | takes place | happens | happen | occurs | \
         occur | incoming | individual | single",
    ),
    (
        Class::Contains,
        "contains | contain | containing | includes | include | including the text | mentions | \
         mentioning | mention | says | saying | with the text | with the words | with the word | \
         contains the text | containing the text | containing the word | containing the words | \
         that says | reading | contains the word | contains the phrase | containing the phrase | \
         has the word | that contains | which contains | that mentions | which mentions | \
         that includes | that include | which includes | starts with | starting with | begins with | \
         beginning with | with the phrase | including the word | including the phrase | that contain | \
         that mention | including",
    ),
    (
        Class::Provided,
        "as long as | so long as | provided | provided that | providing | assuming | assuming that | \
         on condition that | while | on the condition that | given that | providing that",
    ),
    (
        Class::Despite,
        "despite | in spite of | even though | although | though | regardless of | because | until | till | \
         before | without having | whilst",
    ),
];

/// A part of an issue or pull request that can come, go or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Label,
    Assignee,
    Reviewer,
    Title,
    Body,
    Base,
    Priority,
    Status,
    Cycle,
    DueDate,
    Estimate,
    Name,
    Team,
    Category,
    Environment,
    Severity,
    Level,
    Health,
    Approval,
    AutoMerge,
    MergeQueue,
    Conclusion,
    TargetDate,
    StartDate,
    Lead,
    Parent,
    Members,
}

/// The phrases of each part, singular.
pub(crate) const PARTS: &[(Part, &str)] = &[
    (Part::Label, "label"),
    (Part::Assignee, "assignee"),
    (Part::Reviewer, "reviewer"),
    (Part::Title, "title | headline | subject line"),
    (Part::Body, "body | description | text | wording"),
    (
        Part::Base,
        "base branch | base | target branch | merge target",
    ),
    (Part::Priority, "priority"),
    (Part::Status, "status | state | workflow state | column"),
    (Part::Cycle, "cycle | sprint"),
    (Part::DueDate, "due date | deadline"),
    (Part::Estimate, "estimate | point estimate | points"),
    (Part::Name, "name"),
    (Part::Team, "team"),
    (Part::Category, "category"),
    (Part::Environment, "environment | env"),
    (Part::Severity, "severity"),
    (Part::Level, "level"),
    (Part::Health, "health"),
    (Part::Approval, "approval | approving review"),
    (Part::AutoMerge, "auto-merge | auto merge | automerge"),
    (Part::MergeQueue, "merge queue"),
    (Part::Conclusion, "conclusion | outcome"),
    (Part::TargetDate, "target date"),
    (Part::StartDate, "start date"),
    (Part::Lead, "lead | project lead"),
    (Part::Parent, "parent"),
    (Part::Members, "project member"),
];
