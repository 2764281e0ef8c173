//! The hosts that a run reaches, and what its folder records of them.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::serve_sandbox::{configure, document, fire, inhabited, levels, program};
use crate::world::json_lines;

/// Asks the proxy for each host and port of its arguments, and prints the status.
const DIALS: &str = r#"cat > /dev/null
perl -MIO::Socket::INET -e '
my ($proxy) = $ENV{HTTPS_PROXY} =~ m{^http://(.*)$} or do { print "no proxy\n"; exit };
for (@ARGV) {
  my $s = IO::Socket::INET->new(PeerAddr => $proxy, Timeout => 5) or do { print "no $proxy\n"; exit };
  print $s "CONNECT $_ HTTP/1.1\r\n\r\n";
  print((split / /, <$s>)[1], "\n");
}' TARGETS > "$HOME/statuses"
"#;

/// Returns what the log of a run has of its use of the network.
fn uses(folder: &Path) -> Vec<Value> {
    let log = fs::read_to_string(folder.join("logs/events.jsonl")).expect("a log");
    json_lines(&log)
        .into_iter()
        .filter(|event| event["event"] == "network")
        .map(|event| {
            json!([
                event["host"],
                event["port"],
                event["allowed"],
                event["bytes"]
            ])
        })
        .collect()
}

#[test]
fn a_run_reaches_the_hosts_of_its_list_and_its_folder_has_each_attempt() {
    if !levels().contains(&3) {
        return;
    }
    let world = inhabited(&["listed", "none"]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listed = listener.local_addr().expect("an address").to_string();
    let others = ["169.254.169.254:80", "10.0.0.1:443", "example.com:443"];
    let targets = [&[listed.as_str()], &others[..]].concat().join(" ");
    let dials = DIALS.replace("TARGETS", &targets);
    let programs = ["listed", "none"].map(|name| (name, program(&world, name, &dials)));
    configure(
        &world,
        &programs
            .each_ref()
            .map(|(name, path)| (*name, path.as_path())),
        "",
    );
    let path = world.home.join("config.toml");
    let text = fs::read_to_string(&path).expect("the configuration");
    let section = "[provider.listed]\n";
    world.write_config(&text.replace(section, &format!("{section}egress = [{listed:?}]\n")));
    let host = world.serve();

    let folder = fire(&world, "listed");
    let statuses = fs::read_to_string(folder.join("session/statuses")).expect("it tried");
    assert_eq!(statuses, "200\n403\n403\n403\n");
    let uses = uses(&folder);
    let port: u16 = listed
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    for expected in [
        json!(["127.0.0.1", port, true, 0]),
        json!(["169.254.169.254", 80, false, 0]),
        json!(["10.0.0.1", 443, false, 0]),
        json!(["example.com", 443, false, 0]),
    ] {
        assert!(uses.contains(&expected), "{expected}: {uses:?}");
    }
    assert_eq!(uses.len(), 4, "{uses:?}");
    let detail = document(&folder)["sandbox"]["detail"].clone();
    let shown = format!("network only to {listed}");
    assert!(
        detail
            .as_str()
            .is_some_and(|detail| detail.contains(&shown)),
        "{detail}"
    );

    let folder = fire(&world, "none");
    let statuses = fs::read_to_string(folder.join("session/statuses")).expect("it tried");
    assert_eq!(statuses, "no proxy\n");
    host.stop();
}

#[test]
fn an_egress_list_that_makes_no_sense_is_refused_with_its_place() {
    let world = inhabited(&["any"]);
    let any = program(&world, "any", "cat > /dev/null\n");
    for (line, problem) in [
        (
            "egress = [\"example.com\"]",
            "`example.com` is no destination: it has no port",
        ),
        (
            "egress = []\nnetwork = false",
            "`provider.any.egress` and `network` say the same: keep one",
        ),
        (
            "sandbox_max = 0",
            "is 0, and every program has at least level 1",
        ),
        (
            "readable = [\"data\"]",
            "`data` is neither absolute nor below `~/`",
        ),
        (
            "readable = [\"/\"]",
            "which its runs may read, holds the host's home",
        ),
    ] {
        configure(&world, &[("any", &any)], "");
        let path = world.home.join("config.toml");
        let text = fs::read_to_string(&path).expect("the configuration");
        let section = "[provider.any]\n";
        world.write_config(&text.replace(section, &format!("{section}{line}\n")));
        let (code, printed) = world.refused(&[]);
        assert_eq!(code, Some(78), "{line}: {printed}");
        assert!(printed.contains(problem), "{line}: {printed}");
        assert!(printed.contains("config.toml:"), "{line}: {printed}");
    }
}
