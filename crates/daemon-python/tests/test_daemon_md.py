"""The package as a user has it."""

import json
import pathlib
import unittest
from datetime import datetime, timedelta, timezone

import daemon_md
from daemon_md import DaemonError, ParseError, Place, ScheduleError, _native

TEXT = """---
id: tidy
purpose: Kéeps 😀 tidy.
watch:
  - when an issue is opened
  - 7
routines: label it
owner: me
---
## Limits
"""


class Parsing(unittest.TestCase):
    def test_fields_have_values_and_places(self) -> None:
        file = daemon_md.parse(TEXT)
        assert file.purpose is not None and file.watch is not None
        self.assertEqual(file.purpose.value, "Kéeps 😀 tidy.")
        self.assertEqual(file.purpose.start, Place(3, 10, 22))
        self.assertEqual(file.purpose.end, Place(3, 23, 39))
        self.assertEqual([one.shape for one in file.watch], ["text", "number"])
        self.assertIsNone(file.routines)
        self.assertEqual(list(file.mistyped), ["routines"])
        self.assertIsNone(file.deny)
        self.assertEqual(file.unknown, ("owner",))
        self.assertEqual(file.body, "## Limits\n")
        self.assertEqual(daemon_md.parse(TEXT.encode()), file)

    def test_a_syntax_error_is_an_exception_with_its_place(self) -> None:
        with self.assertRaises(ParseError) as caught:
            daemon_md.parse("---\nid: tidy\npurpose: Links: alive.\n---\n")
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual((error.code, error.start.line, error.start.column), ("D011", 3, 10))
        self.assertEqual(str(error), "D011: `: ` splits this text")
        self.assertEqual(error.help, error.diagnostics[0].help)

    def test_bytes_that_are_no_text_are_an_exception(self) -> None:
        with self.assertRaises(ParseError) as caught:
            daemon_md.parse(b"---\nid: \xff\n---\n")
        self.assertEqual(caught.exception.code, "D001")


class Linting(unittest.TestCase):
    def test_diagnostics_have_codes_places_and_fixes(self) -> None:
        text = "---\nid: tidy\npurpose: Tidies.\nschedule: \"0 30 14 * * 1-5\"\nroutines:\n  - label\ndeny:\n  - x\n---\nBe brief.\n"
        found = daemon_md.lint(text)
        self.assertEqual([one.code for one in found], ["D201"])
        fix = found[0].fix
        assert fix is not None
        edit = fix.edits[0]
        stored = text.encode()
        fixed = stored[: edit.start] + edit.text.encode() + stored[edit.end :]
        self.assertEqual(daemon_md.lint(fixed), [])

    def test_the_path_and_the_profile_change_what_is_found(self) -> None:
        text = "---\nid: tidy\npurpose: Tidies.\nschedule: 0 9 * * *\nroutines:\n  - label\ndeny:\n  - x\nowner: me\n---\nBe brief.\n"

        def severities(**options: str) -> "list[tuple[str, str]]":
            return [(one.code, one.severity) for one in daemon_md.lint(text, **options)]

        self.assertEqual(severities(), [("D100", "warning")])
        self.assertEqual(severities(profile="strict"), [("D100", "error")])
        codes = [code for code, _ in severities(path=".agents/daemons/other/DAEMON.md")]
        self.assertEqual(codes, ["D111", "D100"])

    def test_an_unknown_profile_or_zone_is_an_exception(self) -> None:
        for options in ({"profile": "lax"}, {"zone": "Mars/Olympus"}):
            with self.assertRaises(DaemonError) as caught:
                daemon_md.lint("", **options)
            self.assertEqual(caught.exception.code, "usage")


class Interpreting(unittest.TestCase):
    def test_a_condition_has_events_filters_and_a_remainder(self) -> None:
        meaning = daemon_md.interpret("when a large pull request is opened by a bot")
        self.assertEqual(meaning["status"], "partial")
        self.assertEqual(meaning["clauses"][0]["events"][0]["kind"], "pull_request")
        self.assertEqual(meaning["filters"][0]["value"], "bot")
        self.assertIn("large", meaning["remainder"][0]["text"])

    def test_the_types_name_every_field(self) -> None:
        form = json.loads(_native.interpret("when a pull request is opened by a bot"))
        self.assertEqual(set(form), set(daemon_md.Interpretation.__annotations__))
        for name, part in (("filters", daemon_md.Filter), ("clauses", daemon_md.Clause)):
            named = set(part.__annotations__) | set(daemon_md.Words.__annotations__)
            self.assertEqual(set(form[name][0]), named)


class Schedules(unittest.TestCase):
    def test_the_next_times_are_in_utc_and_later_than_the_argument(self) -> None:
        east = timezone(timedelta(hours=9))
        after = datetime(2026, 11, 23, 22, 30, tzinfo=east)
        times = daemon_md.next_fires("30 14 * * 1-5", zone="Europe/Berlin", after=after, count=2)
        expected = [datetime(2026, 11, day, 13, 30, tzinfo=timezone.utc) for day in (24, 25)]
        self.assertEqual(times, expected)
        self.assertEqual(len(daemon_md.next_fires("* * * * *")), 5)
        self.assertEqual(daemon_md.next_fires("0 0 30 2 *"), [])

    def test_an_invalid_expression_is_an_exception_with_its_place(self) -> None:
        with self.assertRaises(ScheduleError) as caught:
            daemon_md.next_fires("61 9 * * *")
        error = caught.exception
        self.assertEqual((error.code, error.start, error.end), ("D203", Place(1, 1, 0), Place(1, 3, 2)))

    def test_an_instant_without_a_zone_and_too_many_times_are_exceptions(self) -> None:
        for options in ({"after": datetime(2026, 1, 1)}, {"count": 10_001}):
            with self.assertRaises(DaemonError) as caught:
                daemon_md.next_fires("0 9 * * *", **options)
            self.assertEqual(caught.exception.code, "usage")


class Documentation(unittest.TestCase):
    def test_the_example_of_the_readme_runs(self) -> None:
        readme = (pathlib.Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
        example = readme.split("```python\n")[1].split("```")[0]
        exec(compile(example, "README.md", "exec"), {})


if __name__ == "__main__":
    unittest.main()
