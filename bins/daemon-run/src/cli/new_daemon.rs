//! The arguments of `new`.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::commands::new;

/// Arguments of `new`.
#[derive(Debug, Default, Args)]
pub(crate) struct NewArgs {
    /// The daemon's id: lower-case words joined by `-`; by default the template's name
    pub(crate) id: Option<String>,
    /// The template to start from; by default the one with the id's name, or `plain`
    #[arg(long, value_parser = PossibleValuesParser::new(new::names()), value_name = "T")]
    pub(crate) template: Option<String>,
    /// The value of a parameter of the template; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Lists the templates
    #[arg(long, conflicts_with_all = ["id", "template", "set", "show", "watch", "schedule"])]
    pub(crate) list: bool,
    /// Prints a template: its parameters, what it needs, and its daemon file
    #[arg(
        long,
        value_parser = PossibleValuesParser::new(new::names()),
        value_name = "T",
        conflicts_with_all = ["id", "template", "set", "watch", "schedule"]
    )]
    pub(crate) show: Option<String>,
    /// An event condition; may be repeated
    #[arg(long, value_name = "W")]
    pub(crate) watch: Vec<String>,
    /// A five-field cron expression
    #[arg(long, value_name = "C")]
    pub(crate) schedule: Option<String>,
}
