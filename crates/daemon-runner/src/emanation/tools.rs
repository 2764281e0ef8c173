//! The groups of tools that a run asks for.

use super::fault::CallFault;

/// The tool that no run has: a run dispatches no others.
const RECURSION: &str = "daemon";
/// Every group that exists somewhere.
const GROUPS: [&str; 7] = ["file", "script", "state", "output", "mcp", "email", "bash"];
/// Mail to other agents: the group that no host without agents serves, whatever a program brings.
const EMAIL: &str = "email";
/// The groups of a run that asks for none.
const USUAL: [&str; 2] = ["file", EMAIL];

/// The tools of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tools {
    /// What was asked for.
    pub(super) asked: Vec<String>,
    /// What it gets.
    pub(super) given: Vec<String>,
    /// Who brings them.
    pub(super) from: ToolsFrom,
}

/// Who brings the tools of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolsFrom {
    /// The host serves those that are given.
    Host,
    /// The provider's program has its own, whatever was asked for.
    Program,
}

/// Where tools come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Toolbox {
    /// The provider is an agent with tools of its own, which have names that nobody here knows.
    Own,
    /// The provider's program brings its own; a name that nobody knows is a mistake.
    Program,
    /// These groups are served.
    Served(Vec<&'static str>),
}

/// Chooses the tools of a run; `at` names its task.
pub(super) fn choose(
    at: &str,
    asked: Option<&[String]>,
    toolbox: &Toolbox,
    faults: &mut Vec<CallFault>,
) -> Tools {
    let usual = || USUAL.map(str::to_owned).to_vec();
    let is_served = |name: &String| match toolbox {
        Toolbox::Own => name != RECURSION,
        Toolbox::Program => GROUPS.contains(&name.as_str()),
        Toolbox::Served(served) => served.contains(&name.as_str()),
    };
    let from = match toolbox {
        Toolbox::Own | Toolbox::Program => ToolsFrom::Program,
        Toolbox::Served(_) => ToolsFrom::Host,
    };
    let Some(asked) = asked else {
        let asked = usual();
        return Tools {
            given: served(&asked, is_served),
            asked,
            from,
        };
    };
    let unknown: Vec<&str> = asked
        .iter()
        .filter(|name| !is_served(name))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        faults.push(CallFault::argument(format!(
            "{at}: Unknown tools for emanation: {}",
            unknown.join(", ")
        )));
    }
    Tools {
        asked: asked.to_vec(),
        given: served(asked, is_served),
        from,
    }
}

/// Keeps what is there; the run is told of the rest.
fn served(asked: &[String], is_served: impl Fn(&String) -> bool) -> Vec<String> {
    let is_there = |name: &&String| is_served(name) && *name != EMAIL;
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
            [CallFault::argument(
                "tasks[0]: Unknown tools for emanation: daemon, bash"
            )]
        );
        assert_eq!(check(Some(&["bash"]), &Toolbox::Program).1, []);
        assert_eq!(check(Some(&["web"]), &Toolbox::Program).1.len(), 1);
        assert_eq!(check(Some(&["bash", "web"]), &Toolbox::Own).1, []);
        for toolbox in [Toolbox::Own, Toolbox::Program] {
            // A program brings its own tools, but nobody's agents.
            for asked in [None, Some(["file", "email"].as_slice())] {
                let found = check(asked, &toolbox);
                assert_eq!(found, ("file".to_owned(), Vec::new()));
            }
            let (_, faults) = check(Some(&["file", "daemon"]), &toolbox);
            let message = "tasks[0]: Unknown tools for emanation: daemon";
            assert_eq!(faults, [CallFault::argument(message)]);
        }
    }
}
