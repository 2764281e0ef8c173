//! What the end of a program's process means for its run.

use daemon_process::{ExitStatus, LimitReached};
use daemon_provider::{ErrorClass, Failure, FailureKind, Outcome, StopReason};

/// What is known when the process has ended.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) status: ExitStatus,
    /// The first reason the run was cancelled for.
    pub(crate) cancelled: Option<StopReason>,
    /// The limit for which its supervisor stopped it.
    pub(crate) limit: Option<LimitReached>,
    /// By how much it said that it cost too much, where it was stopped for that.
    pub(crate) over_budget: Option<String>,
    /// Whether it was stopped because it stayed after its result.
    pub(crate) overstayed: bool,
    /// What it told of its end.
    pub(crate) told: Told,
    /// Whether its exit codes say what may be tried again.
    pub(crate) codes: ExitCodes,
    /// Whether it told anything at all.
    pub(crate) has_told: bool,
    /// Whether a line that may have been an event was too long to be read.
    pub(crate) lost_event: bool,
    /// The last words on standard error.
    pub(crate) complaints: String,
}

/// What a program told of its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// It succeeded, or nothing else was owed.
    Success,
    /// It failed.
    Failure(Failure),
    /// It failed, and its complaints may say why.
    Unexplained(Failure),
}

/// What an exit code other than 0 says about trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCodes {
    /// 75 (`EX_TEMPFAIL`) is temporary, any other final.
    Conventional,
    /// Nothing: any may be temporary.
    Arbitrary,
}

const TEMPORARY: i32 = 75;
/// `SIGXFSZ`, which only the limit of one file sends, and the code by which a shell tells it.
const TOO_LARGE: i32 = 25;
const TOO_LARGE_BY_SHELL: i32 = 128 + TOO_LARGE;

impl Ending {
    /// Returns the outcome: a reason to stop comes first, then how the process ended, then what it told.
    pub(crate) fn outcome(self) -> Outcome {
        if let Some(reason) = self.cancelled {
            return Outcome::Stopped(reason);
        }
        if let Some(limit) = self.limit {
            return failed(FailureKind::Resource, excess(limit).to_owned());
        }
        if let Some(message) = self.over_budget {
            return failed(FailureKind::Budget, message);
        }
        if self.overstayed {
            return self.told();
        }
        match self.status {
            ExitStatus::Code(0) => self.told(),
            // A shell tells the death of its command by such a code.
            ExitStatus::Code(code @ (143 | 137)) => terminated(code - 128, code),
            ExitStatus::Code(TOO_LARGE_BY_SHELL) | ExitStatus::Signal(TOO_LARGE) => failed(
                FailureKind::Resource,
                "wrote a file larger than it may".to_owned(),
            ),
            ExitStatus::Code(code) => self.exited(code),
            ExitStatus::Signal(signal) => terminated(signal, -signal),
        }
    }

    fn exited(self, code: i32) -> Outcome {
        let class = match self.codes {
            ExitCodes::Conventional if code != TEMPORARY => ErrorClass::Final,
            ExitCodes::Conventional | ExitCodes::Arbitrary => ErrorClass::Retryable,
        };
        if self.codes == ExitCodes::Arbitrary && !self.has_told && refuses_flags(&self.complaints) {
            // It would do so each time.
            let message = format!("its flags were refused (exit code {code})");
            return failed(FailureKind::Spawn, explained(message, &self.complaints));
        }
        match self.told {
            // An agent that said why it fails knows more than its exit code.
            Told::Failure(failure) if self.codes == ExitCodes::Arbitrary => {
                Outcome::Failed(failure)
            }
            _ => Outcome::Failed(Failure {
                kind: FailureKind::Exit,
                class,
                // Its last words and nothing else; the folder holds the code.
                message: match self.complaints {
                    words if words.is_empty() => format!("exit code {code}"),
                    words => words,
                },
            }),
        }
    }

    fn told(self) -> Outcome {
        if self.lost_event {
            // It may have said that the run failed.
            let message = "an event of the program was too long to be read";
            return failed(FailureKind::Protocol, message.to_owned());
        }
        match self.told {
            Told::Success => Outcome::Done,
            Told::Failure(failure) => Outcome::Failed(failure),
            Told::Unexplained(failure) => Outcome::Failed(Failure {
                message: explained(failure.message, &self.complaints),
                ..failure
            }),
        }
    }
}

/// Says of what a program took too much.
pub(crate) fn excess(limit: LimitReached) -> &'static str {
    match limit {
        LimitReached::Memory => "took more memory than it may",
        LimitReached::Processes => "started more processes than it may",
        LimitReached::Disk => "filled its directories with more than they may hold",
        _ => "took more than it may",
    }
}

/// Returns whether an agent complains of what it was started with: in the words of its parser, or by its help.
fn refuses_flags(complaints: &str) -> bool {
    const WORDS: [&str; 5] = [
        "error: unknown option '--",
        "error: option '--",
        "error: unexpected argument '--",
        "error: invalid value '",
        "cannot be used with",
    ];
    let is_listed = |line: &&str| {
        line.starts_with("  ") && line.trim_start().starts_with('-') && line.contains("--")
    };
    WORDS.iter().any(|words| complaints.contains(words))
        || complaints.lines().filter(is_listed).count() > 1
}

fn explained(what: String, complaints: &str) -> String {
    if complaints.is_empty() {
        what
    } else {
        format!("{what}: {complaints}")
    }
}

fn failed(kind: FailureKind, message: String) -> Outcome {
    Outcome::Failed(Failure::new(kind, message))
}

