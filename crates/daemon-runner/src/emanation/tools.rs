//! The tool groups that a run requests.

use super::fault::CallFault;

/// The tool that no run gets, because runs do not dispatch runs.
const RECURSION: &str = "daemon";
/// All groups of the contract.
const GROUPS: [&str; 8] = [
    "file", "script", "state", "output", "mcp", "email", "bash", "web",
];
/// Mail to agents and other runs. No host without agents serves it, and programs have no such tool.
const EMAIL: &str = "email";
/// The groups of a run that requests none.
const USUAL: [&str; 2] = ["file", EMAIL];

/// The tools of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tools {
    /// The requested groups, served or not.
    pub(super) asked: Vec<String>,
    /// The groups that the run gets.
    pub(super) given: Vec<String>,
    /// The component that serves the groups.
    pub(super) from: ToolsFrom,
}

/// The component that serves the tools of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolsFrom {
    /// The host serves those that are given.
    Host,
    /// The provider's program, with its own tools, independent of the request.
    Program,
}

/// The tools of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Toolbox {
    /// The provider is an agent with its own tools, whose names the host does not know.
    Own,
    /// The provider's program has its own tools; a requested group must be one of the contract.
    Program,
    /// The provider serves these groups.
    Served(Vec<&'static str>),
}

/// Selects the tools of a run; `at` names its task in faults.
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
            given: served(&asked, from, is_served),
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
        given: served(asked, from, is_served),
        from,
    }
}

/// Returns the groups that are served. The prompt names the others.
fn served(asked: &[String], from: ToolsFrom, is_served: impl Fn(&String) -> bool) -> Vec<String> {
    let is_available =
        |name: &&String| is_served(name) && (*name != EMAIL || from == ToolsFrom::Host);
    asked.iter().filter(is_available).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_group_that_is_not_served_is_refused_and_a_default_one_is_dropped() {
        let served = Toolbox::Served(vec!["file", "mcp"]);
        let check = |asked: Option<&[&str]>, toolbox: &Toolbox| {
            let asked: Option<Vec<String>> =
                asked.map(|names| names.iter().map(ToString::to_string).collect());
            let mut faults = Vec::new();
            let tools = choose("tasks[0]", asked.as_deref(), toolbox, &mut faults);
            (tools.given.join(" "), faults)
        };
        assert_eq!(check(None, &served), ("file".to_owned(), Vec::new()));
        let with_agents = Toolbox::Served(vec!["file", "email"]);
        assert_eq!(
            check(None, &with_agents),
            ("file email".to_owned(), Vec::new())
        );
        let (_, faults) = check(Some(&["file", "daemon", "bash"]), &served);
        assert_eq!(
            faults,
            [CallFault::argument(
                "tasks[0]: Unknown tools for emanation: daemon, bash"
            )]
        );
        assert_eq!(check(Some(&["bash"]), &Toolbox::Program).1, []);
        assert_eq!(check(Some(&["games"]), &Toolbox::Program).1.len(), 1);
        assert_eq!(check(Some(&["bash", "games"]), &Toolbox::Own).1, []);
        for toolbox in [Toolbox::Own, Toolbox::Program] {
            // A program has its own tools, but no other agents.
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
