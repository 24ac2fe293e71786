"""Writes *** in the place of each secret that is found in a text: in the text as it is spelled, then as it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfastd.web.queue import secret_forms
from holdfastd.web.queue.readings import is_odd, reading
from holdfastd.web.queue.secret_pairs import Hidden, pairs

# Each sees what those before it have left.
_FINDERS: tuple[Callable[[str, Callable[[str], bool]], Iterable[Hidden]], ...] = (
    secret_forms.private_keys,
    secret_forms.parts,
    secret_forms.cookies,
    pairs,
    secret_forms.logins,
    secret_forms.driver_logins,
    secret_forms.flags,
    secret_forms.commands,
    secret_forms.worded,
    secret_forms.elements,
    secret_forms.keys,
    secret_forms.hooks,
    secret_forms.schemes,
)


def without_values(text: str, hides: Callable[[str], bool]) -> str:
    """The text with *** for each value whose name `hides`, and for each secret that is known by its form."""
    for find in _FINDERS:
        text = _masked(text, find(text, hides))
    if not is_odd(text):
        return text
    read = reading(text)
    for find in _FINDERS:
        if found := list(find(read.text, hides)):
            text = _masked(text, ((read.place(start), read.place(end), shown) for start, end, shown in found))
            read = reading(text)
    return text


def _masked(text: str, found: Iterable[Hidden]) -> str:
    """Of two places that overlap, the first is shown, and both are hidden."""
    pieces, at = list[str](), 0
    for start, end, shown in found:
        if start >= at:
            pieces += (text[at:start], shown)
        at = max(at, end)
    return "".join((*pieces, text[at:])) if pieces else text
