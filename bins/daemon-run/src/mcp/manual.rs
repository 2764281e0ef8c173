//! The manual of one-off runs as MCP resources: a short overview, and references to read when they are needed.

use daemon_mcp::Resource;

/// The name, the description and the text of each page.
const PAGES: [(&str, &str, &str); 5] = [
    (
        "SKILL.md",
        "Start here when a one-off run is slow, has failed or must be stopped: which reference to read.",
        include_str!("manual/SKILL.md"),
    ),
    (
        "reference/forensics/SKILL.md",
        "The files in a run's folder, which field answers which question, and what exit code 143 means.",
        include_str!("manual/reference/forensics.md"),
    ),
    (
        "reference/checking/SKILL.md",
        "When and how often to check a run, and how to distinguish a stall from work.",
        include_str!("manual/reference/checking.md"),
    ),
    (
        "reference/backends/SKILL.md",
        "What each backend reports while it works, its environment, and how to send it another message.",
        include_str!("manual/reference/backends.md"),
    ),
    (
        "reference/cleanup/SKILL.md",
        "What reclaim stops and what it keeps, and how old folders are removed.",
        include_str!("manual/reference/cleanup.md"),
    ),
];

/// Returns the pages as resources.
pub(super) fn resources() -> Vec<Resource> {
    let pages = PAGES.iter().map(|(path, description, text)| Resource {
        uri: format!("skill://daemon-manual/{path}"),
        name: format!("daemon-manual/{path}"),
        description: (*description).to_owned(),
        mime_type: "text/markdown".to_owned(),
        text: (*text).to_owned(),
    });
    pages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_router_names_every_reference_and_every_page_is_a_skill() {
        let (_, _, router) = PAGES[0];
        for (path, _, text) in PAGES {
            assert!(text.starts_with("---\nname: "), "{path}");
            assert!(text.contains("\ndescription: "), "{path}");
            assert!(path == "SKILL.md" || router.contains(path), "{path}");
        }
    }
}
