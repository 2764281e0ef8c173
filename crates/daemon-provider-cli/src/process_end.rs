//! Maps the end of a program's process to the outcome of its run.

use daemon_process::{ExitStatus, LimitReached};
use daemon_provider::{ErrorClass, Failure, FailureKind, Outcome, StopReason};

/// Everything known about a run when its process has ended.
#[derive(Debug)]
pub(crate) struct ProcessEnd {
    pub(crate) status: ExitStatus,
    /// The first reason for which the run was cancelled.
    pub(crate) cancelled: Option<StopReason>,
    /// The limit for which the supervisor stopped it.
    pub(crate) limit: Option<LimitReached>,
    /// The message about its cost, if it was stopped for exceeding its budget.
    pub(crate) over_budget: Option<String>,
    /// Whether it was stopped because it did not exit after its result.
    pub(crate) grace_expired: bool,
    /// The end that its output reported.
    pub(crate) end: ReportedEnd,
    /// Whether its exit codes distinguish temporary from final failures.
    pub(crate) codes: ExitCodes,
    /// Whether it printed any line that its parser recognised.
    pub(crate) has_events: bool,
    /// Whether a line that may have been an event was too long to be read.
    pub(crate) lost_event: bool,
    /// The last lines of standard error.
    pub(crate) stderr: String,
}

/// The end that a program's output reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReportedEnd {
    /// It reported success, or no report is required.
    Success,
    /// It reported this failure.
    Failure(Failure),
    /// It failed without a reason; standard error may hold it.
    Unexplained(Failure),
}

/// The meaning of exit codes other than 0 for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCodes {
    /// 75 (`EX_TEMPFAIL`) is temporary, any other final.
    Conventional,
    /// No meaning: any may be temporary.
    Arbitrary,
}

const TEMPORARY: i32 = 75;
/// `SIGXFSZ`, which the kernel sends only for the file size limit, and a shell's exit code for it.
const TOO_LARGE: i32 = 25;
const TOO_LARGE_BY_SHELL: i32 = 128 + TOO_LARGE;

impl ProcessEnd {
    /// Returns the outcome. A reason to stop has precedence, then the exit status, then the report of the program.
    pub(crate) fn outcome(self) -> Outcome {
        // The exit status of a stopped process says only that it was stopped.
        if let Some(reason) = self.cancelled {
            return Outcome::Stopped(reason);
        }
        if let Some(limit) = self.limit {
            return failed(FailureKind::Resource, excess(limit).to_owned());
        }
        if let Some(message) = self.over_budget {
            return failed(FailureKind::Budget, message);
        }
        // The result was there before this process was stopped, so that its exit status is ours and not the program's.
        if self.grace_expired {
            return self.reported();
        }
        match self.status {
            ExitStatus::Code(0) => self.reported(),
            // A shell exits with 128 plus the signal that killed its command.
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
        if self.codes == ExitCodes::Arbitrary && !self.has_events && refuses_flags(&self.stderr) {
            // Final: the next attempt would pass the same flags.
            let message = format!("its flags were refused (exit code {code})");
            return failed(FailureKind::Spawn, explained(message, &self.stderr));
        }
        match self.end {
            // `claude` exits with 1 for every error result, so its message has precedence over the code.
            ReportedEnd::Failure(failure) if self.codes == ExitCodes::Arbitrary => {
                Outcome::Failed(failure)
            }
            _ => Outcome::Failed(Failure {
                kind: FailureKind::Exit,
                class,
                // Only the text of standard error: the exit code is recorded in the run folder.
                message: match self.stderr {
                    words if words.is_empty() => format!("exit code {code}"),
                    words => words,
                },
            }),
        }
    }

    fn reported(self) -> Outcome {
        if self.lost_event {
            // The line that was lost may have reported a failure.
            let message = "an event of the program was too long to be read";
            return failed(FailureKind::Protocol, message.to_owned());
        }
        match self.end {
            ReportedEnd::Success => Outcome::Done,
            ReportedEnd::Failure(failure) => Outcome::Failed(failure),
            ReportedEnd::Unexplained(failure) => Outcome::Failed(Failure {
                message: explained(failure.message, &self.stderr),
                ..failure
            }),
        }
    }
}

/// Describes the limit that a program reached.
pub(crate) fn excess(limit: LimitReached) -> &'static str {
    match limit {
        LimitReached::Memory => "took more memory than it may",
        LimitReached::Processes => "started more processes than it may",
        LimitReached::Disk => "filled its directories with more than they may hold",
        _ => "took more than it may",
    }
}

/// Reports whether standard error holds the message of an argument parser, or the list of flags that `opencode` prints.
fn refuses_flags(stderr: &str) -> bool {
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
    WORDS.iter().any(|words| stderr.contains(words)) || stderr.lines().filter(is_listed).count() > 1
}

