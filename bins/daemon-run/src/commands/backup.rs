//! `backup` and `restore`: copies a home, and makes one from the copy.

use std::path::Path;

use daemon_home_store::Backup;
use daemon_host::home::Home;
use daemon_records::error::OpError;

use crate::cli::BackupArgs;
use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;

/// Makes or restores a backup, and prints what it has.
pub(crate) fn run(
    action: fn(&Home, &Path) -> Result<Backup, OpError>,
    args: &BackupArgs,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    let path = place.directory.join(&args.path);
    let backup = action(&Home::named(place.home()?), &path)?;
    out.either(backup.json(), &backup.to_string())
}
