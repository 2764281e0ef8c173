//! The machine of the measurement, as Linux describes it.

use serde::Serialize;

/// The hardware and kernel, which absolute times depend on.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    memory: String,
    kernel: String,
}

impl Machine {
    /// Reads the description; a value that cannot be read is `unknown`.
    pub(crate) fn read() -> Self {
        let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(unknown);
        let memory = field("/proc/meminfo", "MemTotal")
            .and_then(|text| gibibytes(&text))
            .unwrap_or_else(unknown);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        let kernel = kernel.map_or_else(
            |_unreadable| unknown(),
            |release| format!("Linux {}", release.trim()),
        );
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            cpu,
            cores,
            memory,
            kernel,
        }
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn gibibytes(kibibytes: &str) -> Option<String> {
    let n: u64 = kibibytes.split_whitespace().next()?.parse().ok()?;
    Some(format!("{} GiB", (n + (1 << 19)) >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_rounded_to_gibibytes() {
        assert_eq!(gibibytes("16314232 kB"), Some("16 GiB".to_owned()));
        assert_eq!(gibibytes("much"), None);
    }
}
