"""The JSON forms of an interpretation."""

from __future__ import annotations

from typing import List, Optional, TypedDict, Union


class Words(TypedDict):
    """Words of the author. `start` and `end` are bytes of the condition."""

    text: str
    start: int
    end: int


class EventPattern(TypedDict):
    """A kind and action of a source; `action` is `None` for every action."""

    source: str
    kind: str
    action: Optional[str]


class Filter(Words):
    """A comparison that an event must pass. `reading` is `exact`, `inferred` or `corrected`."""

    field: str
    op: str
    value: Union[None, str, List[str]]
    reading: str
    verdict: Optional[str]
    got: Optional[str]
    needs: Optional[str]


class Clause(Words):
    """An alternative: one of its events, and all of its filters, which are indexes."""

    events: List[EventPattern]
    filters: List[int]
    reading: str
    verdict: Optional[str]


class Correction(Words):
    """A word that was read as another."""

    replacement: str


class Time(TypedDict):
    """The time that a condition names instead of an event. `kind` is `schedule` or `elapsed`."""

    kind: str
    schedule: Optional[str]


class Interpretation(TypedDict):
    """How a condition is read. `status` is `mapped`, `partial`, `vague`, `unmapped` or `time-based`."""

    schema_version: int
    status: str
    wakes: bool
    remainder: List[Words]
    filters: List[Filter]
    clauses: List[Clause]
    notes: List[str]
    nearest: List[int]
    corrections: List[Correction]
    instruction: Optional[Words]
    suggestion: Optional[str]
    time: Optional[Time]
    beyond_the_format: List[EventPattern]
