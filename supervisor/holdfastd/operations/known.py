"""Refuses unknown names of lanes, handlers and hosts: a change of a misspelt name would seem to have worked."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Annotated

from msgspec import Meta

from holdfast.core.plain_json import shown
from holdfastd.operations.errors import UnknownNameError

Create = Annotated[bool, Meta(description="Accept a name that nobody knows yet.")]
MOST = 3  # names that an error suggests


def check_known(kind: str, name: str, known: Collection[str]) -> None:
    """Check that the name is known. Raises UnknownNameError, which suggests similar names."""
    if name in known:
        return
    near = meant(name, known)
    raise UnknownNameError(f"{kind} {shown(name)}: there is no such {kind}; {near} (to name a new {kind}, use create)")


def meant(name: str, known: Collection[str]) -> str:
    """A hint with similar known names: `did you mean mail?`"""
    near = get_close_matches(name, known, MOST)
    return f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(known)[:MOST]) or 'none'}"
