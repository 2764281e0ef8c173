//! Reads the configured MCP servers with their secrets, and checks them for `doctor`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use daemon_provider::inputs::{self, Fault, McpRegistration, McpServer};
use daemon_records::error::chain;
use daemon_runner::servers::{GrantedServer, Servers, UnusableProgram};
use serde_json::json;

use crate::config::{Config, Mcp, McpTransport};
use crate::doctor::Check;
use crate::token::{self, TokenError};

/// The error of a configured server that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpServerError {
    /// A secret cannot be read.
    #[error("a secret cannot be read")]
    Secret(#[from] TokenError),
    /// The table does not describe a server.
    #[error("mcp.{name}: {}", .fault.problem)]
    Unusable {
        /// The name of the server.
        name: String,
        /// The first error of the table.
        fault: Fault,
    },
    /// The program of the server does not exist.
    #[error(transparent)]
    Program(#[from] UnusableProgram),
}

/// Reads the servers of a configuration with their secrets: from files relative to the home, and from this process's variables.
///
/// # Errors
/// If a secret cannot be read, or a table does not describe a server.
pub fn read(home: &Path, config: &Config) -> Result<Servers, McpServerError> {
    let read = config.mcp.iter().map(|(name, given)| {
        let server = read_one(home, name, given)?;
        Ok((name.clone(), server))
    });
    Ok(Servers::new(read.collect::<Result<_, McpServerError>>()?))
}

fn read_one(home: &Path, name: &str, given: &Mcp) -> Result<GrantedServer, McpServerError> {
    let mut secrets = Vec::new();
    let registration = match given.transport() {
        McpTransport::Stdio => {
            let places = (&given.env_file, &given.env_env);
            let found = SecretValues::read(home, (name, "env"), places)?;
            let env = found.merged_with(&given.env, &mut secrets);
            json!({"name": name, "command": given.command, "args": given.args, "env": env})
        }
        McpTransport::Http => {
            let places = (&given.headers_file, &given.headers_env);
            let found = SecretValues::read(home, (name, "headers"), places)?;
            let headers = found.merged_with(&given.headers, &mut secrets);
            let url = address(home, name, given, &mut secrets)?;
            json!({"name": name, "transport": "http", "url": url, "headers": headers})
        }
    };
    let read = inputs::mcp(&[registration]).map_err(|faults| McpServerError::Unusable {
        name: name.to_owned(),
        fault: faults
            .into_iter()
            .next()
            .expect("what is refused has a fault"),
    })?;
    Ok(GrantedServer {
        registration: read.into_iter().next().expect("one was given"),
        secrets,
    })
}

/// The secret values of a server, by the names of variables or headers.
struct SecretValues(BTreeMap<String, String>);

impl SecretValues {
    /// Reads the values from files and variables; `server` and `kind` are part of the keys in error messages.
    fn read(
        home: &Path,
        (server, kind): (&str, &str),
        (files, variables): (&BTreeMap<String, PathBuf>, &BTreeMap<String, String>),
    ) -> Result<Self, TokenError> {
        let mut acc = BTreeMap::new();
        for (name, file) in files {
            let key = format!("mcp.{server}.{kind}_file.{name}");
            acc.insert(name.clone(), token::of_file(home, key, file)?);
        }
        for (name, variable) in variables {
            let key = format!("mcp.{server}.{kind}_env.{name}");
            acc.insert(name.clone(), token::of_variable(key, variable)?);
        }
        Ok(Self(acc))
    }

    /// Merges the secret values with plain ones, and adds them to `secrets`.
    fn merged_with(
        self,
        plain: &BTreeMap<String, String>,
        secrets: &mut Vec<String>,
    ) -> BTreeMap<String, String> {
        secrets.extend(self.0.values().cloned());
        let mut acc = plain.clone();
        acc.extend(self.0);
        acc
    }
}

fn address(
    home: &Path,
    name: &str,
    given: &Mcp,
    secrets: &mut Vec<String>,
) -> Result<Option<String>, TokenError> {
    let url = match (&given.url_file, &given.url_env) {
        (Some(file), _) => token::of_file(home, format!("mcp.{name}.url_file"), file)?,
        (None, Some(variable)) => token::of_variable(format!("mcp.{name}.url_env"), variable)?,
        (None, None) => return Ok(given.url.clone()),
    };
    // Redaction has to find each secret part of the address, and the whole.
    let alone = McpRegistration {
        name: name.to_owned(),
        server: McpServer::Http {
            url: url.clone(),
            headers: BTreeMap::new(),
        },
    };
    secrets.extend(alone.secrets());
    secrets.push(url.clone());
    Ok(Some(url))
}

/// Checks the servers of a configuration: their settings, programs, secrets and grants. No server is started or contacted, and
/// no secret is shown.
pub fn checks(home: &Path, config: &Config, search: &OsStr) -> Vec<Check> {
    let all = config.mcp.iter();
    all.map(|(name, given)| check(home, config, (name, given), search))
        .collect()
}

fn check(home: &Path, config: &Config, (name, given): (&str, &Mcp), search: &OsStr) -> Check {
    let title = format!("mcp {name}");
    let server = match read_one(home, name, given) {
        Ok(server) => server,
        Err(error) => return Check::fail(title, chain(&error), "see config.toml"),
    };
    let place = match server.program(search, &[]) {
        Ok(Some(program)) => format!("stdio, {}", program.display()),
        Ok(None) => "http".to_owned(),
        Err(error) => return Check::fail(title, chain(&error), "install it, or give its path"),
    };
    let grants = config.policy.daemon.iter();
    let granted: Vec<&str> = grants
        .filter(|(_, policy)| policy.mcp.iter().flatten().any(|granted| granted == name))
        .map(|(daemon, _)| daemon.as_str())
        .collect();
    let n_secrets = given.env_file.len()
        + given.env_env.len()
        + given.headers_file.len()
        + given.headers_env.len()
        + usize::from(given.url_file.is_some() || given.url_env.is_some());
    let secrets = match n_secrets {
        0 => "no secret".to_owned(),
        1 => "1 secret set".to_owned(),
        n => format!("{n} secrets set"),
    };
    match granted.as_slice() {
        [] => Check::warn(
            title,
            format!("{place}, {secrets}, granted to no daemon"),
            format!("set policy.daemon.<id>.mcp = [\"{name}\"]"),
        ),
        granted => Check::ok(
            title,
            format!("{place}, {secrets}, granted to {}", granted.join(", ")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    const TEXT: &str = "[mcp.tickets]\ncommand = 'sh'\nargs = ['-c', 'cat']\nenv = { REGION = 'eu-west' }\n\
        env_file = { TICKETS_TOKEN = 'tickets' }\n[mcp.pages]\nurl_file = 'pages'\n[policy.daemon.x]\nmcp = ['tickets']\n";

    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("tickets"), "tkt-0123456789\n").unwrap();
        let url = "https://user:pw-0123@pages.example/mcp?key=k-0123456\n";
        std::fs::write(home.path().join("pages"), url).unwrap();
        home
    }

    #[test]
    fn secrets_are_read_from_where_the_configuration_names_them_and_never_shown() {
        let home = home();
        let config = parse(TEXT).unwrap();
        let servers = read(home.path(), &config).unwrap();
        let found = servers.of(&["tickets".to_owned(), "absent".to_owned()]);
        assert_eq!(found[0].secrets, ["tkt-0123456789"]);
        let McpServer::Stdio { env, .. } = &found[0].registration.server else {
            panic!("it is a program");
        };
        let expected = [("REGION", "eu-west"), ("TICKETS_TOKEN", "tkt-0123456789")];
        assert_eq!(
            env.iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect::<Vec<_>>(),
            expected
        );
        let pages = &servers.of(&["pages".to_owned()])[0].secrets;
        for secret in ["pw-0123", "k-0123456"] {
            assert!(pages.iter().any(|known| known == secret), "{pages:?}");
        }
        assert!(!format!("{servers:?}").contains("0123"), "{servers:?}");
    }

    #[test]
    fn the_doctor_says_of_each_whether_it_is_whole_and_shows_no_secret() {
        let home = home();
        let mut config = parse(TEXT).unwrap();
        let seen = |config: &Config| {
            let all = checks(home.path(), config, OsStr::new("/usr/bin:/bin"));
            let one =
                |check: Check| format!("{} {} {}", check.status.as_str(), check.name, check.detail);
            all.into_iter().map(one).collect::<Vec<_>>()
        };
        let found = seen(&config);
        assert_eq!(
            found[0],
            "warn mcp pages http, 1 secret set, granted to no daemon"
        );
        assert!(found[1].starts_with("ok mcp tickets stdio, /"), "{found:?}");
        assert!(
            found[1].ends_with(", 1 secret set, granted to x"),
            "{found:?}"
        );
        std::fs::remove_file(home.path().join("tickets")).unwrap();
        config.mcp.get_mut("pages").unwrap().url_file = None;
        config.mcp.get_mut("pages").unwrap().command = Some("no-such-program-here".to_owned());
        let found = seen(&config);
        assert!(
            found[0].starts_with("fail mcp pages no executable file"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("fail mcp tickets a secret cannot be read: mcp.tickets.env_file.TICKETS_TOKEN: cannot read"),
            "{found:?}"
        );
    }
}
