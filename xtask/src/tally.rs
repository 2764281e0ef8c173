//! CountedPlaces of tests, read from the output of the test runners.

use std::ops::AddAssign;

/// How many tests passed, failed and were skipped.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestCounts {
    /// Tests that ran and passed.
    pub(crate) passed: u64,
    /// Tests that ran and failed, or timed out.
    pub(crate) failed: u64,
    /// Tests that were ignored, or printed that they could not run.
    pub(crate) skipped: u64,
}

impl AddAssign for TestCounts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl TestCounts {
    /// Adds up every summary line of `cargo nextest run` and `cargo test` in the output.
    pub(crate) fn read(printed: &str) -> Self {
        let mut acc = Self::default();
        for line in printed.lines() {
            let line = without_colour(line);
            // Nextest repeats the output of a failed test, indented, including the summary of that one test.
            if let Some(counts) = line.strip_prefix("test result: ") {
                acc += Self::of_counts(counts.split(['.', ';']));
            } else if line.trim_start().starts_with("Summary [") {
                let counts = line.split_once(" run: ").map_or("", |(_, counts)| counts);
                acc += Self::of_counts(without_parentheses(counts).split(','));
            }
        }
        acc
    }

    fn of_counts<'a>(counts: impl Iterator<Item = &'a str>) -> Self {
        let mut acc = Self::default();
        for count in counts {
            let mut words = count.split_whitespace();
            let Some(Ok(n)) = words.next().map(str::parse::<u64>) else {
                continue;
            };
            match words.collect::<Vec<_>>().join(" ").as_str() {
                "passed" => acc.passed += n,
                "failed" | "timed out" | "exec failed" => acc.failed += n,
                "skipped" | "ignored" => acc.skipped += n,
                _ => {}
            }
        }
        acc
    }

    /// CountedPlaces tests that passed only because they could not run as skipped.
    pub(crate) fn set_aside(&mut self, n_skipped: u64) {
        let n_skipped = n_skipped.min(self.passed);
        self.passed -= n_skipped;
        self.skipped += n_skipped;
    }

    /// Returns the last line of the output.
    pub(crate) fn line(self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// Removes terminal escape sequences, which a runner prints if `CARGO_TERM_COLOR` is `always`.
fn without_colour(line: &str) -> String {
    let mut acc = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            acc.push(c);
        }
    }
    acc
}

/// Removes details such as `(2 slow, 1 flaky)`: those tests are counted as passed.
fn without_parentheses(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => acc.push(c),
            _ => {}
        }
    }
    acc
}

/// A test that could not run on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    /// The full name of the test.
    pub(crate) test: String,
    /// The missing program or capability, as the test printed it.
    pub(crate) reason: String,
}

/// Printed by a test that cannot run on this machine, followed by the reason.
const SKIPPED: &str = "skipped: ";

/// Finds tests that printed `skipped: REASON` in the JUnit report of nextest.
pub(crate) fn skips_of_report(xml: &str) -> Vec<Skip> {
    let mut test = "";
    let mut acc: Vec<Skip> = Vec::new();
    for line in xml.lines() {
        if let Some((_, case)) = line.split_once("<testcase name=\"") {
            test = case.split('"').next().unwrap_or(case);
        }
        let line = line
            .trim_end_matches("</system-err>")
            .trim_end_matches("</system-out>");
        push_skip(&mut acc, test, line.rsplit('>').next().unwrap_or(line));
    }
    acc
}

/// Finds tests that printed `skipped: REASON` in the output of `cargo test -- --show-output`.
pub(crate) fn skips_of_output(printed: &str) -> Vec<Skip> {
    let mut test = "";
    let mut acc: Vec<Skip> = Vec::new();
    for line in printed.lines() {
        if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|line| line.strip_suffix(" stdout ----"))
        {
            test = name;
        }
        push_skip(&mut acc, test, line);
    }
    acc
}

fn push_skip(acc: &mut Vec<Skip>, test: &str, line: &str) {
    let Some(reason) = line.trim().strip_prefix(SKIPPED) else {
        return;
    };
    if acc.last().is_none_or(|skip| skip.test != test) {
        acc.push(Skip {
            test: test.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, skipped: u64) -> TestCounts {
        TestCounts {
            passed,
            failed,
            skipped,
        }
    }

    #[test]
    fn summaries_of_cargo_test_are_added_up() {
        let printed = "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; \
                       finished in 0.00s\n\ntest result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; \
                       0 filtered out; finished in 0.01s\n";
        assert_eq!(TestCounts::read(printed), tally(3, 3, 1));
    }

    #[test]
    fn the_summary_of_nextest_counts_every_way_to_fail_once() {
        let printed = "     Summary [   1.204s] 14 tests run: 9 passed (2 slow, 1 flaky), 3 failed, 1 timed out, \
                       1 exec failed, 6 skipped\n";
        assert_eq!(TestCounts::read(printed), tally(9, 5, 6));
        let cancelled = "\u{1b}[32m     Summary\u{1b}[0m [   0.1s] 3/14 tests run: 2 passed, 1 failed, 0 skipped";
        assert_eq!(TestCounts::read(cancelled), tally(2, 1, 0));
    }

    #[test]
    fn the_summary_inside_a_failed_tests_output_is_not_counted_again() {
        let printed = "        FAIL [ 0.1s] a::it b\n  stdout ---\n    test result: FAILED. 0 passed; 1 failed; 0 ignored\n\
                       \x20    Summary [ 0.1s] 2 tests run: 1 passed, 1 failed, 0 skipped\n";
        assert_eq!(TestCounts::read(printed), tally(1, 1, 0));
    }

    #[test]
    fn text_that_looks_like_a_count_but_is_no_summary_is_not_counted() {
        assert_eq!(
            TestCounts::read("5 passed, 0 failed, 0 skipped\n12 tests run: 12 passed"),
            tally(0, 0, 0)
        );
    }

    #[test]
    fn the_closing_line_names_all_three() {
        let mut counts = tally(10, 1, 2);
        counts.set_aside(3);
        assert_eq!(counts.line(), "7 passed, 1 failed, 5 skipped");
    }

    #[test]
    fn a_test_that_says_it_was_skipped_is_found_by_name() {
        let xml = "<testcase name=\"sandbox::confines\" classname=\"a\" time=\"0\">\n\
                   <system-err>skipped: no Landlock</system-err>\n<testcase name=\"b\" classname=\"a\">\n\
                   <system-err>working\nskipped: no `bwrap`\n</system-err>\n\
                   <testcase name=\"c\" classname=\"a\">\n<system-out>running 1 test</system-out>\n";
        let skip = |test: &str, reason: &str| Skip {
            test: test.to_owned(),
            reason: reason.to_owned(),
        };
        let expected = [
            skip("sandbox::confines", "no Landlock"),
            skip("b", "no `bwrap`"),
        ];
        assert_eq!(skips_of_report(xml), expected);
        let printed = "successes:\n\n---- sandbox::confines stdout ----\nskipped: no Landlock\n";
        assert_eq!(
            skips_of_output(printed),
            [skip("sandbox::confines", "no Landlock")]
        );
    }
}
