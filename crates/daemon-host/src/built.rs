//! When this program was built.

use jiff::Timestamp;

/// Returns when this program was built; `SOURCE_DATE_EPOCH` goes before the clock of the machine that built it.
///
/// No clock that shows an earlier instant is right, so schedules wait for one that does not.
pub fn built_at() -> Timestamp {
    env!("DAEMON_BUILT_AT")
        .parse()
        .ok()
        .and_then(|second| Timestamp::from_second(second).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::built_at;

    #[test]
    fn the_build_lies_between_the_first_version_and_now() {
        let first: jiff::Timestamp = "2024-01-01T00:00:00Z".parse().unwrap();
        assert!(built_at() > first);
        assert!(built_at() <= daemon_records::clock::now());
    }
}
