//! The scratch repository of the tour, with real files and commits.

use std::fs;

use crate::failure::CommandFailure;
use crate::place::Place;
use crate::scratch::Scratch;

const LINK_JANITOR: &str = include_str!("link-janitor.md");
const RELEASE_SCRIBE: &str = include_str!("release-scribe.md");

/// The name of the repository, as webhooks give it.
pub(crate) const REPOSITORY: &str = "lamps/lantern";
/// The configuration of the home. By default `builtin` only reports; the tour shows a repair.
pub(crate) const SCRATCH_CONFIG: &str = "[[repo]]\npath = \"../lantern\"\nname = \"lamps/lantern\"\n\n[provider.builtin]\nrepair = true\n";

/// The documents of the scratch repository before the move.
const DOCUMENTS: [(&str, &str); 5] = [
    (
        "README.md",
        "# Lantern\n\nA small lamp. Start with [the setup](docs/setup.md), then read [the guide](docs/guide.md).\n",
    ),
    (
        "docs/guide.md",
        "# Guide\n\nFirst follow [the setup](setup.md).\n\n## Wick\n\nTrim it once a week.\n",
    ),
    (
        "docs/setup.md",
        "# Setup\n\nUnpack the lamp. Fill it. Light it.\n",
    ),
    (
        "docs/faq.md",
        "# Questions\n\nIs there a [wiring plan](wiring.md)? Yes. Else ask.\n",
    ),
    ("docs/wiring.md", "# Wiring\n\nA lantern has none.\n"),
];

/// Creates the repository with a first commit, and a home.
pub(crate) fn make(place: &Place) -> Result<Scratch, CommandFailure> {
    let scratch = Scratch::new(place, "daemon-demo-", "lantern")?;
    let daemons = [
        (".agents/daemons/link-janitor/DAEMON.md", LINK_JANITOR),
        (".agents/daemons/release-scribe/DAEMON.md", RELEASE_SCRIBE),
    ];
    for (path, text) in DOCUMENTS.into_iter().chain(daemons) {
        scratch.write(&format!("lantern/{path}"), text)?;
    }
    scratch.commit("Light the lantern")?;
    scratch.write("home/config.toml", SCRATCH_CONFIG)?;
    Ok(scratch)
}

/// Commits the move of one document that others link to and the removal of another. One broken link can be repaired, the
/// other is left for a human.
pub(crate) fn move_setup(scratch: &Scratch) -> Result<String, CommandFailure> {
    let docs = scratch.repository().join("docs");
    let moved = fs::create_dir(docs.join("start"))
        .and_then(|()| fs::rename(docs.join("setup.md"), docs.join("start/setup.md")))
        .and_then(|()| fs::remove_file(docs.join("wiring.md")));
    moved.map_err(|error| CommandFailure::unwritable(&docs, &error))?;
    scratch.commit("Move the setup into its own folder, drop the wiring plan")
}
