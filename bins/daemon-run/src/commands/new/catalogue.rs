//! The templates of daemons: each is a directory of `templates/`.

use serde::{Deserialize, Serialize};

use super::parameters::Parameter;

/// A template, with placeholders such as `{{id}}` in its files.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) name: &'static str,
    about: &'static str,
    /// The daemon file.
    pub(crate) daemon: &'static str,
    /// Test cases of its conditions.
    pub(crate) events: &'static str,
    /// Test cases of its schedule, which hold only for the default one.
    pub(crate) ticks: Option<&'static str>,
}

/// What a template does and needs.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateAbout {
    /// One sentence without a period.
    pub(crate) summary: String,
    /// The sources and surfaces that the operator has to configure.
    pub(crate) needs: Vec<String>,
    /// The value of `policy.daemon.<id>.capability` that its outputs need.
    pub(crate) capability: String,
    /// The values of `policy.daemon.<id>.targets` that its outputs need.
    #[serde(default)]
    pub(crate) targets: Vec<String>,
    pub(crate) parameters: Vec<Parameter>,
}

macro_rules! template {
    ($name:literal $($ticks:literal)?) => {
        Template {
            name: $name,
            about: part!($name "template.json"),
            daemon: part!($name "DAEMON.md"),
            events: part!($name "events.yml"),
            ticks: [$(Some(part!($name $ticks)),)? None][0],
        }
    };
}

macro_rules! part {
    ($name:literal $file:literal) => {
        include_str!(concat!("../../../templates/", $name, "/", $file))
    };
}

/// The template that a daemon starts from if none is named.
pub(crate) const PLAIN: &str = "plain";

/// Every template, in the order in which they are listed.
pub(crate) static TEMPLATES: &[Template] = &[
    template!("plain"),
    template!("pr-helper"),
    template!("ci-medic"),
    template!("dependency-watch"),
    template!("docs-drift"),
    template!("librarian" "ticks.yml"),
    template!("link-janitor"),
    template!("release-notes"),
    template!("issue-deduper"),
    template!("bug-triage"),
    template!("security-triage"),
    template!("on-call-digest" "ticks.yml"),
    template!("stale-branch-sweep" "ticks.yml"),
];

/// Returns the names of all templates.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().map(|template| template.name)
}

/// Returns the template with a name.
pub(crate) fn named(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.name == name)
}

impl Template {
    /// Returns what the template does and needs.
    pub(crate) fn about(&self) -> TemplateAbout {
        serde_json::from_str(self.about).expect("the tests read each template")
    }
}

#[cfg(test)]
mod tests {
    use daemon_engine::proposal::{OutputCapability, VERBS};

    use super::{PLAIN, TEMPLATES, names};

    /// Services with an output or an event.
    const SERVICES: [&str; 5] = ["git", "github", "linear", "sentry", "slack"];

    #[test]
    fn outputs_that_a_template_names_exist_and_need_no_more_than_its_capability() {
        for template in TEMPLATES {
            let about = template.about();
            let capability = match about.capability.as_str() {
                "propose" => OutputCapability::Propose,
                "write" => OutputCapability::Write,
                other => panic!("{}: the capability `{other}`", template.name),
            };
            let named: Vec<_> = VERBS
                .iter()
                .filter(|row| template.daemon.contains(&format!("`{}`", row.name)))
                .collect();
            assert!(
                template.name == PLAIN || !named.is_empty(),
                "{} names no output",
                template.name
            );
            // Neither less than its outputs need nor more.
            let most = named.iter().map(|row| row.capability).max();
            let most = most.unwrap_or(OutputCapability::Propose);
            assert_eq!(most, capability, "{}", template.name);
            assert!(
                about
                    .needs
                    .iter()
                    .all(|need| SERVICES.contains(&need.as_str())),
                "{}: {:?}",
                template.name,
                about.needs
            );
        }
    }

    #[test]
    fn every_directory_of_templates_is_listed_and_its_parameters_are_used() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/templates");
        let mut folders: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        folders.sort();
        let mut listed: Vec<&str> = names().collect();
        listed.sort_unstable();
        assert_eq!(folders, listed);
        for template in TEMPLATES {
            for parameter in template.about().parameters {
                let placeholder = format!("{{{{{}}}}}", parameter.name);
                assert!(
                    template.daemon.contains(&placeholder),
                    "{}: {placeholder}",
                    template.name
                );
            }
        }
    }
}
