"""I19: the parts that a task has emitted, in batches whose positions and bytes only grow."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.lua.view import View

KEPT = 10_000  # parts of a task


def emitted_breaches(view: View) -> Iterator[str]:
    for task_id, batches in view.named("parts:").items():
        claim_before, before = "", (0, 0, 0)
        for batch in batches:
            head, _, values = batch.partition("\n")
            position, size, _, number = map(int, head.split()[:4])
            count = len(json.loads(values))
            claim = head.split()[5]
            is_later = claim != claim_before or number - count >= before[2]
            if not count or position - count < before[0] or size <= before[1] or not is_later:
                yield f"I19 parts of {task_id}: {head} with {count} parts behind {before}"
            claim_before, before = claim, (position, size, number)
        first = int(batches[0].partition(" ")[0]) if batches else 0
        if before[0] - first >= KEPT:
            yield f"I19 parts of {task_id}: {first} to {before[0]} are kept"
