//! The marks by which commits and branches of daemons are recognised.

use std::fmt::Write as _;
use std::num::NonZeroU32;

use daemon_event::{ActivationId, DaemonId};

use crate::object::RefName;

/// The domain of the email address in daemons' commits. `.invalid` is reserved, so no mail is ever delivered.
const DOMAIN: &str = "daemon.invalid";
/// The last part of the name of a rolling branch, before its number.
const ROLLING: &str = "rolling";

/// The origin of a daemon's commit, as written in its trailers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitMark {
    /// The daemon that made the commit.
    pub daemon: DaemonId,
    /// The activation during which it was made.
    pub activation: ActivationId,
    /// The idempotency key of the output that the commit belongs to.
    pub output: Box<str>,
}

impl CommitMark {
    /// Reads the trailers of a commit message; returns `None` unless all of them are present.
    pub fn in_message(message: &str) -> Option<Self> {
        let (mut daemon, mut activation, mut output) = (None, None, None);
        for line in last_paragraph(message) {
            match line.split_once(':').map(|(key, value)| (key, value.trim())) {
                Some(("Daemon-Id", value)) => daemon = decode(value),
                Some(("Daemon-Activation", value)) => activation = decode(value),
                Some(("Daemon-Output", value)) => output = decode(value),
                _ => {}
            }
        }
        Some(Self {
            daemon: daemon?.parse().ok()?,
            activation: activation?.parse().ok()?,
            output: output?.into_boxed_str(),
        })
    }

    /// Formats the trailers, one per line.
    pub fn trailers(&self) -> String {
        format!(
            "Daemon-Id: {}\nDaemon-Activation: {}\nDaemon-Output: {}\n",
            encode(self.daemon.as_str()),
            encode(self.activation.as_str()),
            encode(&self.output),
        )
    }

    /// Returns the default branch name of the output: `daemon/<id>/<activation>`.
    pub fn branch(&self) -> RefName {
        daemon_branch(&self.daemon, &self.activation)
    }

    /// Returns the author's and committer's name of the daemon's commits.
    pub fn name(&self) -> String {
        author_name(&self.daemon)
    }

    /// Returns the author's and committer's email address of the daemon's commits.
    pub fn email(&self) -> String {
        author_email(&self.daemon)
    }

    /// Whether `email` is the committer address of this daemon's commits.
    ///
    /// Trailers alone prove nothing: a person who copies a marked commit copies them too, but becomes its committer.
    pub fn is_committed_by(&self, email: &str) -> bool {
        email == self.email()
    }
}

/// The author and committer of commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The email address.
    pub email: String,
}

impl Author {
    /// Returns the author of a daemon's commits.
    pub fn daemon(daemon: &DaemonId) -> Self {
        Self {
            name: author_name(daemon),
            email: author_email(daemon),
        }
    }

    /// Returns the author of the commits of a one-off run.
    pub fn run(id: &str) -> Self {
        Self {
            name: format!("{} (run)", encode(id)),
            email: format!("{}@{DOMAIN}", encode(id)),
        }
    }
}

/// Returns the name under which a daemon commits.
fn author_name(daemon: &DaemonId) -> String {
    format!("{} (daemon)", encode(daemon.as_str()))
}

/// Returns the email address with which a daemon commits.
fn author_email(daemon: &DaemonId) -> String {
    format!("{}@{DOMAIN}", encode(daemon.as_str()))
}

/// Returns the branch name for the changes of an activation: `daemon/<id>/<activation>`.
pub fn daemon_branch(daemon: &DaemonId, activation: &ActivationId) -> RefName {
    let short = format!(
        "daemon/{}/{}",
        encode(daemon.as_str()),
        encode(activation.as_str())
    );
    RefName::branch(&short).expect("encoded parts satisfy every rule of git")
}

/// Returns the name of a rolling branch: `daemon/<id>/rolling`, from the second one on `daemon/<id>/rolling-<n>`.
pub fn rolling_branch(daemon: &DaemonId, n: NonZeroU32) -> RefName {
    let number = match n.get() {
        1 => String::new(),
        n => format!("-{n}"),
    };
    let short = format!("daemon/{}/{ROLLING}{number}", encode(daemon.as_str()));
    RefName::branch(&short).expect("encoded parts satisfy every rule of git")
}

/// A branch with a name that the host gives to the branches of daemons. The name alone does not prove that the host made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonBranch {
    /// The branch of an activation.
    Activation(DaemonId, ActivationId),
    /// The rolling branch with this number.
    Rolling(DaemonId, NonZeroU32),
}

impl DaemonBranch {
    /// Parses the name of a branch; returns `None` for any other.
    pub fn parse(branch: &RefName) -> Option<Self> {
        let (daemon, last) = branch
            .as_str()
            .strip_prefix("refs/heads/daemon/")?
            .split_once('/')?;
        let daemon: DaemonId = decode(daemon)?.parse().ok()?;
        let rolling = match last.strip_prefix(ROLLING) {
            Some("") => Some(NonZeroU32::MIN),
            Some(rest) => rest.strip_prefix('-').and_then(|n| n.parse().ok()),
            None => None,
        };
        let found = match rolling {
            Some(n) => Self::Rolling(daemon, n),
            None => Self::Activation(daemon, decode(last)?.parse().ok()?),
        };
        // Numbers have further spellings, such as `rolling-1` and `rolling-02`.
        (found.name() == *branch).then_some(found)
    }

