//! The manual of one-off runs, as resources: a short router, and references to read when they are needed.

use daemon_mcp::Resource;

/// Name, when to read it, text.
const PAGES: [(&str, &str, &str); 5] = [
    (
        "SKILL.md",
        "Where to look when a one-off run is slow, failed or in the way: which reference to read.",
        include_str!("manual/SKILL.md"),
    ),
    (
        "reference/forensics/SKILL.md",
        "What a run's folder holds, which field answers which question, and what exit code 143 means.",
        include_str!("manual/reference/forensics.md"),
    ),
    (
        "reference/checking/SKILL.md",
        "When to check a run and how often, and how to tell a stall from work.",
        include_str!("manual/reference/checking.md"),
    ),
    (
        "reference/backends/SKILL.md",
        "What each backend shows while it works, what it is given, and how it is asked again.",
        include_str!("manual/reference/backends.md"),
    ),
    (
        "reference/cleanup/SKILL.md",
        "What reclaim ends and what it leaves, and how old folders go.",
        include_str!("manual/reference/cleanup.md"),
    ),
];

/// Returns the pages.
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
