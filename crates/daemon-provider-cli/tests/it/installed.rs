//! Programs that are installed as packages, where their paths are restricted.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use daemon_process::{Enclosure, Network};
use daemon_provider::Provider as _;
use daemon_provider_cli::{CommandConfig, Guarded};

use crate::kit::{Bench, Story, done, story};

/// Returns the enclosures that restrict paths and are available here; prints those that are not.
fn enclosures() -> Vec<Enclosure> {
    let report = daemon_process::probe();
    let all = [Enclosure::Confined, Enclosure::Isolated(Network::Shared)];
    let offered: Vec<Enclosure> = all
        .into_iter()
        .filter(|enclosure| enclosure.level() <= report.level)
        .collect();
    if offered.len() < all.len() {
        println!("skipped: {}", report.detail);
    }
    offered
}

fn file(bench: &Bench, path: &str, text: &str) -> PathBuf {
    let path = bench.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn run(bench: &Bench, program: &PathBuf, search: &str, enclosure: Enclosure) -> Story {
    let mut config = CommandConfig::new("command", program);
    config.program.enclosure = enclosure;
    let mut request = bench.request();
    request.environment = [("PATH".into(), search.into())].into();
    story(&mut *bench.provider(config).start(request).await.unwrap()).await
}

/// Installs an agent as npm does below a version manager: a script, its interpreter in the same version, and a sibling package
/// for this platform.
#[tokio::test]
async fn an_installed_package_starts_with_its_interpreter_and_its_siblings() {
    let bench = Bench::new();
    let version = "versions/node/v22.1.0";
    let packages = format!("{version}/lib/node_modules");
    file(&bench, "secret", "secret");
    file(&bench, "versions/secret", "secret");
    file(
        &bench,
        &format!("{version}/bin/interpreter"),
        "#!/bin/sh\nexec /bin/sh \"$@\"\n",
    );
    file(
        &bench,
        &format!("{packages}/@maker/agent/package.json"),
        "{}",
    );
    file(
        &bench,
        &format!("{packages}/@maker/agent-linux-x64/bin/agent"),
        "#!/bin/sh\necho part\n",
    );
    let root = bench.path("");
    let script = format!(
        "#!/usr/bin/env interpreter\n\"$(dirname \"$0\")/../../agent-linux-x64/bin/agent\"\n\
         cat {0}/secret {0}/versions/secret 2> /dev/null || echo hidden\n",
        root.display()
    );
    let agent = file(
        &bench,
        &format!("{packages}/@maker/agent/bin/agent.js"),
        &script,
    );
    let link = bench.path(&format!("{version}/bin/agent"));
    symlink(agent, &link).unwrap();
    let search = format!(
        "{}:/usr/bin:/bin",
        bench.path(&format!("{version}/bin")).display()
    );
    for enclosure in enclosures() {
        let told = run(&bench, &link, &search, enclosure).await;
        assert_eq!(
            told.end,
            done("part\nhidden"),
            "{enclosure:?}: {:?}",
            told.stderr
        );
    }
}

#[tokio::test]
async fn a_script_without_a_package_is_read_alone() {
    let bench = Bench::new();
    file(&bench, "secret", "secret");
    file(&bench, "beside/more", "secret");
    let script =
        "#!/bin/sh\ncd \"$(dirname \"$0\")\" && ls; cat secret beside/more || echo hidden\n";
    let script = file(&bench, "reviewer.sh", script);
    for enclosure in enclosures() {
        let told = run(&bench, &script, "/usr/bin:/bin", enclosure).await;
        let text = told.end.map(|(_, text)| text).unwrap_or_default();
        assert!(
            text.ends_with("hidden") && !text.contains("secret\n"),
            "{enclosure:?}: {text}"
        );
    }
}

#[tokio::test]
async fn a_program_whose_package_holds_something_guarded_is_not_started() {
    let bench = Bench::new();
    let secret = file(&bench, "package/etc/secret", "secret");
    file(&bench, "package/package.json", r#"{"bin": "bin/agent"}"#);
    let program = file(&bench, "package/bin/agent", "#!/bin/sh\necho started\n");
    for enclosure in enclosures() {
        let mut config = CommandConfig::new("command", &program);
        config.program.enclosure = enclosure;
        config.program.guarded = vec![Guarded {
            path: secret.clone(),
            what: "the secret".to_owned(),
        }];
        let checked = config.program.check_grants().unwrap_err();
        let refused = bench.start(config.clone()).await.err().unwrap();
        let message = format!("provider `command`: cannot run `{}`", program.display());
        assert_eq!(
            (checked.to_string(), refused.to_string()),
            (message.clone(), message)
        );
        config.program.enclosure = Enclosure::Contained;
        assert!(config.program.check_grants().is_ok());
    }
}

#[tokio::test]
async fn a_server_of_a_run_gets_its_own_package_and_none_that_holds_something_guarded() {
    let bench = Bench::new();
    let secret = file(&bench, "other/etc/secret", "secret");
    let server = |name: &str| {
        file(
            &bench,
            &format!("{name}/package.json"),
            r#"{"bin": "bin/server"}"#,
        );
        file(&bench, &format!("{name}/bin/server"), "#!/bin/sh\nexit 0\n")
    };
    let (good, bad) = (server("package"), server("other"));
    for enclosure in enclosures() {
        let mut config = CommandConfig::new("command", "/bin/sh");
        config.program.enclosure = enclosure;
        config.program.guarded = vec![Guarded {
            path: secret.clone(),
            what: "the secret".to_owned(),
        }];
        let provider = bench.provider(config);
        let companion = provider.companion(&bench.request(), &good).unwrap();
        let shown = format!("{:?}", companion.launch.sandbox);
        assert_eq!(companion.launch.sandbox.level(), enclosure.level());
        let package = format!("{:?}", bench.path("package"));
        assert!(shown.contains(&package), "{shown}");
        let refused = provider.companion(&bench.request(), &bad).unwrap_err();
        let message = format!("provider `command`: cannot run `{}`", bad.display());
        assert_eq!(refused.to_string(), message);
    }
}
