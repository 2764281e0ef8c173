//! Arguments of the commands that copy what a home has stored.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The database, postgres://USER@HOST/DATABASE [default: host.store of the configuration]
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// Gives up an import that is not finished, so that hosts can start on the old store again
    #[arg(long)]
    pub(crate) abandon: bool,
}

/// Arguments of `backup` and `restore`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The directory of the backup
    #[arg(value_name = "BACKUP")]
    pub(crate) path: PathBuf,
}
