//! The limit on open files of this process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit on open files to the highest value that this process may set, and returns it; `None` is unlimited.
///
/// The usual limit of 1,024 exists for programs that call `select`, and a host exceeds it with the connections of a few runs.
///
/// # Errors
/// The error of the system if the limit cannot be set.
pub fn raise_open_files() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised)?;
    Ok(raised.current)
}

/// Returns how many files this process can have open at a time; `None` is unlimited.
pub fn most_open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::{ByteCount, Tool};

    /// Raises its own limit; does nothing if run as a test, because the limit is that of all tests.
    #[test]
    fn raises_its_limit() {
        if std::env::var_os("RAISES_ITS_LIMIT").is_none() {
            return;
        }
        let limit = getrlimit(Resource::Nofile);
        let low = Rlimit {
            current: Some(64),
            ..limit
        };
        setrlimit(Resource::Nofile, low).unwrap();
        assert_eq!(most_open_files(), Some(64));
        assert_eq!(raise_open_files().unwrap(), limit.maximum);
        assert_eq!(most_open_files(), limit.maximum);
    }

    #[test]
    fn the_limit_on_open_files_is_raised_to_the_highest_permitted_one() {
        let output = Tool::new(std::env::current_exe().unwrap())
            .args(["--exact", "open_files::tests::raises_its_limit"])
            .env("RAISES_ITS_LIMIT", "1")
            .run(Duration::from_secs(60), ByteCount(10_000));
        let printed = output.unwrap();
        let printed = String::from_utf8_lossy(&printed.stdout);
        assert!(printed.contains("1 passed"), "{printed}");
    }
}
