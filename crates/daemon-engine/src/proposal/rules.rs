//! The rules that admit or refuse a proposal, before anything is planned.

use std::fmt;
use std::str::FromStr;

use daemon_event::{InvalidId, RepoName};

use super::mentions::{mentions, n_links};
use super::served::ServedSurfaces;
use super::target::{OutputTarget, TargetKind};
use super::verb::{OutputCapability, OutputVerb, VerbRow};
use super::{Act, known_targets};
use crate::output::OutputKey;

/// The most mentions of people in one proposal.
pub const MAX_MENTIONS: usize = 10;
/// The most links in one proposal.
pub const MAX_LINKS: usize = 50;

/// What limits the proposals of one run.
#[derive(Clone, Debug)]
pub struct ProposalRules {
    /// How far its effects may reach.
    pub capability: OutputCapability,
    /// The watched repository.
    pub repo: RepoName,
    /// The objects that the trigger is about.
    pub subjects: Vec<OutputTarget>,
    /// The commit that the run works at.
    pub commit: Option<String>,
    /// The pull request at whose head the run works.
    pub head: Option<PullHead>,
    /// The daemon's outputs that are on surfaces.
    pub own: Vec<OwnOutput>,
    /// Further targets, which the operator names.
    pub configured: Vec<TargetPattern>,
    /// The surfaces that the host serves.
    pub surfaces: ServedSurfaces,
}

/// A pull request at whose head a run works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullHead {
    /// The pull request.
    pub pull: OutputTarget,
    /// The full name of its branch in the watched repository; `None` if the branch is in another one.
    pub branch: Option<String>,
}

/// An output of the daemon that is on a surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnOutput {
    /// Its key.
    pub key: OutputKey,
    /// What made it.
    pub verb: OutputVerb,
    /// The object that it was done to.
    pub on: OutputTarget,
    /// The object that it made, if that is a target itself: a pull request or an issue.
    pub made: Option<OutputTarget>,
    /// The full name of the branch of the pull request that it opened.
    pub head: Option<String>,
    /// Its slot.
    pub slot: Option<String>,
    /// The surface's id for it.
    pub remote_id: String,
}

/// Targets that the operator allows: one target with everything in it, or those with a prefix; or a name that may be mentioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPattern {
    /// A target and what it contains: a repository with its issues, a channel with its threads.
    Within(OutputTarget),
    /// Every target whose text begins so.
    Prefix(String),
    /// A name that may be mentioned, without `@`.
    Mention(String),
}

impl FromStr for TargetPattern {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        if let Some(name) = text.strip_prefix('@') {
            let is_name = mentions(text)
                .first()
                .is_some_and(|mention| mention.range == (0..text.len()));
            return match is_name {
                true => Ok(Self::Mention(name.to_lowercase())),
                false => Err(InvalidId::new(
                    text,
                    "a name to mention, such as `@octocat`",
                )),
            };
        }
        match text.strip_suffix('*') {
            Some(prefix)
                if prefix.split_once(':').is_some_and(|(service, rest)| {
                    matches!(service, "github" | "linear" | "slack") && !rest.is_empty()
                }) =>
            {
                Ok(Self::Prefix(prefix.to_owned()))
            }
            _ => text.parse().map(Self::Within),
        }
    }
}

impl TargetPattern {
    fn allows(&self, target: &OutputTarget) -> bool {
        match self {
            Self::Within(allowed) => {
                allowed.is(target)
                    || match (allowed, target) {
                        (OutputTarget::GithubRepo(repo), _) => {
                            target.github_repo().is_some_and(|other| {
                                other.to_string().eq_ignore_ascii_case(&repo.to_string())
                            })
                        }
                        (
                            OutputTarget::SlackChannel(allowed),
                            OutputTarget::SlackThread { channel, .. },
                        ) => allowed == channel,
                        _ => false,
                    }
            }
            Self::Prefix(prefix) => target.to_string().starts_with(prefix.as_str()),
            Self::Mention(_) => false,
        }
    }
}

