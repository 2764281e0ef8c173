//! What the end of a program's process means for its run.

use daemon_process::{ExitStatus, LimitReached};
use daemon_provider::{CancelReason, Class, Failure, FailureKind, Outcome};

use super::ResultRule;

/// A failure that the program itself calls temporary (`EX_TEMPFAIL`).
const TEMPORARY: i32 = 75;

/// What is known when the process has ended.
#[derive(Debug)]
pub(crate) struct Ending<'r> {
    pub(crate) status: ExitStatus,
    /// The first reason the run was cancelled for.
    pub(crate) cancelled: Option<CancelReason>,
    /// The limit for which its supervisor stopped it.
    pub(crate) limit: Option<LimitReached>,
    /// Whether it was stopped because it stayed after its result.
    pub(crate) overstayed: bool,
    /// The last `result` line.
    pub(crate) result: Option<&'r ToldResult>,
    pub(crate) rule: ResultRule,
    /// Whether a line that may have been an event was too long to be read.
    pub(crate) lost_event: bool,
    /// The last words on standard error.
    pub(crate) complaints: String,
}

/// What a program told as its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToldResult {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

impl Ending<'_> {
    /// Returns the outcome: a reason to stop comes first, then how the process ended, then what it told.
    pub(crate) fn outcome(&self) -> Outcome {
        if let Some(reason) = self.cancelled {
            return Outcome::Stopped(reason);
        }
        if let Some(limit) = self.limit {
            let what = match limit {
                LimitReached::Memory => "took more memory than it may",
                LimitReached::Processes => "started more processes than it may",
                _ => "took more than it may",
            };
            return failed(FailureKind::Resource, what.to_owned());
        }
        if self.overstayed {
            return self.told();
        }
        match self.status {
            ExitStatus::Code(0) => self.told(),
            // A shell tells the death of its command by such a code.
            ExitStatus::Code(code @ (143 | 137)) => terminated(code - 128, code),
            ExitStatus::Code(code) => {
                let class = if code == TEMPORARY {
                    Class::Retryable
                } else {
                    Class::Final
                };
                let message = self.explained(format!("exit code {code}"));
                Outcome::Failed(Failure {
                    kind: FailureKind::Exit,
                    class,
                    message,
                })
            }
            ExitStatus::Signal(signal) => terminated(signal, -signal),
        }
    }

    fn told(&self) -> Outcome {
        if self.lost_event {
            // It may have said that the run failed.
            let message = "an event of the program was too long to be read";
            return failed(FailureKind::Protocol, message.to_owned());
        }
        match (self.result, self.rule) {
            (Some(ToldResult { ok: true, .. }), _) | (None, ResultRule::Optional) => Outcome::Done,
            (Some(ToldResult { ok: false, text }), _) => {
                let message = if text.is_empty() {
                    self.explained("the program reported a failure".to_owned())
                } else {
                    text.chars().take(500).collect()
                };
                failed(FailureKind::Provider, message)
            }
            (None, ResultRule::Required) => failed(
                FailureKind::Protocol,
                "the program ended without a result".to_owned(),
            ),
        }
    }

    fn explained(&self, what: String) -> String {
        if self.complaints.is_empty() {
            what
        } else {
            format!("{what}: {}", self.complaints)
        }
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
        25 => "SIGXFSZ",
        _ => "a signal",
    };
    failed(
        FailureKind::Terminated,
        format!("terminated by an unknown sender ({name}, code {code})"),
    )
}

#[cfg(test)]
mod tests {
    use daemon_provider::Class::{Final, Retryable};

    use super::*;

    fn ending(status: ExitStatus, result: Option<&ToldResult>) -> Ending<'_> {
        Ending {
            status,
            cancelled: None,
            limit: None,
            overstayed: false,
            result,
            rule: ResultRule::Optional,
            lost_event: false,
            complaints: "no such file".to_owned(),
        }
    }

    fn told(ok: bool) -> ToldResult {
        ToldResult {
            ok,
            text: "text".to_owned(),
        }
    }

    fn failure(kind: FailureKind, class: Class, message: &str) -> Outcome {
        Outcome::Failed(Failure {
            kind,
            class,
            message: message.to_owned(),
        })
    }

    #[test]
    fn the_process_counts_before_what_it_told() {
        let (good, bad) = (told(true), told(false));
        let unknown = "terminated by an unknown sender";
        let table = [
            (ExitStatus::Code(0), None, Outcome::Done),
            (ExitStatus::Code(0), Some(&good), Outcome::Done),
            (
                ExitStatus::Code(0),
                Some(&bad),
                failure(FailureKind::Provider, Final, "text"),
            ),
            (
                ExitStatus::Code(9),
                Some(&good),
                failure(FailureKind::Exit, Final, "exit code 9: no such file"),
            ),
            (
                ExitStatus::Code(75),
                Some(&bad),
                failure(FailureKind::Exit, Retryable, "exit code 75: no such file"),
            ),
            (
                ExitStatus::Code(143),
                None,
                failure(
                    FailureKind::Terminated,
                    Retryable,
                    &format!("{unknown} (SIGTERM, code 143)"),
                ),
            ),
            (
                ExitStatus::Signal(9),
                Some(&good),
                failure(
                    FailureKind::Terminated,
                    Retryable,
                    &format!("{unknown} (SIGKILL, code -9)"),
                ),
            ),
        ];
        for (status, result, outcome) in table {
            assert_eq!(
                ending(status, result).outcome(),
                outcome,
                "{status} {result:?}"
            );
        }
    }

    #[test]
    fn a_result_that_is_required_is_missed() {
        let end = Ending {
            rule: ResultRule::Required,
            ..ending(ExitStatus::Code(0), None)
        };
        let message = "the program ended without a result";
        assert_eq!(
            end.outcome(),
            failure(FailureKind::Protocol, Retryable, message)
        );
    }

    #[test]
    fn what_this_side_did_counts_first() {
        let good = told(true);
        let stopped = || ending(ExitStatus::Signal(15), Some(&good));
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
        let cancelled = Some(CancelReason::Timeout);
        let end = Ending {
            cancelled,
            overstayed: true,
            limit: Some(LimitReached::Memory),
            ..stopped()
        };
        assert_eq!(end.outcome(), Outcome::Stopped(CancelReason::Timeout));
        let end = Ending {
            cancelled,
            ..ending(ExitStatus::Code(0), Some(&good))
        };
        assert_eq!(end.outcome(), Outcome::Stopped(CancelReason::Timeout));
    }
}
