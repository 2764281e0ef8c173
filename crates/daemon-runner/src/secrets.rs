//! The secrets of the host itself, which no record and no log may contain.

use std::sync::{Arc, Mutex, MutexGuard};

use daemon_provider::redact::Redactor;

/// The secrets that the configuration of a host names; a clone shares them, so that logs are redacted as soon as one is read.
#[derive(Clone, Debug, Default)]
pub struct HostSecrets {
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    secrets: Vec<String>,
    redactor: Redactor,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.secrets.len())
    }
}

impl HostSecrets {
    /// Adds secrets. Those of an earlier configuration stay: runs that began under it may still print them.
    pub fn add(&self, mut secrets: Vec<String>) {
        let mut known = self.known();
        secrets.append(&mut known.secrets);
        secrets.sort();
        secrets.dedup();
        known.redactor = Redactor::of(secrets.clone());
        known.secrets = secrets;
    }

    /// Returns a redactor of the secrets.
    pub fn redactor(&self) -> Redactor {
        self.known().redactor.clone()
    }

    /// Returns a string without the secrets, for what others wrote: a service or git may repeat a token in an error.
    pub fn removed_from(&self, text: &str) -> String {
        self.redactor().text(text).into_owned()
    }

    /// Returns a redactor of the secrets and those of one run.
    pub(crate) fn and(&self, more: impl IntoIterator<Item = String>) -> Redactor {
        let own = self.known().secrets.clone();
        Redactor::of(own.into_iter().chain(more))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no holder panics")
    }
}

#[cfg(test)]
mod tests {
    use super::HostSecrets;

    #[test]
    fn secrets_of_an_earlier_configuration_stay_secret() {
        let secrets = HostSecrets::default();
        secrets.add(vec!["hook-secret-1".to_owned(), "tok-1".to_owned()]);
        secrets.add(Vec::new());
        let text = secrets.redactor().text("a hook-secret-1 b").into_owned();
        assert_eq!(text, "a <redacted> b");
        let redactor = secrets.and(["run-secret".to_owned()]);
        assert_eq!(redactor.text("run-secret tok-1x"), "<redacted> <redacted>x");
    }
}