/// Why a proposal is refused, in words that a run can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalRefusal {
    /// The host has no access to the surface.
    #[error("the surface `{surface}` is not configured on this host")]
    Surface {
        /// The surface.
        surface: &'static str,
    },
    /// GitHub permits the verb only to an App.
    #[error("`{verb}` needs a GitHub App, and this host has a token")]
    App {
        /// The verb.
        verb: OutputVerb,
    },
    /// The run's capability is too low.
    #[error("`{verb}` needs the capability `{}`, this run has `{}`", needed.as_str(), has.as_str())]
    Capability {
        /// The verb.
        verb: OutputVerb,
        /// The capability that it needs on this target.
        needed: OutputCapability,
        /// The capability of the run.
        has: OutputCapability,
    },
    /// It names no target, and the trigger gives none.
    #[error("`{verb}` needs a `target` of the form {form}")]
    NoTarget {
        /// The verb.
        verb: OutputVerb,
        /// The forms of its targets.
        form: String,
    },
    /// The run may not act on the target.
    #[error(
        "`{target}` is not what woke the daemon, nor its own, nor in `policy.daemon.<id>.targets`"
    )]
    Target {
        /// The target.
        target: OutputTarget,
    },
    /// The daemon wrote no such comment on the target.
    #[error("`{key}` is no comment of this daemon on `{target}`")]
    NotOwn {
        /// The key.
        key: String,
        /// The target.
        target: OutputTarget,
    },
    /// The run does not work at the head of the pull request.
    #[error(
        "the run does not work at the head of `{target}`, so its changes do not follow from that"
    )]
    NotAtHead {
        /// The pull request.
        target: OutputTarget,
    },
    /// The branch of the pull request is in another repository.
    #[error("the branch of `{target}` is in another repository, to which this host does not push")]
    Fork {
        /// The pull request.
        target: OutputTarget,
    },
    /// No run pushes to the branch of the pull request.
    #[error("the branch of `{target}` is protected, and no daemon pushes to it")]
    Protected {
        /// The pull request.
        target: OutputTarget,
    },
    /// The changes were proposed for another branch.
    #[error("the changes of a run go to one branch, and `{earlier}` is proposed already")]
    OneBranch {
        /// The earlier proposal.
        earlier: OutputVerb,
    },
    /// There are too many proposals with the verb.
    #[error("`{verb}` is accepted {} per activation", times(*most))]
    TooMany {
        /// The verb.
        verb: OutputVerb,
        /// The limit.
        most: usize,
    },
    /// It mentions too many people.
    #[error("it mentions {found} people, at most {MAX_MENTIONS} are accepted")]
    Mentions {
        /// The number of mentions.
        found: usize,
    },
    /// It has too many links.
    #[error("it has {found} links, at most {MAX_LINKS} are accepted")]
    Links {
        /// The number of links.
        found: usize,
    },
}

fn times(most: usize) -> String {
    match most {
        1 => "once".to_owned(),
        most => format!("{most} times"),
    }
}

impl ProposalRules {
    /// Decides whether a run may make a proposal after its `earlier` ones, and returns it with its target.
    ///
    /// # Errors
    /// The first rule that refuses it.
    pub fn admit(&self, mut act: Act, earlier: &[Act]) -> Result<Act, ProposalRefusal> {
        let row = act.verb.row();
        let target = act.target.take().or_else(|| self.implied(act.verb));
        let kind = target
            .as_ref()
            .map(OutputTarget::kind)
            .or(row.targets.first().copied());
        let surface = kind.map_or("git", |kind| act.verb.surface(kind));
        // Before the target, because a run cannot correct it.
        if !self.surfaces.names.contains(surface) {
            return Err(ProposalRefusal::Surface { surface });
        }
        if !self.surfaces.permit(act.verb) {
            return Err(ProposalRefusal::App { verb: act.verb });
        }
        let target = target.ok_or_else(|| ProposalRefusal::NoTarget {
            verb: act.verb,
            form: known_targets(act.verb),
        })?;
        let is_own = self.is_own(&target);
        let needed = self.needed(row, &target);
        if self.capability < needed {
            let (verb, has) = (act.verb, self.capability);
            return Err(ProposalRefusal::Capability { verb, needed, has });
        }
        self.check_target(&act, &target, is_own)?;
        if act.verb == OutputVerb::PushPullRequest {
            self.check_head(&target)?;
        }
        check_number(act.verb, earlier)?;
        check_branch(act.verb, earlier)?;
        check_text(&act)?;
        act.target = Some(target);
        Ok(act)
    }

    /// Reports whether a run may use a verb, on some target.
    pub fn serves(&self, row: &VerbRow) -> bool {
        let is_served = |kind: &TargetKind| {
            let names = &self.surfaces.names;
            self.surfaces.permit(row.verb) && names.contains(row.verb.surface(*kind))
        };
        let needed = match (row.verb, &self.head) {
            (OutputVerb::PushPullRequest, Some(head)) if head.branch.is_some() => {
                self.needed(row, &head.pull)
            }
            (OutputVerb::PushPullRequest, _) => return false,
            _ => row.capability.min(row.own),
        };
        self.capability >= needed && (row.targets.is_empty() || row.targets.iter().any(is_served))
    }

    /// Returns the full name of the branch of the pull request at whose head the run works, if that can be pushed to.
    pub fn head_branch(&self) -> Option<&str> {
        self.head.as_ref()?.branch.as_deref()
    }

    /// Returns the own output in a slot on a target, the newest first.
    pub fn in_slot(&self, slot: &str, target: &OutputTarget) -> Option<&OwnOutput> {
        let is_it = |own: &&OwnOutput| own.slot.as_deref() == Some(slot) && own.on.is(target);
        self.own.iter().find(is_it)
    }

    /// Reports whether the daemon made a target.
    fn is_own(&self, target: &OutputTarget) -> bool {
        let mut made = self.own.iter().filter_map(|own| own.made.as_ref());
        made.any(|made| made.is(target))
    }

    /// Returns the capability that a verb needs on a target.
    fn needed(&self, row: &VerbRow, target: &OutputTarget) -> OutputCapability {
        match self.is_own(target) {
            true => row.own,
            false => row.capability,
        }
    }

