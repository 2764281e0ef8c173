//! Which level this machine offers.

use super::SandboxLevel;
use super::confinement::{OLDEST_ABI, filter, landlock_abi};

/// What a machine offers, and why not more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    /// The highest level a child can be given here.
    pub level: SandboxLevel,
    /// What the level rests on and what is missing for the next, for a person.
    pub detail: String,
}

/// Asks the kernel which level a child can be given.
///
/// Level 3 is never reported: this crate does not build namespaces.
pub fn probe() -> SandboxReport {
    report(
        landlock_abi(),
        filter().err().map(|error| error.to_string()),
    )
}

fn report(abi: Option<i32>, filter_error: Option<String>) -> SandboxReport {
    let (level, detail) = match (abi, filter_error) {
        (None, _) => (
            SandboxLevel::Contained,
            "limits, process group, clean environment; the kernel offers no Landlock".to_owned(),
        ),
        (Some(abi), _) if abi < OLDEST_ABI => (
            SandboxLevel::Contained,
            format!(
                "limits, process group, clean environment; Landlock has ABI {abi}, and below {OLDEST_ABI} it cannot keep \
                 a file from being truncated"
            ),
        ),
        (Some(_), Some(error)) => (
            SandboxLevel::Contained,
            format!("limits, process group, clean environment; no system-call filter: {error}"),
        ),
        (Some(abi), None) => (
            SandboxLevel::Confined,
            format!("Landlock ABI {abi}, no new privileges, system-call filter; no namespaces"),
        ),
    };
    SandboxReport { level, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_what_the_kernel_offers() {
        let prefix = "limits, process group, clean environment; ";
        let table = [
            (
                None,
                None,
                SandboxLevel::Contained,
                format!("{prefix}the kernel offers no Landlock"),
            ),
            (
                Some(1),
                None,
                SandboxLevel::Contained,
                format!(
                    "{prefix}Landlock has ABI 1, and below 3 it cannot keep a file from being truncated"
                ),
            ),
            (
                Some(3),
                Some("invalid".to_owned()),
                SandboxLevel::Contained,
                format!("{prefix}no system-call filter: invalid"),
            ),
            (
                Some(7),
                None,
                SandboxLevel::Confined,
                "Landlock ABI 7, no new privileges, system-call filter; no namespaces".to_owned(),
            ),
        ];
        for (abi, error, level, detail) in table {
            assert_eq!(report(abi, error), SandboxReport { level, detail });
        }
    }
}
