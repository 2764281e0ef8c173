//! The runner itself: what it compares, and what it refuses.

use expect_test::{Expect, expect};

use super::{document, runner};

/// Runs one block of commands whose expected output is wrong, and compares what the program gave instead.
#[track_caller]
fn check_difference(commands: &str, actual: &str) {
    let expected = console(commands);
    let found = runner::run(&expected).expect("it runs");
    assert_eq!(found, console(actual));
    document::compare(&expected, &found).expect_err("it differs");
}

#[track_caller]
fn check_refusal(text: &str, expected: Expect) {
    expected.assert_eq(&runner::run(text).expect_err("it is refused"));
}

#[track_caller]
fn check_holds(commands: &str) {
    let text = console(commands);
    let actual = runner::run(&text).expect("it runs");
    assert_eq!(actual, text);
}

fn console(commands: &str) -> String {
    format!("```console\n{commands}\n```\n")
}

#[test]
fn standard_output_standard_error_and_the_exit_code_are_compared() {
    check_holds("$ echo out; echo err >&2; exit 3\nout\n! err\n? 3");
    check_difference("$ echo out", "$ echo out\nout");
    check_difference("$ echo out\nin", "$ echo out\nout");
    check_difference("$ echo out >&2\nout", "$ echo out >&2\n! out");
    check_difference("$ exit 3", "$ exit 3\n? 3");
    check_difference("$ exit 3\n? 4", "$ exit 3\n? 3");
    check_difference("$ true\n? 1", "$ true");
}

#[test]
fn output_that_looks_like_a_command_is_quoted() {
    check_holds("$ printf '$ x\\n! y\\n? 1\\n| z\\n...\\n'\n| $ x\n| ! y\n| ? 1\n| | z\n| ...");
    check_holds("$ printf x\nx\n| (no newline at the end)");
}

#[test]
fn a_line_of_three_dots_matches_any_lines() {
    check_holds("$ seq 5\n1\n...\n5");
    check_difference("$ seq 5\n1\n...\n4", "$ seq 5\n1\n2\n3\n4\n5");
}

#[test]
fn the_same_word_has_the_same_placeholder_and_another_word_another() {
    let one = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let two = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
    check_holds(&format!(
        "$ echo {one} {two} {one}.\n[ID_1] [ID_2] [ID_1].\n$ echo is [ID_2]\nis [ID_2]"
    ));
    check_difference(
        &format!("$ echo {one} {two}\n[ID_1] [ID_1]"),
        &format!("$ echo {one} {two}\n[ID_1] [ID_2]"),
    );
    check_holds(
        "$ echo em-3-20261123-015152-00ff00 dg-20261123-015152-00ff00 em-3\n[RUN_1] [GROUP_1] em-3",
    );
    check_holds(&format!(
        "$ echo {} {}\n{} [COMMIT_1]",
        "2".repeat(40),
        "2f".repeat(20),
        "2".repeat(40)
    ));
    check_holds("$ echo 127.0.0.1:40000 127.0.0.1:80\n127.0.0.1:[PORT] 127.0.0.1:80");
    check_holds("$ pwd\n[ROOT]/lamp");
}

#[test]
fn an_instant_of_the_run_is_replaced_and_any_other_is_compared() {
    check_holds(
        "$ date -u +%Y-%m-%dT%H:%M:%SZ\n[TIME]\n$ echo 2020-01-01T00:00:00Z\n2020-01-01T00:00:00Z",
    );
    check_difference(
        "$ echo 2020-01-01T00:00:00Z\n[TIME]",
        "$ echo 2020-01-01T00:00:00Z\n2020-01-01T00:00:00Z",
    );
}

#[test]
fn fields_of_an_object_are_selected() {
    check_holds(
        "$ echo '{\"a\":[{\"b\":1},{\"b\":2}],\"pid\":7}' | fields a.1.b a.*.b a.# pid none\n\
         a.1.b = 2\na.*.b = [1,2]\na.# = 2\npid = \"[PID]\"\nnone = absent",
    );
    check_refusal(
        &console("$ echo 1; echo 2 | fields a"),
        expect![[r#"
        line 2: no JSON object: 1
        2
    "#]],
    );
    check_refusal(
        &console("$ echo text --json"),
        expect!["line 2: `--json` printed a line that is no object: text --json"],
    );
}

#[test]
fn changes_are_those_of_files_since_the_last_time() {
    check_holds(
        "$ changes\n$ echo x > a; mkdir d\n$ changes\n+ lamp/a\n+ lamp/d\n$ echo y > a; rmdir d\n$ changes\n~ lamp/a\n- lamp/d",
    );
    check_difference(
        "$ echo x > a\n$ changes",
        "$ echo x > a\n$ changes\n+ lamp/a",
    );
}

#[test]
fn a_command_that_does_not_exist_is_refused_whatever_is_expected() {
    check_refusal(
        &console("$ daemon-nun list\n! sh: 1: daemon-nun: not found\n? 127"),
        expect![[r#"
            line 2: 127: sh: 1: daemon-nun: not found
        "#]],
    );
}

#[test]
fn a_transcript_that_makes_no_sense_is_refused() {
    check_refusal(
        "```console\n$ true\n",
        expect!["line 1: the block has no end"],
    );
    check_refusal(
        &console("out\n$ true"),
        expect!["line 2: output before the first command"],
    );
    check_refusal(
        "## Nothing\n\n## Something\n",
        expect!["line 1: the section runs nothing"],
    );
    check_refusal(
        &console("$ echo [ID_1]"),
        expect!["line 2: no output had this `[ID_…]` before: echo [ID_1]"],
    );
    check_refusal(&console("$ stop"), expect!["line 2: no host is running"]);
    check_refusal(
        "```files\n//- ../../out\nx\n```\n",
        expect!["line 1: `../../out` leaves the world"],
    );
    check_refusal(
        "```files\nx\n```\n",
        expect!["line 1: text before the first `//- PATH`"],
    );
    check_refusal(
        "```files\n//- x < none.md\n```\n",
        expect!["line 1: `none.md`: No such file or directory (os error 2)"],
    );
}

#[test]
fn every_section_has_a_world_of_its_own_after_the_setup() {
    let text = "```files\n//- a\nfirst\n```\n\n## One\n\n```console\n$ cat a; echo second > a\nfirst\n```\n\n\
                ## Two\n\n```console\n$ cat a\nfirst\n```\n";
    assert_eq!(runner::run(text).as_deref(), Ok(text));
}

#[test]
fn a_host_serves_until_it_is_stopped() {
    check_holds(
        "$ daemon-run serve --listen 127.0.0.1:0 --repo . --json | fields ready http &\n\
         ready = true\nhttp = \"http://127.0.0.1:[PORT]\"\n\
         $ daemon-run hold --json\n{\"schema_version\":1,\"gate\":\"held\"}\n$ stop",
    );
}
