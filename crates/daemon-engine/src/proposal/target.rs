//! Targets: the objects of services that outputs are about, in the form in which runs name them.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use daemon_event::{InvalidId, RepoName};

/// The longest name of a repository's owner or of a repository, in bytes.
const MAX_NAME: usize = 100;

/// The owner and the name of a repository on GitHub. Both consist of letters, digits and `._-`, so that they can be parts of a
/// URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GithubName {
    owner: Box<str>,
    name: Box<str>,
}

impl GithubName {
    /// Returns the owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns the name without the owner.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reports whether a watched repository has this name, in any case.
    pub fn is(&self, repo: &RepoName) -> bool {
        self.to_string().to_lowercase() == repo.folded()
    }
}

impl FromStr for GithubName {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_plain = |part: &str| {
            let is_word = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            (1..=MAX_NAME).contains(&part.len())
                && part.bytes().all(is_word)
                // `.` and `..` would be steps in a path.
                && part.bytes().any(|b| b != b'.')
        };
        match text.split_once('/') {
            Some((owner, name)) if is_plain(owner) && is_plain(name) => Ok(Self {
                owner: owner.into(),
                name: name.into(),
            }),
            _ => Err(InvalidId::new(
                text,
                "a repository of the form `owner/name`",
            )),
        }
    }
}

impl fmt::Display for GithubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// The object that an output is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OutputTarget {
    /// A repository: `github:o/r`.
    GithubRepo(GithubName),
    /// An issue or a pull request: `github:o/r#42`.
    GithubNumber(GithubName, NonZeroU64),
    /// A commit, by its whole name: `github:o/r@<sha>`.
    GithubCommit(GithubName, Box<str>),
    /// An issue: `linear:ENG-12`.
    LinearIssue(Box<str>),
    /// A channel, by its id: `slack:C024BE91L`.
    SlackChannel(Box<str>),
    /// A thread: `slack:C024BE91L/1401383885.000061`.
    SlackThread {
        /// The id of the channel.
        channel: Box<str>,
        /// The time stamp of the first message.
        thread: Box<str>,
    },
    /// A watched repository: `git:<name>`.
    Git(RepoName),
}

/// The kind of a [`OutputTarget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TargetKind {
    /// See [`OutputTarget::GithubRepo`].
    GithubRepo,
    /// See [`OutputTarget::GithubNumber`].
    GithubNumber,
    /// See [`OutputTarget::GithubCommit`].
    GithubCommit,
    /// See [`OutputTarget::LinearIssue`].
    LinearIssue,
    /// See [`OutputTarget::SlackChannel`].
    SlackChannel,
    /// See [`OutputTarget::SlackThread`].
    SlackThread,
    /// See [`OutputTarget::Git`].
    Git,
}

impl TargetKind {
    /// Returns the form in which a run writes a target of this kind.
    pub fn form(self) -> &'static str {
        match self {
            Self::GithubRepo => "github:OWNER/NAME",
            Self::GithubNumber => "github:OWNER/NAME#NUMBER",
            Self::GithubCommit => "github:OWNER/NAME@SHA",
            Self::LinearIssue => "linear:KEY-NUMBER",
            Self::SlackChannel => "slack:CHANNEL",
            Self::SlackThread => "slack:CHANNEL/THREAD",
            Self::Git => "git:REPOSITORY",
        }
    }

    /// Returns the name of the surface that serves targets of this kind.
    pub fn surface(self) -> &'static str {
        match self {
            Self::GithubRepo | Self::GithubNumber | Self::GithubCommit => "github",
            Self::LinearIssue => "linear",
            Self::SlackChannel | Self::SlackThread => "slack",
            Self::Git => "git",
        }
    }
}

impl OutputTarget {
    /// Returns its kind.
    pub fn kind(&self) -> TargetKind {
        match self {
            Self::GithubRepo(_) => TargetKind::GithubRepo,
            Self::GithubNumber(..) => TargetKind::GithubNumber,
            Self::GithubCommit(..) => TargetKind::GithubCommit,
            Self::LinearIssue(_) => TargetKind::LinearIssue,
            Self::SlackChannel(_) => TargetKind::SlackChannel,
            Self::SlackThread { .. } => TargetKind::SlackThread,
            Self::Git(_) => TargetKind::Git,
        }
    }

    /// Returns the repository on GitHub that contains it, if it is on GitHub.
    pub fn github_repo(&self) -> Option<&GithubName> {
        match self {
            Self::GithubRepo(repo) | Self::GithubNumber(repo, _) | Self::GithubCommit(repo, _) => {
                Some(repo)
            }
            Self::LinearIssue(_)
            | Self::SlackChannel(_)
            | Self::SlackThread { .. }
            | Self::Git(_) => None,
        }
    }

    /// Reports whether both name the same object; GitHub ignores case in names.
    pub fn is(&self, other: &Self) -> bool {
        let folded = |target: &Self| match target.github_repo() {
            Some(_) => target.to_string().to_lowercase(),
            None => target.to_string(),
        };
        self == other || folded(self) == folded(other)
    }
}