fn explained(what: String, stderr: &str) -> String {
    if stderr.is_empty() {
        what
    } else {
        format!("{what}: {stderr}")
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

    fn ending(status: ExitStatus, end: ReportedEnd) -> ProcessEnd {
        ProcessEnd {
            status,
            cancelled: None,
            limit: None,
            over_budget: None,
            grace_expired: false,
            end,
            codes: ExitCodes::Conventional,
            has_events: true,
            lost_event: false,
            stderr: "no such file".to_owned(),
        }
    }

    fn bad() -> ReportedEnd {
        ReportedEnd::Failure(Failure::new(FailureKind::Provider, "text"))
    }

    fn failure(kind: FailureKind, class: ErrorClass, message: &str) -> Outcome {
        Outcome::Failed(Failure {
            kind,
            class,
            message: message.to_owned(),
        })
    }

    #[test]
    fn the_exit_status_has_precedence_over_the_report() {
        let unknown = "terminated by an unknown sender";
        let table = [
            (ExitStatus::Code(0), ReportedEnd::Success, Outcome::Done),
            (
                ExitStatus::Code(0),
                bad(),
                failure(FailureKind::Provider, Final, "text"),
            ),
            (
                ExitStatus::Code(9),
                ReportedEnd::Success,
                failure(FailureKind::Exit, Final, "no such file"),
            ),
            (
                ExitStatus::Code(75),
                bad(),
                failure(FailureKind::Exit, Retryable, "no such file"),
            ),
            (
                ExitStatus::Code(143),
                ReportedEnd::Success,
                failure(
                    FailureKind::Terminated,
                    Retryable,
                    &format!("{unknown} (SIGTERM, code 143)"),
                ),
            ),
            (
                ExitStatus::Signal(25),
                ReportedEnd::Success,
                failure(
                    FailureKind::Resource,
                    Final,
                    "wrote a file larger than it may",
                ),
            ),
            (
                ExitStatus::Signal(9),
                ReportedEnd::Success,
                failure(
                    FailureKind::Terminated,
                    Retryable,
                    &format!("{unknown} (SIGKILL, code -9)"),
                ),
            ),
        ];
        for (status, end, outcome) in table {
            let shown = format!("{status} {end:?}");
            assert_eq!(ending(status, end).outcome(), outcome, "{shown}");
        }
    }

    #[test]
    fn the_report_of_an_agent_has_precedence_over_its_exit_code() {
        let agent = |end| ProcessEnd {
            codes: ExitCodes::Arbitrary,
            ..ending(ExitStatus::Code(1), end)
        };
        assert_eq!(
            agent(bad()).outcome(),
            failure(FailureKind::Provider, Final, "text")
        );
        assert_eq!(
            agent(ReportedEnd::Success).outcome(),
            failure(FailureKind::Exit, Retryable, "no such file")
        );
    }

    #[test]
    fn an_agent_that_refuses_its_flags_is_not_started_again() {
        let end = || {
            let owed = Failure::new(FailureKind::Protocol, "it ended without a result");
            ReportedEnd::Unexplained(owed)
        };
        let agent = |stderr: &str, has_events| ProcessEnd {
            codes: ExitCodes::Arbitrary,
            stderr: stderr.to_owned(),
            has_events,
            ..ending(ExitStatus::Code(2), end())
        };
        let unknown = "error: unknown option '--strict-mcp-config'";
        for stderr in [
            unknown,
            "a warning\nerror: unexpected argument '--ignore-rules' found\n\nUsage: codex exec",
            "error: invalid value 'x' for '--sandbox <SANDBOX_MODE>'",
            "error: option '--permission-mode <mode>' argument 'x' is invalid.",
            "--dangerously-skip-permissions cannot be used with root/sudo privileges",
            "  -i, --interactive  run so  [boolean]\n      --thinking  show\n      --auto  approve",
        ] {
            let message = format!("its flags were refused (exit code 2): {stderr}");
            assert_eq!(
                agent(stderr, false).outcome(),
                failure(FailureKind::Spawn, Final, &message)
            );
        }
        for ending in [agent(unknown, true), agent("no connection", false)] {
            let message = ending.stderr.clone();
            assert_eq!(
                ending.outcome(),
                failure(FailureKind::Exit, Retryable, &message)
            );
        }
    }

    #[test]
    fn a_failure_without_a_reason_includes_standard_error() {
        let owed = Failure::new(FailureKind::Protocol, "it ended without a result");
        let end = ending(ExitStatus::Code(0), ReportedEnd::Unexplained(owed));
        let message = "it ended without a result: no such file";
        assert_eq!(
            end.outcome(),
            failure(FailureKind::Protocol, Retryable, message)
        );
    }

    #[test]
    fn a_stop_by_the_host_has_precedence_over_the_exit_status() {
        let stopped = || ending(ExitStatus::Signal(15), ReportedEnd::Success);
        let end = ProcessEnd {
            grace_expired: true,
            ..stopped()
        };
        assert_eq!(end.outcome(), Outcome::Done);
        let end = ProcessEnd {
            limit: Some(LimitReached::Memory),
            ..stopped()
        };
        let message = "took more memory than it may";
        assert_eq!(
            end.outcome(),
            failure(FailureKind::Resource, Final, message)
        );
        let cancelled = Some(StopReason::Timeout);
        let end = ProcessEnd {
            cancelled,
            grace_expired: true,
            limit: Some(LimitReached::Memory),
            ..stopped()
        };
        assert_eq!(end.outcome(), Outcome::Stopped(StopReason::Timeout));
        let end = ProcessEnd {
            cancelled,
            ..ending(ExitStatus::Code(0), ReportedEnd::Success)
        };
        assert_eq!(end.outcome(), Outcome::Stopped(StopReason::Timeout));
    }
}
