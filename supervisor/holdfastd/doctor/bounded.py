"""Looks at the same time, each within bounds: one that hangs, or fails, costs one finding and no other look."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Thread

from holdfastd.doctor.finding import Check, Finding

Work = Callable[[], Iterable[Finding]]

_WHOLE = "the look itself"


def together(work: Mapping[str, Work], seconds: float) -> list[Finding]:
    """The findings of each subject, in this order. A look that does not end within `seconds` is left behind."""
    done: queue.SimpleQueue[tuple[str, list[Finding]]] = queue.SimpleQueue()
    for subject, look in work.items():
        Thread(target=_look, args=(subject, look, done), daemon=True).start()
    deadline = time.monotonic() + seconds
    found: dict[str, list[Finding]] = {}
    while len(found) < len(work):
        try:
            subject, findings = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        found[subject] = findings
    return [finding for subject in work for finding in found.get(subject) or [_late(subject, seconds)]]


def _look(subject: str, look: Work, done: queue.SimpleQueue[tuple[str, list[Finding]]]) -> None:
    try:
        findings = list(look())
    except Exception as error:  # the border of a look: its failure must not hide the others
        told = f"{type(error).__name__}: {error}"
        findings = [Check(subject, _WHOLE).problem(f"it failed ({told})", "this is a bug: please report it")]
    done.put((subject, findings))


def _late(subject: str, seconds: float) -> Finding:
    fix = "is a file system, or a service that it needs, hanging?"
    return Check(subject, _WHOLE).problem(f"it did not end within {seconds:g} s", fix)