impl FromStr for OutputTarget {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid = || {
            let expected = "a target, such as `github:owner/name#42`, `linear:ENG-12` or `slack:CHANNEL/THREAD`";
            InvalidId::new(text, expected)
        };
        let (service, rest) = text.split_once(':').ok_or_else(invalid)?;
        match service {
            "github" => github(rest).ok_or_else(invalid),
            "linear" if is_issue_key(rest) => Ok(Self::LinearIssue(rest.into())),
            "slack" => slack(rest).ok_or_else(invalid),
            "git" => rest.parse().map(Self::Git),
            _ => Err(invalid()),
        }
    }
}

fn github(text: &str) -> Option<OutputTarget> {
    if let Some((repo, number)) = text.split_once('#') {
        // `+1` and `01` are numbers to `parse`, but not names of an issue.
        let is_plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
        let number = number.parse().ok().filter(|_| is_plain)?;
        return Some(OutputTarget::GithubNumber(repo.parse().ok()?, number));
    }
    if let Some((repo, commit)) = text.split_once('@') {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let is_name = matches!(commit.len(), 40 | 64) && commit.bytes().all(is_digit);
        let repo = repo.parse().ok().filter(|_| is_name)?;
        return Some(OutputTarget::GithubCommit(repo, commit.into()));
    }
    text.parse().ok().map(OutputTarget::GithubRepo)
}

/// Reports whether a string has the form of the key of an issue of Linear.
fn is_issue_key(text: &str) -> bool {
    let Some((team, number)) = text.split_once('-') else {
        return false;
    };
    let is_team = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    (1..=10).contains(&team.len())
        && team.bytes().all(is_team)
        && (1..=9).contains(&number.len())
        && number.bytes().all(|b| b.is_ascii_digit())
}

fn slack(text: &str) -> Option<OutputTarget> {
    let (channel, thread) = match text.split_once('/') {
        Some((channel, thread)) => (channel, Some(thread)),
        None => (text, None),
    };
    let is_channel = (2..=40).contains(&channel.len())
        && channel.starts_with(['C', 'G', 'D'])
        && channel
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_stamp = |stamp: &str| {
        let parts = stamp.split_once('.').filter(|_| stamp.len() <= 32);
        parts.is_some_and(|(seconds, rest)| is_digits(seconds) && is_digits(rest))
    };
    match thread {
        _ if !is_channel => None,
        None => Some(OutputTarget::SlackChannel(channel.into())),
        Some(thread) if is_stamp(thread) => Some(OutputTarget::SlackThread {
            channel: channel.into(),
            thread: thread.into(),
        }),
        Some(_) => None,
    }
}

impl fmt::Display for OutputTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GithubRepo(repo) => write!(f, "github:{repo}"),
            Self::GithubNumber(repo, number) => write!(f, "github:{repo}#{number}"),
            Self::GithubCommit(repo, commit) => write!(f, "github:{repo}@{commit}"),
            Self::LinearIssue(key) => write!(f, "linear:{key}"),
            Self::SlackChannel(channel) => write!(f, "slack:{channel}"),
            Self::SlackThread { channel, thread } => write!(f, "slack:{channel}/{thread}"),
            Self::Git(repo) => write!(f, "git:{repo}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputTarget, TargetKind};

    #[test]
    fn targets_print_and_parse() {
        let sha = "4be1c07".repeat(6)[..40].to_owned();
        for (text, kind) in [
            ("github:o/r", TargetKind::GithubRepo),
            ("github:my-org/a.b_c#42", TargetKind::GithubNumber),
            (&format!("github:o/r@{sha}"), TargetKind::GithubCommit),
            ("linear:ENG-12", TargetKind::LinearIssue),
            ("slack:C024BE91L", TargetKind::SlackChannel),
            ("slack:C024BE91L/1401383885.000061", TargetKind::SlackThread),
            ("git:o/r", TargetKind::Git),
        ] {
            let target: OutputTarget = text.parse().unwrap();
            assert_eq!((target.to_string().as_str(), target.kind()), (text, kind));
        }
    }

    #[test]
    fn what_could_leave_its_place_in_a_url_is_no_target() {
        for text in [
            "",
            "github",
            "github:",
            "github:o",
            "github:o/",
            "github:/r",
            "github:../r",
            "github:o/..",
            "github:o/r/x",
            "github:o/r#0",
            "github:o/r#01",
            "github:o/r#+1",
            "github:o/r#-1",
            "github:o/r#1#2",
            "github:o/r#1?x",
            "github:o/r@main",
            "github:o/r@4BE1C07",
            "github:o r/x",
            "github:o/r%2f",
            "GitHub:o/r",
            "linear:eng-12",
            "linear:ENG",
            "linear:ENG-",
            "linear:ENG-1\"",
            "slack:general",
            "slack:C1/x",
            "slack:C024BE91L/",
            "slack:C024BE91L/1.2/3",
            "slack:C024BE91L/1.",
            "sentry:1",
            "git:",
            "git:a\nb",
        ] {
            assert!(text.parse::<OutputTarget>().is_err(), "{text}");
        }
    }

    #[test]
    fn github_ignores_case_in_names_and_others_do_not() {
        let is = |one: &str, other: &str| {
            let one: OutputTarget = one.parse().unwrap();
            one.is(&other.parse().unwrap())
        };
        assert!(is("github:Octo/Hello#1", "github:octo/hello#1"));
        assert!(!is("github:octo/hello#1", "github:octo/hello#2"));
        assert!(!is("git:Octo/Hello", "git:octo/hello"));
        assert!(is("linear:ENG-1", "linear:ENG-1"));
    }
}
