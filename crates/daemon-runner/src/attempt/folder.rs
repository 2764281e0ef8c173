//! The folder of an attempt: the context that the run may read, and the start files.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use daemon_engine::Activation;
use daemon_provider::MicroUsd;
use daemon_run_folder::{ActivationLink, Folder, Handle, RunStart, UnsyncedStart, sha256};

use super::place::Prepared;
use crate::run_context::RunContext;
use crate::runs::{Attempt, Record, RecordError, bound, environment_secrets, owner};

/// Creates the folder with its context and start files, which are not on disk yet.
pub(super) fn begin(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    secrets: Vec<String>,
) -> Result<(Record, UnsyncedStart), RecordError> {
    let now = run_context.now();
    let parent = format!("daemon:{}", activation.daemon.id);
    let handle = Handle(run_context.handles.next(&parent));
    let reserved = Folder::reserve(&run_context.paths.runs.clone(), handle, now)?;
    write_context(reserved.folder(), prepared)?;
    let prompt = prepared.context.bytes.clone();
    let task = prepared.context.task.clone();
    let provider = &*prepared.provider;
    let mut start = RunStart::new(&parent, owner()?, provider.name(), &task, prompt);
    start.activation = Some(ActivationLink {
        daemon: activation.daemon.id.to_string(),
        activation_id: activation.id.to_string(),
        attempt: activation.attempts,
        run_lease: activation.run_lease.0,
    });
    // The hash of the bytes that are sent; the stored prompt is redacted and has another one.
    start.prompt_sha256 = sha256(&prepared.context.bytes);
    bound(
        &mut start,
        provider,
        prepared.policy.permissions,
        &prepared.limits,
        &prepared.sandbox,
    );
    start.budget.reserved_usd = prepared.reserved.map(MicroUsd::as_usd);
    let attempt = Attempt {
        activation: activation.id.clone(),
        daemon: activation.daemon.clone(),
        number: activation.attempts,
    };
    let secrets = environment_secrets(&prepared.environment).chain(secrets);
    let redactor = run_context.secrets.and(secrets);
    let clock = Arc::clone(&run_context.clock);
    Ok(Record::begin(reserved, start, redactor, attempt, clock)?)
}

/// Writes the files that a run may read about its activation.
fn write_context(folder: &Folder, prepared: &Prepared) -> Result<(), RecordError> {
    let context = folder.context();
    // Only the user of the host may read them: payloads can contain private data.
    let make = |path: &Path| fs::DirBuilder::new().mode(0o700).create(path);
    let write = |name: &str, bytes: &[u8]| {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(context.join(name))?;
        file.write_all(bytes)
    };
    let written = (|| {
        make(&context)?;
        write("DAEMON.md", &prepared.daemon_file)?;
        write(
            "trigger.json",
            prepared.context.trigger.to_string().as_bytes(),
        )?;
        write("state.json", prepared.context.state.to_string().as_bytes())?;
        if let Some(newest) = prepared.events.last() {
            write("event.json", &newest.event.payload)?;
        }
        // A single event is already in `event.json`.
        if prepared.events.len() > 1 {
            make(&context.join("events"))?;
            for row in &prepared.events {
                write(&format!("events/{}.json", row.event.id), &row.event.payload)?;
            }
        }
        Ok(())
    })();
    written.map_err(RecordError::Context)?;
    if !prepared.support.files.is_empty() {
        let into = context.join("support");
        prepared
            .repo
            .repository
            .materialise(&prepared.support, &into)
            .map_err(RecordError::Support)?;
    }
    Ok(())
}