fn terminated(signal: i32, code: i32) -> Outcome {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        6 => "SIGABRT",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => "a signal",
    };
    failed(
        FailureKind::Terminated,
        format!("terminated by an unknown sender ({name}, code {code})"),
    )
}

#[cfg(test)]
mod tests {
    use daemon_provider::ErrorClass::{Final, Retryable};

    use super::*;

    fn ending(status: ExitStatus, told: Told) -> Ending {
        Ending {
            status,
            cancelled: None,
            limit: None,
            over_budget: None,
            overstayed: false,
            told,
            codes: ExitCodes::Conventional,
            has_told: true,
            lost_event: false,
            complaints: "no such file".to_owned(),
        }
    }

    fn bad() -> Told {
        Told::Failure(Failure::new(FailureKind::Provider, "text"))
    }

    fn failure(kind: FailureKind, class: ErrorClass, message: &str) -> Outcome {
        Outcome::Failed(Failure {
            kind,
            class,
            message: message.to_owned(),
        })
    }

    #[test]
    fn the_process_counts_before_what_it_told() {
        let unknown = "terminated by an unknown sender";
        let table = [
            (ExitStatus::Code(0), Told::Success, Outcome::Done),
            (
                ExitStatus::Code(0),
                bad(),
                failure(FailureKind::Provider, Final, "text"),
            ),
            (
                ExitStatus::Code(9),
                Told::Success,
                failure(FailureKind::Exit, Final, "no such file"),
            ),
            (
                ExitStatus::Code(75),
                bad(),
                failure(FailureKind::Exit, Retryable, "no such file"),
            ),
            (
                ExitStatus::Code(143),
                Told::Success,
                failure(
                    FailureKind::Terminated,
                    Retryable,
                    &format!("{unknown} (SIGTERM, code 143)"),
                ),
            ),
            (
                ExitStatus::Signal(25),
                Told::Success,
                failure(
                    FailureKind::Resource,
                    Final,
                    "wrote a file larger than it may",
                ),
            ),
            (
                ExitStatus::Signal(9),
                Told::Success,
                failure(
                    FailureKind::Terminated,
                    Retryable,
                    &format!("{unknown} (SIGKILL, code -9)"),
                ),
            ),
        ];
        for (status, told, outcome) in table {
            let shown = format!("{status} {told:?}");
            assert_eq!(ending(status, told).outcome(), outcome, "{shown}");
        }
    }

    #[test]
    fn an_agent_knows_more_than_its_exit_code() {
        let agent = |told| Ending {
            codes: ExitCodes::Arbitrary,
            ..ending(ExitStatus::Code(1), told)
        };
        assert_eq!(
            agent(bad()).outcome(),
            failure(FailureKind::Provider, Final, "text")
        );
        assert_eq!(
            agent(Told::Success).outcome(),
            failure(FailureKind::Exit, Retryable, "no such file")
        );
    }

    #[test]
    fn an_agent_that_refuses_its_flags_is_not_started_again() {
        let told = || {
            let owed = Failure::new(FailureKind::Protocol, "it ended without a result");
            Told::Unexplained(owed)
        };
        let agent = |complaints: &str, has_told| Ending {
            codes: ExitCodes::Arbitrary,
            complaints: complaints.to_owned(),
            has_told,
            ..ending(ExitStatus::Code(2), told())
        };
        let unknown = "error: unknown option '--strict-mcp-config'";
        for complaints in [
            unknown,
            "a warning\nerror: unexpected argument '--ignore-rules' found\n\nUsage: codex exec",
            "error: invalid value 'x' for '--sandbox <SANDBOX_MODE>'",
            "error: option '--permission-mode <mode>' argument 'x' is invalid.",
            "--dangerously-skip-permissions cannot be used with root/sudo privileges",
            "  -i, --interactive  run so  [boolean]\n      --thinking  show\n      --auto  approve",
        ] {
            let message = format!("its flags were refused (exit code 2): {complaints}");
            assert_eq!(
                agent(complaints, false).outcome(),
                failure(FailureKind::Spawn, Final, &message)
            );
        }
        for ending in [agent(unknown, true), agent("no connection", false)] {
            let message = ending.complaints.clone();
            assert_eq!(
                ending.outcome(),
                failure(FailureKind::Exit, Retryable, &message)
            );
        }
    }

    #[test]
    fn a_failure_without_words_takes_the_complaints() {
        let owed = Failure::new(FailureKind::Protocol, "it ended without a result");
        let end = ending(ExitStatus::Code(0), Told::Unexplained(owed));
        let message = "it ended without a result: no such file";
        assert_eq!(
            end.outcome(),
            failure(FailureKind::Protocol, Retryable, message)
        );
    }

    #[test]
    fn what_this_side_did_counts_first() {
        let stopped = || ending(ExitStatus::Signal(15), Told::Success);
        let end = Ending {
            overstayed: true,
            ..stopped()
        };
        assert_eq!(end.outcome(), Outcome::Done);
        let end = Ending {
            limit: Some(LimitReached::Memory),
            ..stopped()
        };
        let message = "took more memory than it may";
        assert_eq!(
            end.outcome(),
            failure(FailureKind::Resource, Final, message)
        );
        let cancelled = Some(StopReason::Timeout);
        let end = Ending {
            cancelled,
            overstayed: true,
            limit: Some(LimitReached::Memory),
            ..stopped()
        };
        assert_eq!(end.outcome(), Outcome::Stopped(StopReason::Timeout));
        let end = Ending {
            cancelled,
            ..ending(ExitStatus::Code(0), Told::Success)
        };
        assert_eq!(end.outcome(), Outcome::Stopped(StopReason::Timeout));
    }
}
