//! How often a run's progress is written, and how much of its output.

use std::fs;

use daemon_run_folder::{Dropped, Outcome, OutputStream, Truncation, Writer};

use crate::kit::{Home, at, document, start, text};

#[test]
fn progress_is_written_four_times_a_second_and_by_the_next_tick() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    let seen = |line: &str, now| {
        writer
            .output(OutputStream::Stdout, line, Truncation::Whole, at(now))
            .unwrap();
        document(&folder).last_output
    };
    let lines = [("a", 100), ("b", 250), ("c", 499), ("d", 500)].map(|(line, now)| (line, now));
    let mut seen = seen;
    let found = lines.map(|(line, now)| seen(line, now));
    let b = Some("b".to_owned());
    assert_eq!(found, [None, b.clone(), b, Some("d".to_owned())]);
    let milliseconds = |writer: &Writer, now| writer.next_tick(at(now)).as_millis();
    assert_eq!(milliseconds(&writer, 500), 5000, "all is on the disk");
    writer
        .output(OutputStream::Stdout, "e", Truncation::Whole, at(501))
        .unwrap();
    assert_eq!(
        (milliseconds(&writer, 510), milliseconds(&writer, 900)),
        (240, 0)
    );
    writer.tick(at(5000)).unwrap();
    assert_eq!(document(&folder).last_output.as_deref(), Some("e"));
    assert_eq!(folder.last_heartbeat(), Some(at(5000)));
    assert_eq!(milliseconds(&writer, 5000), 5000);
}

#[test]
fn a_document_that_cannot_be_written_is_not_tried_without_a_pause() {
    let home = Home::new();
    let mut writer = home.run(start());
    let path = writer.folder().document();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    writer.tool_start("Read", "{}", at(1000)).unwrap_err();
    assert_eq!(writer.next_tick(at(1000)).as_millis(), 250);
    writer.tick(at(1250)).unwrap_err();
    assert_eq!(writer.next_tick(at(1250)).as_millis(), 250);
    fs::remove_dir(&path).unwrap();
    writer.tick(at(1500)).unwrap();
    let current = document(writer.folder()).current_tool;
    assert_eq!(current.as_deref(), Some("Read"));
}

#[test]
fn a_flood_of_output_stays_bounded_and_keeps_its_beginning_and_end() {
    let home = Home::new();
    let mut writer = home.run(start());
    let line = "0123456789abcdef".repeat(200);
    for n in 0..8000 {
        let line = format!("{n} {line}");
        writer
            .output(OutputStream::Stdout, &line, Truncation::Whole, at(1))
            .unwrap();
    }
    writer.provider_ended(&Outcome::Done, "ok", at(2)).unwrap();
    let logs = writer.folder().path().join("logs");
    let size = |name: &str| fs::metadata(logs.join(name)).unwrap().len() >> 20;
    assert_eq!(
        (
            size("events.jsonl"),
            size("output.1.jsonl"),
            size("output.2.jsonl")
        ),
        (8, 1, 4)
    );
    let kept: usize = ["events.jsonl", "output.1.jsonl", "output.2.jsonl"]
        .map(|name| text(logs.join(name)).matches("cli_output").count())
        .iter()
        .sum();
    assert!(text(logs.join("events.jsonl")).contains("\"text\":\"0 0123"));
    assert!(text(logs.join("output.1.jsonl")).contains("\"text\":\"7999 0123"));
    assert_eq!(writer.document().dropped.lines, 8000 - kept as u64);
    assert!(writer.document().dropped.bytes > 8 << 20);
}

#[test]
fn dropped_output_is_counted() {
    let home = Home::new();
    let mut writer = home.run(start());
    writer
        .dropped(
            Dropped {
                lines: 1,
                bytes: 10,
            },
            at(1),
        )
        .unwrap();
    writer
        .dropped(Dropped { lines: 0, bytes: 5 }, at(300))
        .unwrap();
    assert_eq!(
        document(writer.folder()).dropped,
        Dropped {
            lines: 1,
            bytes: 15
        }
    );
}
