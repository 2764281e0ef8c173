//! Messages to a run, and marks of what was published of it.

use daemon_run_folder::{
    Broken, ErrorClass, Exit, Folder, Marked, Outcome, RunError, RunNotice, RunState, Writer,
};

use crate::kit::{Home, at, document, start, text};

fn too_late() -> RunError {
    RunError {
        kind: "timeout".to_owned(),
        message: "no reply in time".to_owned(),
        class: ErrorClass::Retryable,
    }
}

#[test]
fn a_message_that_could_not_be_written_was_not_sent() {
    let home = Home::new();
    let mut writer = home.run(start());
    let path = writer.folder().document();
    std::fs::remove_file(&path).unwrap();
    // A directory in its place cannot be replaced by a file.
    std::fs::create_dir(&path).unwrap();
    writer.ask_started(at(1000)).unwrap_err();
    assert_eq!(writer.document().followups, []);
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(writer.ask_started(at(2000)).unwrap(), 1);
    assert_eq!(document(writer.folder()).followups.len(), 1);
}

#[test]
fn a_reply_that_could_not_be_written_is_recorded_once_by_a_retry() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    assert_eq!(writer.ask_started(at(1000)).unwrap(), 1);
    for path in [folder.reply(1), folder.document()] {
        if path.exists() {
            std::fs::remove_file(&path).unwrap();
        }
        // A directory in its place cannot be replaced by a file.
        std::fs::create_dir(&path).unwrap();
        writer.ask_ended(1, Ok("and tested"), at(2000)).unwrap_err();
        let asked = &writer.document().followups[0];
        assert_eq!(
            (asked.state, &asked.result_path),
            (RunState::Running, &None)
        );
        std::fs::remove_dir(&path).unwrap();
    }
    writer.ask_ended(1, Ok("and tested"), at(3000)).unwrap();
    assert_eq!(text(folder.reply(1)), "and tested");
    assert_eq!(document(&folder).followups[0].state, RunState::Done);
    let events = folder.last_events(10).unwrap().events;
    let ends = events.iter().filter(|event| event["event"] == "ask_end");
    assert_eq!(ends.count(), 1);
}

#[test]
fn replies_to_an_ended_run_do_not_change_its_end() {
    let home = Home::new();
    let mut writer = home.run(start());
    let exit = Exit::Code(0);
    writer.exited(exit, at(500)).unwrap();
    writer
        .provider_ended(&Outcome::Done, "fixed", at(1000))
        .unwrap();
    writer.finish(&Outcome::Done, at(1000)).unwrap();
    let folder = writer.folder().clone();
    drop(writer);
    let mut writer = Writer::adopt(folder.clone(), at(5000)).unwrap();
    assert_eq!(writer.ask_started(at(5000)).unwrap(), 1);
    let other = Exit::Signal(15);
    writer.exited(other, at(6000)).unwrap();
    writer.ask_ended(1, Ok("and tested"), at(6000)).unwrap();
    assert_eq!(writer.ask_started(at(7000)).unwrap(), 2);
    writer
        .ask_ended(2, Err((RunState::Timeout, too_late())), at(8000))
        .unwrap();

    let ended = document(&folder);
    let finished = ended.finished_at.map(|at| at.to_string());
    assert_eq!(
        (
            ended.state,
            ended.exit,
            ended.elapsed_s,
            finished.as_deref()
        ),
        (
            RunState::Done,
            Some(exit.into()),
            1.0,
            Some("2026-01-02T03:04:06Z")
        )
    );
    let replies: Vec<_> = ended
        .followups
        .iter()
        .map(|reply| (reply.n, reply.state, reply.error.clone()))
        .collect();
    assert_eq!(
        replies,
        [
            (1, RunState::Done, None),
            (2, RunState::Timeout, Some(too_late()))
        ]
    );
    let path = ended.followups[0].result_path.clone().unwrap();
    assert_eq!(text(&path), "and tested");
    assert!(path.ends_with("/followup-1.txt"), "{path}");
    assert_eq!(
        last_asks(&folder, 4),
        ["ask_start 1", "ask_end 1", "ask_start 2", "ask_end 2"]
    );
}

/// Returns the names and message numbers of the last events.
fn last_asks(folder: &Folder, most: usize) -> Vec<String> {
    let events = folder.last_events(most).unwrap().events;
    let asks = events.iter().map(|event| {
        let name = event["event"].as_str().unwrap();
        format!("{name} {}", event["n"].as_u64().unwrap())
    });
    asks.collect()
}

#[test]
fn exactly_one_concurrent_mark_is_first() {
    let home = Home::new();
    let folder = home.run(start()).folder().clone();
    let first = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8_u8)
            .map(|n| {
                let folder: &Folder = &folder;
                scope.spawn(move || (n, folder.mark(RunNotice::End, &[n]).unwrap()))
            })
            .collect();
        let all: Vec<_> = tries.into_iter().map(|one| one.join().unwrap()).collect();
        let first: Vec<u8> = all
            .iter()
            .filter(|(_, marked)| *marked == Marked::First)
            .map(|(n, _)| *n)
            .collect();
        let [first] = first[..] else {
            panic!("one is first: {all:?}")
        };
        for (n, marked) in all {
            assert!(n == first || marked == Marked::Before(vec![first]));
        }
        first
    });
    assert_eq!(folder.marked(RunNotice::End).unwrap(), Some(vec![first]));
    assert_eq!(folder.marked(RunNotice::Reply(1)).unwrap(), None);
    assert_eq!(
        folder.mark(RunNotice::Reply(1), b"r").unwrap(),
        Marked::First
    );
    let left = std::fs::read_dir(folder.path()).unwrap();
    let stray = left
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
    assert_eq!(stray.count(), 0);
}

#[test]
fn a_discarded_run_leaves_no_folder() {
    let home = Home::new();
    let writer = home.run(start());
    writer.discard().unwrap();
    assert_eq!(Folder::list(&home.daemons()).unwrap(), []);
}

#[test]
fn restored_returns_what_rebuild_would_write() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    drop(writer);
    std::fs::write(folder.document(), "[]").unwrap();
    let seen = folder.restored(Broken::NotObject, at(9000));
    assert_eq!(text(folder.document()), "[]");
    assert_eq!(folder.rebuild(Broken::NotObject, at(9000)).unwrap(), seen);
}
