"""Bulk changes as they are asked for: their filter checked, and as an address has it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from holdfast.client.arguments import check_text
from holdfast.client.wanted_tasks import WantedTasks, checked_wanted
from holdfast.core.bulk_changes import BulkChange, BulkVerb, states_of
from holdfast.core.plain_json import shown
from holdfast.core.task_states import State
from holdfast.errors import InvalidTaskError
from holdfast_config.durations import shortest


def checked_verb(given: object) -> BulkVerb:
    """Raises InvalidTaskError for one that there is not."""
    if given not in set(BulkVerb):
        raise InvalidTaskError(f"verb {shown(given)}: one of {', '.join(BulkVerb)} is expected")
    return BulkVerb(str(given))


def asked_change(
    verb: BulkVerb,
    states: Sequence[State | str],
    wanted: WantedTasks,
    text: str = "",
    *,
    who: str,
    origin: str,
    reason: str = "",
) -> BulkChange:
    """A change that has not begun. Raises InvalidTaskError, also where the verb changes nothing in these states."""
    if text:
        check_text(text)
    given = checked_wanted(states, wanted)
    return BulkChange(
        change_id=secrets.token_hex(8),
        verb=verb,
        who=who,
        origin=origin,
        query=_query(given.states, wanted, text),
        wanted=checked_wanted(_changed(verb, given.states), {**wanted, "newest_first": True}),
        text=text,
        reason=reason,
    )


def _changed(verb: BulkVerb, states: Sequence[State]) -> tuple[State, ...]:
    found = states_of(verb, states)
    if not found:
        allowed = ", ".join(states_of(verb, []))
        raise InvalidTaskError(
            f"state: {verb} changes no task that is {' or '.join(states)}: choose {allowed}, or any state"
        )
    return found


def _query(states: Sequence[State], wanted: WantedTasks, text: str) -> str:
    ages = {"newer": wanted.get("newer_than"), "older": wanted.get("older_than")}
    fields: dict[str, Any] = {
        "state": [str(state) for state in states],
        **{name: wanted.get(name) for name in ("lane", "name", "batch", "owner")},
        **{name: None if age is None else shortest(age) for name, age in ages.items()},
        "text": text,
    }
    return urlencode({name: value for name, value in fields.items() if value}, doseq=True)
