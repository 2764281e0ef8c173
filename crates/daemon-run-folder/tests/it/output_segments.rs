//! Where output goes when there is much of it.

use std::fs;

use daemon_run_folder::{Folder, OutputStream, Truncation, Writer};

use crate::kit::{Home, at, document, start};

const EVENTS: u64 = 8 << 20;
const SEGMENT: u64 = 4 << 20;
/// How long the row of a line of 3,900 characters is at most.
const ROW: u64 = 4_100;

/// Writes lines `from..to`, each with its number in front.
fn write(writer: &mut Writer, from: u64, to: u64) {
    let filler = "x".repeat(3_900);
    for n in from..to {
        let line = format!("{n:06} {filler}");
        writer
            .output(OutputStream::Stdout, &line, Truncation::Whole, at(1))
            .unwrap();
    }
}

fn path(folder: &Folder, name: &str) -> std::path::PathBuf {
    folder.path().join("logs").join(name)
}

fn size(folder: &Folder, name: &str) -> u64 {
    fs::metadata(path(folder, name)).map_or(0, |metadata| metadata.len())
}

/// Returns the numbers of the lines that a file holds.
fn numbers(folder: &Folder, name: &str) -> Vec<u64> {
    let text = fs::read_to_string(path(folder, name)).unwrap_or_default();
    let texts = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["text"].as_str().map(str::to_owned)
    });
    let numbers = texts.flatten().map(|text| text[..6].parse().unwrap());
    numbers.collect()
}

const NAMES: [&str; 3] = ["events.jsonl", "output.1.jsonl", "output.2.jsonl"];

#[test]
fn output_after_eight_mebibytes_alternates_between_two_segments() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    write(&mut writer, 0, 2_000);
    let sizes = NAMES.map(|name| size(&folder, name));
    assert!(sizes[0] < EVENTS && sizes[1..] == [0, 0], "{sizes:?}");
    // Fills the log and both segments, then the first segment again and the beginning of the second.
    write(&mut writer, 2_000, 5_500);
    let [events, first, second] = NAMES.map(|name| numbers(&folder, name));
    let sizes = NAMES.map(|name| size(&folder, name));
    assert!((EVENTS..EVENTS + ROW).contains(&sizes[0]), "{sizes:?}");
    assert!((SEGMENT..SEGMENT + ROW).contains(&sizes[1]), "{sizes:?}");
    assert!(sizes[2] > 0 && sizes[2] < SEGMENT, "{sizes:?}");
    assert_eq!(events, (0..events.len() as u64).collect::<Vec<_>>());
    let kept: Vec<u64> = first.iter().chain(&second).copied().collect();
    let begin = 5_500 - kept.len() as u64;
    assert_eq!(
        kept,
        (begin..5_500).collect::<Vec<_>>(),
        "the newest, without a gap"
    );
    let dropped = writer.document().dropped;
    assert_eq!(dropped.lines, begin - events.len() as u64);
    assert!(dropped.bytes > dropped.lines * 3_900, "{dropped:?}");
}

#[test]
fn an_adopting_writer_continues_the_output() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    write(&mut writer, 0, 3_800);
    let dropped = writer.document().dropped;
    assert_eq!(dropped.lines, 0);
    drop(writer);
    let held = numbers(&folder, NAMES[1]).len() as u64;
    let mut writer = Writer::adopt(folder.clone(), at(2)).unwrap();
    write(&mut writer, 3_800, 4_500);
    let sizes = NAMES.map(|name| size(&folder, name));
    assert!((EVENTS..EVENTS + ROW).contains(&sizes[0]), "{sizes:?}");
    let [_, first, second] = NAMES.map(|name| numbers(&folder, name));
    let kept: Vec<u64> = second.iter().chain(&first).copied().collect();
    let begin = 4_500 - kept.len() as u64;
    assert_eq!(kept, (begin..4_500).collect::<Vec<_>>());
    assert_eq!(
        writer.document().dropped.lines,
        held,
        "the first segment was emptied"
    );
    writer.tick(at(9_000)).unwrap();
    assert_eq!(document(&folder).dropped.lines, held);
}
