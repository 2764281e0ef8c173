//! The arguments of listings.

use clap::Args;

/// Flags that page and filter a listing.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListingArgs {
    /// The most rows to print (1 to 500)
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
    /// Continues after a page: the `next` that the page printed
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Only rows of this daemon
    #[arg(long, value_name = "ID")]
    pub(crate) daemon: Option<String>,
    /// Only rows of this repository, by its directory or name
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<String>,
    /// Only rows in this state
    #[arg(long, value_name = "S")]
    pub(crate) state: Option<String>,
    /// Only rows since this instant (RFC 3339) or this long ago (`2h`)
    #[arg(long, value_name = "T")]
    pub(crate) since: Option<String>,
    /// Only rows until this instant (RFC 3339) or this long ago
    #[arg(long, value_name = "T")]
    pub(crate) until: Option<String>,
    /// Keeps printing new rows as they appear; with --json, one object per line
    #[arg(long)]
    pub(crate) follow: bool,
}

impl ListingArgs {
    /// Reports whether no filter leaves rows out.
    pub(crate) fn is_whole(&self) -> bool {
        let filters = [
            &self.after,
            &self.daemon,
            &self.repo,
            &self.state,
            &self.since,
            &self.until,
        ];
        filters.iter().all(|filter| filter.is_none())
    }
}
