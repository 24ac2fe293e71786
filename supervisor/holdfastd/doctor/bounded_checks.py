"""Runs checks in threads, within a time limit: one that hangs or fails becomes one finding and hides no other."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Thread

from holdfastd.doctor.finding import Check, Finding

Run = Callable[[], Iterable[Finding]]

_ITSELF = "the check itself"


def run_bounded(checks: Mapping[str, Run], seconds: float) -> list[Finding]:
    """The findings of each subject, in the order given. A check that does not end within `seconds` is abandoned."""
    done: queue.SimpleQueue[tuple[str, list[Finding]]] = queue.SimpleQueue()
    for subject, run in checks.items():
        Thread(target=_run, args=(subject, run, done), daemon=True).start()
    deadline = time.monotonic() + seconds
    results: dict[str, list[Finding]] = {}
    while len(results) < len(checks):
        try:
            subject, findings = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        results[subject] = findings
    return [finding for subject in checks for finding in results.get(subject) or [_late(subject, seconds)]]


def _run(subject: str, run: Run, done: queue.SimpleQueue[tuple[str, list[Finding]]]) -> None:
    try:
        findings = list(run())
    except Exception as error:  # the border of a check: its failure must not hide the others
        text = f"it failed ({type(error).__name__}: {error})"
        findings = [Check(subject, _ITSELF).problem(text, "this is a bug: please report it")]
    done.put((subject, findings))


def _late(subject: str, seconds: float) -> Finding:
    fix = "check that the file systems and services that it needs respond"
    return Check(subject, _ITSELF).problem(f"it did not end within {seconds:g} s", fix)
