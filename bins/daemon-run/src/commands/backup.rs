//! `backup` and `restore`: copies a home, and makes one from the copy.

use daemon_home_store::Backup;
use daemon_host::home::Home;

use crate::cli::BackupArgs;
use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;

/// Copies the home to a new directory.
pub(crate) fn back_up(args: &BackupArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let directory = place.directory.join(&args.directory);
    let now = daemon_records::clock::now();
    let made = daemon_home_store::back_up(&Home::named(place.home()?), &directory, now)?;
    show(&made, out)
}

/// Makes the home from a backup.
pub(crate) fn restore(args: &BackupArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let directory = place.directory.join(&args.directory);
    let made = daemon_home_store::restore(&directory, place.home()?)?;
    show(&made, out)
}

fn show(backup: &Backup, out: Out) -> Result<(), CommandFailure> {
    match out.is_json() {
        true => out.envelope(backup.json()),
        false => out.text(&backup.to_string()),
    }
}