    /// Returns the name.
    pub fn name(&self) -> RefName {
        match self {
            Self::Activation(daemon, activation) => daemon_branch(daemon, activation),
            Self::Rolling(daemon, n) => rolling_branch(daemon, *n),
        }
    }

    /// Returns the daemon.
    pub fn daemon(&self) -> &DaemonId {
        match self {
            Self::Activation(daemon, _) | Self::Rolling(daemon, _) => daemon,
        }
    }
}

/// Percent-encodes every byte but `A-Z a-z 0-9 _ -`.
pub fn encode(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            acc.push(char::from(byte));
        } else {
            write!(acc, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    acc
}

/// Reverses [`encode`]; returns `None` for any string that `encode` does not produce.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '%' {
            bytes.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
            rest = rest.get(3..)?;
        } else if first.is_ascii_alphanumeric() || matches!(first, '_' | '-') {
            bytes.push(u8::try_from(first).ok()?);
            rest = rest.get(1..)?;
        } else {
            return None;
        }
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|decoded| encode(decoded) == text)
}

fn last_paragraph(message: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = message.trim_end().lines().collect();
    let start = lines
        .iter()
        .rposition(|line| line.trim().is_empty())
        .map_or(lines.len(), |at| at + 1);
    // A message of one paragraph is a title, even if it looks like trailers.
    lines.into_iter().skip(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mark(id: &str) -> CommitMark {
        CommitMark {
            daemon: id.parse().unwrap(),
            activation: ActivationId::new(1_700_000_000_000, [7; 10]),
            output: "abcdefghijklmnopqrstuvwxyz".into(),
        }
    }

    #[test]
    fn trailers_are_read_from_the_last_paragraph_only() {
        let mark = mark("a b");
        let trailers = mark.trailers();
        assert!(trailers.starts_with("Daemon-Id: a%20b\n"), "{trailers}");
        assert_eq!(
            CommitMark::in_message(&format!("title\n\nbody\n\n{trailers}")),
            Some(mark.clone())
        );
        assert_eq!(
            CommitMark::in_message(&format!("title\n\n{trailers}\nReverts it.\n")),
            None
        );
        assert_eq!(CommitMark::in_message(&trailers), None);
        assert_eq!(CommitMark::in_message("title\n\nDaemon-Id: a\n"), None);
        assert_eq!(CommitMark::in_message(""), None);
    }

    #[test]
    fn only_the_daemon_itself_counts_as_committer() {
        let mark = mark("a");
        assert_eq!(
            (mark.name().as_str(), mark.email().as_str()),
            ("a (daemon)", "a@daemon.invalid")
        );
        assert!(mark.is_committed_by("a@daemon.invalid"));
        assert!(!mark.is_committed_by("ada@example.org"));
    }

    #[test]
    fn an_id_cannot_change_the_shape_of_a_branch_name() {
        for (id, encoded) in [
            ("pr-helper", "pr-helper"),
            ("../x", "%2E%2E%2Fx"),
            ("-rf", "-rf"),
            ("$(id)", "%24%28id%29"),
            ("é", "%C3%A9"),
            ("a.lock", "a%2Elock"),
        ] {
            let branch = mark(id).branch();
            assert_eq!(
                branch.short(),
                format!("daemon/{encoded}/{}", mark(id).activation)
            );
        }
    }

    #[test]
    fn names_of_branches_read_back_and_others_do_not() {
        let daemon: DaemonId = "link janitor".parse().unwrap();
        let second = NonZeroU32::new(2).unwrap();
        for branch in [
            DaemonBranch::Activation(daemon.clone(), mark("a").activation),
            DaemonBranch::Rolling(daemon.clone(), NonZeroU32::MIN),
            DaemonBranch::Rolling(daemon.clone(), second),
        ] {
            assert_eq!(DaemonBranch::parse(&branch.name()), Some(branch));
        }
        let name = rolling_branch(&daemon, second);
        assert_eq!(name.short(), "daemon/link%20janitor/rolling-2");
        for short in [
            "daemon/a/rolling-1",
            "daemon/a/rolling-02",
            "daemon/a/rolling-0",
            "daemon/a/rolling-",
            "daemon/a/rolling/x",
            "daemon/a/x",
            "daemon/a",
            "daemons/a/rolling",
        ] {
            let branch = RefName::branch(short).unwrap();
            assert_eq!(DaemonBranch::parse(&branch), None, "{short}");
        }
    }

    proptest! {
        #[test]
        fn encoded_text_reads_back(text in ".*") {
            prop_assert_eq!(decode(&encode(&text)), Some(text));
        }

        #[test]
        fn reading_any_message_does_not_panic(message in "(Daemon-(Id|Activation|Output): [%a-z0-9 ]{0,5}\n|[\n a-z%:]){0,12}") {
            let _mark: Option<CommitMark> = CommitMark::in_message(&message);
        }
    }
}
