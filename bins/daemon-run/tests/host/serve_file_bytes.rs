//! What a provider receives: the bytes of the daemon's file, unchanged.

use std::fs;

use crate::http::pull_request_opened;
use crate::world::{World, daemon_file, watch};

/// Writes what the provider reads to a directory, under the name of the run.
const COPIES: &str = r#"out=$(mktemp "OUT/XXXXXXXX")
cat > "$out"
echo '{"daemon":"result","ok":true,"text":"read"}'
"#;

/// Returns daemons whose files are easily changed on the way.
fn daemons() -> Vec<(&'static str, String)> {
    let plain = |id| daemon_file(id, &watch(&["when a pull request is opened"]));
    let more = |id, text: &str| (id, plain(id) + text);
    vec![
        more("plain", ""),
        ("crlf", plain("crlf").replace('\n', "\r\n")),
        ("marked", format!("\u{feff}{}", plain("marked"))),
        more("spaces", "\n\n   \t \n\n\n"),
        ("unended", plain("unended").trim_end().to_owned()),
        more(
            "emoji",
            "Smörgås \u{1f56f}\u{fe0f} e\u{301} \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\n",
        ),
        more(
            "fences",
            "````\n```\n<<daemon-file>>\n---\n<!-- end -->\n\u{2028}\n",
        ),
        more("mixed", "a\r\nb\nc\r\n \r\n"),
        ("long", {
            let mut text = plain("long");
            while text.len() < 250_000 {
                text.push_str("Each note has one line, and says what was seen and where.\n");
            }
            text
        }),
    ]
}

/// Returns the daemons whose file no provider received as it is, of one event that wakes all.
fn changed(env: &[(&str, &str)]) -> Vec<&'static str> {
    let world = World::new(&[]);
    let daemons = daemons();
    for (id, text) in &daemons {
        world.write_daemon(id, text);
    }
    let commit = world.commit("daemons");
    let out = world.beside("read");
    fs::create_dir(&out).expect("a directory");
    world.script(&COPIES.replace("OUT", &out.display().to_string()));
    world.unconfined();
    let host = world.serve_with(&[], env);
    host.registered(&commit);
    let body = pull_request_opened(7);
    assert_eq!(host.hook("pull_request", "d-1", &body).status, 200);
    host.settled(daemons.len());
    let files = fs::read_dir(&out).expect("the directory");
    let read = files.map(|file| fs::read_to_string(file.expect("a file").path()));
    let read: Vec<String> = read.collect::<Result<_, _>>().expect("text");
    assert_eq!(read.len(), daemons.len());
    let has = |text: &str| read.iter().any(|context| context.contains(text));
    let changed = daemons.iter().filter(|(_, text)| !has(text));
    changed.map(|(id, _)| *id).collect()
}

/// P31.
#[test]
fn a_provider_receives_the_bytes_of_the_daemon_file() {
    assert_eq!(changed(&[]), Vec::<&str>::new());
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_trims_the_file_is_found_out() {
    let changed = changed(&[("DAEMON_CANARY", "trim-file")]);
    assert!(
        changed.contains(&"spaces") && !changed.contains(&"unended"),
        "{changed:?}"
    );
}
