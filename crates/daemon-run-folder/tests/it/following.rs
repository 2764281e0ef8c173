//! Reading the end of a log, and going on from there.

use daemon_run_folder::{LogPart, LogPlace, OutputLogPlace, OutputStream, Truncation, Writer};
use serde_json::{Map, Value};

use crate::kit::{Home, at, start};

/// An output line with a number, so that a test sees which lines were read.
fn line(n: usize) -> String {
    format!("{n} {}", "0123456789abcdef".repeat(200))
}

fn print(writer: &mut Writer, lines: std::ops::Range<usize>) {
    for n in lines {
        writer
            .output(OutputStream::Stdout, &line(n), Truncation::Whole, at(1))
            .unwrap();
    }
}

/// Returns the numbers of the lines of a part.
fn numbers(part: &LogPart) -> Vec<usize> {
    let lines = part.events.iter().chain(&part.output);
    lines.filter_map(number).collect()
}

fn number(line: &Map<String, Value>) -> Option<usize> {
    let text = line.get("text")?.as_str()?;
    text.split(' ').next()?.parse().ok()
}

#[test]
fn a_flood_is_followed_without_losing_or_repeating_a_line() {
    let home = Home::new();
    let mut writer = home.run(start());
    let (mut place, mut seen) = (LogPlace::default(), Vec::new());
    for batch in 0..80 {
        print(&mut writer, batch * 100..(batch + 1) * 100);
        loop {
            let part = writer.folder().log_after(place, 128 << 10).unwrap();
            seen.extend(numbers(&part));
            if part.next == place {
                break;
            }
            place = part.next;
        }
    }
    assert_eq!(seen, (0..8000).collect::<Vec<_>>());
}

#[test]
fn a_late_reader_gets_the_remaining_lines_in_order() {
    let home = Home::new();
    let mut writer = home.run(start());
    print(&mut writer, 0..3000);
    let folder = writer.folder().clone();
    let mut place = folder.log_tail(1 << 10).unwrap().next;
    print(&mut writer, 3000..8000);
    let mut seen = Vec::new();
    loop {
        let part = folder.log_after(place, 1 << 20).unwrap();
        seen.extend(numbers(&part));
        if part.next == place {
            break;
        }
        place = part.next;
    }
    let first = *seen.first().unwrap();
    assert_eq!(seen, (first..8000).collect::<Vec<_>>());
    assert!(first > 3000, "output that was overwritten is left out");
}

#[test]
fn the_tail_of_a_log_has_the_requested_length_and_can_be_continued() {
    let home = Home::new();
    let mut writer = home.run(start());
    print(&mut writer, 0..2);
    let whole = writer.folder().log_tail(1 << 20).unwrap();
    assert_eq!((numbers(&whole), whole.is_whole), (vec![0, 1], true));
    let short = writer.folder().log_tail(3_500).unwrap();
    assert_eq!((numbers(&short), short.is_whole), (vec![1], false));
    assert_eq!(short.next, whole.next);

    print(&mut writer, 2..8000);
    let tail = writer.folder().log_tail(40_000).unwrap();
    assert_eq!(
        numbers(&LogPart {
            events: Vec::new(),
            ..tail.clone()
        }),
        (7988..8000).collect::<Vec<_>>()
    );
    print(&mut writer, 8000..8001);
    let more = writer.folder().log_after(tail.next, 1 << 20).unwrap();
    assert_eq!(numbers(&more), [8000]);
}

#[test]
fn a_position_inside_a_line_moves_to_the_next_line() {
    let home = Home::new();
    let mut writer = home.run(start());
    print(&mut writer, 0..3);
    let after = |events| {
        let place = LogPlace {
            events,
            output: None,
        };
        writer.folder().log_after(place, 1 << 20).unwrap()
    };
    assert_eq!(numbers(&after(0)), [0, 1, 2]);
    // Within the first line, within the second, and beyond the end.
    assert_eq!(numbers(&after(1)), [0, 1, 2]);
    assert_eq!(numbers(&after(100)), [1, 2]);
    assert_eq!(after(1 << 40).events, Vec::new());
}

#[test]
fn an_output_position_parses_back_to_itself() {
    for text in ["1.0", "2.4194304"] {
        let place: OutputLogPlace = text.parse().unwrap();
        assert_eq!(place.to_string(), text);
    }
    for text in ["", "1", "0.1", "3.1", "1.", "1.-1", "1.x", "../1.1"] {
        assert!(text.parse::<OutputLogPlace>().is_err(), "{text}");
    }
}
