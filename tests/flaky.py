"""Tests that are known to fail once in a while: they are tried again, and the end of a run lists them.

Such a test carries `@pytest.mark.flaky(reruns=2, reason="…")`; `test_flaky.py` holds their number.
"""

from __future__ import annotations

from collections import Counter

import pytest

RETRIED = "flaky"


def note_flaky(items: list[pytest.Item]) -> None:
    """The reason travels with the reports of the test, also from another process."""
    for item in items:
        mark = item.get_closest_marker(RETRIED)
        if mark is not None:
            item.user_properties.append((RETRIED, mark.kwargs.get("reason", "")))


def flaky_lines(stats: dict[str, list[pytest.TestReport]]) -> list[str]:
    """Each flaky test of this run with its tries and its reason."""
    tries: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for outcome in ("passed", "failed", "rerun"):
        for report in stats.get(outcome, []):
            reason = dict(report.user_properties).get(RETRIED)
            if reason is not None:
                tries[report.nodeid] += 1
                reasons[report.nodeid] = str(reason)
    return [f"{tries[name]} tries of {name}: {reasons[name]}" for name in sorted(tries)]
