"""Reads, checks and interprets DAEMON.md files, and computes when their schedules fire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _native
from ._forms import Clause, Correction, EventPattern, Filter, Interpretation, Time, Words

__all__ = [
    "Clause",
    "Correction",
    "DaemonError",
    "DaemonFile",
    "Diagnostic",
    "Edit",
    "EventPattern",
    "Filter",
    "Fix",
    "Interpretation",
    "ParseError",
    "Place",
    "ScheduleError",
    "Time",
    "Value",
    "Words",
    "interpret",
    "lint",
    "next_fires",
    "parse",
]

__version__: str = _native.__version__

_TEXTS = ("id", "purpose", "schedule")
_LISTS = ("watch", "routines", "deny")


@dataclass(frozen=True)
class Place:
    """A place in a text. Lines and columns count from 1, columns in code points; bytes count from 0."""

    line: int
    column: int
    byte: int


@dataclass(frozen=True)
class Value:
    """A value of the front matter. `value` is `None` if its `shape` is not `text`."""

    value: Optional[str]
    shape: str
    start: Place
    end: Place


@dataclass(frozen=True)
class Edit:
    """Replaces the bytes from `start` to `end` of the file by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Fix:
    """Edits that remove a diagnostic."""

    title: str
    edits: Tuple[Edit, ...]


@dataclass(frozen=True)
class Diagnostic:
    """A problem of a file. `severity` is `error`, `warning` or `advice`; `end` is exclusive."""

    code: str
    severity: str
    message: str
    help: Optional[str]
    start: Place
    end: Place
    fix: Optional[Fix]


@dataclass(frozen=True)
class DaemonFile:
    """A parsed file. A field is `None` if it is absent or has the wrong type; `mistyped` has those of the wrong type."""

    id: Optional[Value]
    purpose: Optional[Value]
    schedule: Optional[Value]
    watch: Optional[Tuple[Value, ...]]
    routines: Optional[Tuple[Value, ...]]
    deny: Optional[Tuple[Value, ...]]
    mistyped: Mapping[str, Value]
    unknown: Tuple[str, ...]
    body: str
    diagnostics: Tuple[Diagnostic, ...]


class DaemonError(ValueError):
    """An argument that cannot be used. `code` is a diagnostic code such as `D201`, or `usage`."""

    def __init__(self, code: str, message: str, help: Optional[str] = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.help = help


class _PlacedError(DaemonError):
    def __init__(self, code: str, message: str, help: Optional[str], start: Place, end: Place) -> None:
        super().__init__(code, message, help)
        self.start = start
        self.end = end


class ParseError(_PlacedError):
    """A syntax error of the front matter. `diagnostics` has all of them; the others attributes are those of the first."""

    def __init__(self, diagnostics: Tuple[Diagnostic, ...]) -> None:
        first = next(one for one in diagnostics if one.severity == "error")
        super().__init__(first.code, first.message, first.help, first.start, first.end)
        self.diagnostics = diagnostics


class ScheduleError(_PlacedError):
    """An invalid cron expression. The place is that of its first problem; the message has all of them."""


def parse(text: Union[str, bytes]) -> DaemonFile:
    """Parses a daemon file.

    Raises `ParseError` if the front matter has a syntax error.
    """
    stored = _bytes(text)
    answer = json.loads(_native.parse(stored))
    diagnostics = tuple(map(_diagnostic, answer["diagnostics"]))
    if not answer["ok"]:
        raise ParseError(diagnostics)
    fields = answer["fields"]
    body = stored[answer["body"]["start"]["byte"] : answer["body"]["end"]["byte"]]
    texts = {name: _value(fields[name]) for name in _TEXTS if _is_text(fields[name])}
    lists = {name: tuple(map(_value, fields[name])) for name in _LISTS if isinstance(fields[name], list)}
    return DaemonFile(
        id=texts.get("id"),
        purpose=texts.get("purpose"),
        schedule=texts.get("schedule"),
        watch=lists.get("watch"),
        routines=lists.get("routines"),
        deny=lists.get("deny"),
        mistyped={
            name: _value(field)
            for name, field in fields.items()
            if field is not None and name not in texts and name not in lists
        },
        unknown=tuple(answer["unknown"]),
        body=body.decode(),
        diagnostics=diagnostics,
    )


def lint(
    text: Union[str, bytes], *, path: Optional[str] = None, profile: str = "spec", zone: str = "UTC"
) -> List[Diagnostic]:
    """Checks a daemon file, as `daemon-lint` does, and returns its diagnostics in the order of the file.

    `path` is the path from the root of the repository; without it, rules about the place of the file are off. `profile` is
    `spec` or `strict`. `zone` is the IANA name of the zone of the schedule. No file is read.

    Raises `DaemonError` for an unknown profile or zone.
    """
    answer = _answer(_native.lint(_bytes(text), path, profile, zone))
    return [_diagnostic(one) for file in answer["files"] for one in file["diagnostics"]]


def interpret(condition: str) -> Interpretation:
    """Interprets a watch condition. Its `status` says how much was understood, its `remainder` what was not."""
    result: Interpretation = json.loads(_native.interpret(condition))
    return result


def next_fires(
    expression: str, *, zone: str = "UTC", after: Optional[datetime] = None, count: int = 5
) -> List[datetime]:
    """Returns the next `count` instants (at most 10,000) at which a five-field cron expression fires, in UTC.

    They are strictly later than `after`, by default the current time. The list is empty if the expression never fires.

    Raises `ScheduleError` for an invalid expression and `DaemonError` for an unknown zone or an `after` without a zone.
    """
    if after is not None and after.tzinfo is None:
        raise DaemonError("usage", "`after` has no time zone")
    instant = None if after is None else after.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    try:
        answer = _answer(_native.next_fires(expression, zone, instant, count))
    except _Spanned as error:
        raise error.in_text(expression) from None
    return [datetime.strptime(at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc) for at in answer["times"]]


class _Spanned(Exception):
    """An error with a range of bytes of the argument."""

    def __init__(self, error: Dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error

    def in_text(self, text: str) -> ScheduleError:
        stored = text.encode()

        def place(byte: int) -> Place:
            return Place(1, len(stored[:byte].decode(errors="replace")) + 1, byte)

        error = self.error
        return ScheduleError(
            error["code"], error["message"], error["help"], place(error["start"]), place(error["end"])
        )


def _answer(text: str) -> Dict[str, Any]:
    answer: Dict[str, Any] = json.loads(text)
    error = answer.get("error")
    if error is None:
        return answer
    if error["start"] is not None:
        raise _Spanned(error)
    raise DaemonError(error["code"], error["message"], error["help"])


def _bytes(text: Union[str, bytes]) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _is_text(field: Any) -> bool:
    return isinstance(field, dict) and field["shape"] == "text"


def _value(form: Dict[str, Any]) -> Value:
    return Value(form["value"], form["shape"], Place(**form["start"]), Place(**form["end"]))


def _diagnostic(form: Dict[str, Any]) -> Diagnostic:
    fix = form["fix"]
    return Diagnostic(
        code=form["code"],
        severity=form["severity"],
        message=form["message"],
        help=form["help"],
        start=Place(**form["start"]),
        end=Place(**form["end"]),
        fix=None if fix is None else Fix(fix["title"], tuple(Edit(**edit) for edit in fix["edits"])),
    )
