"""A flow: counts the words of the files of a folder side by side, then adds the counts up; killed, it loses no count.

`supervisor start examples.tally:handlers`, then `python -m examples.tally /usr/share/common-licenses`
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from holdfast import Handlers, ParentValues, Reject, gather
from holdfast.client.flow import Flow, TaskHandle

MOST = 100  # tasks that one task waits for: of more files, partial sums are added up

handlers = Handlers()


@handlers.register("tally.count")
def count(path: str) -> dict[str, int]:
    """Sync, because it reads a file: it runs in a thread."""
    try:
        text = Path(path).read_text(errors="replace")
    except OSError as error:
        raise Reject(f"send the path of a file: {error}") from error
    return Counter(re.findall(r"\w+", text.lower()))


@handlers.register("tally.add")
async def add(counts: ParentValues[dict[str, int]]) -> dict[str, int]:
    total = Counter[str]()
    for each in counts:
        total.update(each)
    return total


def tally(folder: Path) -> Flow[TaskHandle[dict[str, int]], Any]:
    counts = [count.bind(str(path)) for path in sorted(folder.iterdir()) if path.is_file()]
    groups = [counts[first : first + MOST] for first in range(0, len(counts), MOST)]
    return gather([gather(group, then=add.bind()) for group in groups], then=add.bind())


async def main(folder: Path) -> None:
    sent = await tally(folder)
    record = await sent.wait(timeout=60, raise_failed=True)
    for word, times in Counter(record.value).most_common(5):
        print(f"{times:6} {word}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