    /// Returns the target of a proposal that names none.
    fn implied(&self, verb: OutputVerb) -> Option<OutputTarget> {
        let kinds = verb.row().targets;
        let subject = self
            .subjects
            .iter()
            .find(|subject| kinds.contains(&subject.kind()));
        if let Some(subject) = subject {
            return Some(subject.clone());
        }
        let repo = || format!("github:{}", self.repo).parse().ok();
        match kinds.first()? {
            TargetKind::Git => Some(OutputTarget::Git(self.repo.clone())),
            TargetKind::GithubRepo => repo(),
            TargetKind::GithubCommit => {
                let commit = self.commit.as_ref()?;
                format!("github:{}@{commit}", self.repo).parse().ok()
            }
            TargetKind::GithubNumber
            | TargetKind::LinearIssue
            | TargetKind::SlackChannel
            | TargetKind::SlackThread => None,
        }
    }

    fn check_target(
        &self,
        act: &Act,
        target: &OutputTarget,
        is_own: bool,
    ) -> Result<(), ProposalRefusal> {
        if act.verb == OutputVerb::EditComment {
            let key = act.fields.text("output").unwrap_or_default();
            let is_it = |own: &&OwnOutput| own.key.as_str() == key && own.on.is(target);
            return match self.own.iter().find(is_it) {
                Some(own) if own.verb == OutputVerb::Comment => Ok(()),
                _ => Err(ProposalRefusal::NotOwn {
                    key: key.to_owned(),
                    target: target.clone(),
                }),
            };
        }
        let is_in_repo = target.github_repo().is_some_and(|repo| repo.is(&self.repo));
        let is_allowed = match target {
            OutputTarget::Git(repo) => repo.folded() == self.repo.folded(),
            // Something new in the repository, or a retry of its checks.
            OutputTarget::GithubRepo(_) => is_in_repo,
            OutputTarget::GithubCommit(_, commit) => {
                is_in_repo && self.commit.as_deref() == Some(&**commit)
            }
            OutputTarget::GithubNumber(..)
            | OutputTarget::LinearIssue(_)
            | OutputTarget::SlackChannel(_)
            | OutputTarget::SlackThread { .. } => false,
        };
        let is_subject = self.subjects.iter().any(|subject| subject.is(target));
        let is_configured = self.configured.iter().any(|pattern| pattern.allows(target));
        if is_allowed || is_own || is_subject || is_configured {
            Ok(())
        } else {
            Err(ProposalRefusal::Target {
                target: target.clone(),
            })
        }
    }
}

impl ProposalRules {
    /// Checks that the changes of the run follow from the head of a pull request.
    fn check_head(&self, target: &OutputTarget) -> Result<(), ProposalRefusal> {
        let head = self.head.as_ref().filter(|head| head.pull.is(target));
        let target = target.clone();
        match head {
            None => Err(ProposalRefusal::NotAtHead { target }),
            Some(PullHead { branch: None, .. }) => Err(ProposalRefusal::Fork { target }),
            Some(PullHead {
                branch: Some(name), ..
            }) => match self.surfaces.is_protected(name) {
                true => Err(ProposalRefusal::Protected { target }),
                false => Ok(()),
            },
        }
    }
}

/// Reports whether the operator allows a name to be mentioned; `name` is without `@`.
pub fn may_mention(configured: &[TargetPattern], name: &str) -> bool {
    let name = TargetPattern::Mention(name.to_lowercase());
    configured.contains(&name)
}

/// Checks the number of proposals with a verb.
fn check_number(verb: OutputVerb, earlier: &[Act]) -> Result<(), ProposalRefusal> {
    let most = verb.row().most;
    if earlier.iter().filter(|act| act.verb == verb).count() >= most {
        return Err(ProposalRefusal::TooMany { verb, most });
    }
    Ok(())
}

/// Checks that the changes of the run go to one branch: that of a pull request, or one of the activation.
fn check_branch(verb: OutputVerb, earlier: &[Act]) -> Result<(), ProposalRefusal> {
    let is_other = |other: OutputVerb| {
        verb.pushes()
            && other.pushes()
            && (verb == OutputVerb::PushPullRequest) != (other == OutputVerb::PushPullRequest)
    };
    match earlier.iter().find(|act| is_other(act.verb)) {
        Some(act) => Err(ProposalRefusal::OneBranch { earlier: act.verb }),
        None => Ok(()),
    }
}

fn check_text(act: &Act) -> Result<(), ProposalRefusal> {
    let texts = act.fields.texts();
    let found = texts.iter().map(|text| mentions(text).len()).sum();
    if found > MAX_MENTIONS {
        return Err(ProposalRefusal::Mentions { found });
    }
    let found = texts.iter().map(|text| n_links(text)).sum();
    if found > MAX_LINKS {
        return Err(ProposalRefusal::Links { found });
    }
    Ok(())
}

impl fmt::Display for TargetPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Within(target) => target.fmt(f),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
            Self::Mention(name) => write!(f, "@{name}"),
        }
    }
}

#[cfg(test)]
mod tests;
