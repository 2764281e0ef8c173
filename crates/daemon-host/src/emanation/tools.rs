//! The groups of tools that a run asks for.

use super::fault::Fault;

/// Every group that exists somewhere.
const GROUPS: [&str; 7] = ["file", "script", "state", "output", "mcp", "email", "bash"];
/// The group that no host without agents serves, whatever a program brings.
const OF_AGENTS: &str = "email";
/// The groups of a run that asks for none.
const USUAL: [&str; 2] = ["file", "email"];

/// The tools of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tools {
    /// What was asked for.
    pub(super) asked: Vec<String>,
    /// What it gets.
    pub(super) given: Vec<String>,
}

/// Where tools come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Toolbox {
    /// The provider's program brings its own, whatever is asked for.
    Own,
    /// These groups are served.
    Served(Vec<&'static str>),
}

/// Chooses the tools of a run; `at` names its task.
pub(super) fn choose(
    at: &str,
    asked: Option<&[String]>,
    toolbox: &Toolbox,
    faults: &mut Vec<Fault>,
) -> Tools {
    let usual = || USUAL.map(str::to_owned).to_vec();
    let is_served = |name: &String| match toolbox {
        Toolbox::Own => GROUPS.contains(&name.as_str()),
        Toolbox::Served(served) => served.contains(&name.as_str()),
    };
    let Some(asked) = asked else {
        let asked = usual();
        return Tools {
            given: served(&asked, is_served),
            asked,
        };
    };
    let unknown: Vec<&str> = asked
        .iter()
        .filter(|name| !is_served(name))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        faults.push(Fault::argument(format!(
            "{at}: Unknown tools for emanation: {}",
            unknown.join(", ")
        )));
    }
    Tools {
        asked: asked.to_vec(),
        given: served(asked, is_served),
    }
}

/// Keeps what is there; the run is told of the rest.
fn served(asked: &[String], is_served: impl Fn(&String) -> bool) -> Vec<String> {
    let is_there = |name: &&String| is_served(name) && *name != OF_AGENTS;
    asked.iter().filter(is_there).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_served_is_refused_where_it_is_asked_for_and_dropped_where_it_is_usual() {
        let served = Toolbox::Served(vec!["file", "mcp"]);
        let check = |asked: Option<&[&str]>, toolbox: &Toolbox| {
            let asked: Option<Vec<String>> =
                asked.map(|names| names.iter().map(ToString::to_string).collect());
            let mut faults = Vec::new();
            let tools = choose("tasks[0]", asked.as_deref(), toolbox, &mut faults);
            (tools.given.join(" "), faults)
        };
        assert_eq!(check(None, &served), ("file".to_owned(), Vec::new()));
        let (_, faults) = check(Some(&["file", "daemon", "bash"]), &served);
        assert_eq!(
            faults,
            [Fault::argument(
                "tasks[0]: Unknown tools for emanation: daemon, bash"
            )]
        );
        assert_eq!(check(Some(&["bash"]), &Toolbox::Own).1, []);
        // A program brings its own tools, but nobody's agents.
        for asked in [None, Some(["file", "email"].as_slice())] {
            let found = check(asked, &Toolbox::Own);
            assert_eq!(found, ("file".to_owned(), Vec::new()));
        }
        assert_eq!(check(Some(&["daemon"]), &Toolbox::Own).1.len(), 1);
    }
}
