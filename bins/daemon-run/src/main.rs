//! The reference runtime for DAEMON.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    daemon_run::main()
}
