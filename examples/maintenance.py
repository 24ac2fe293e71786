"""Housekeeping on a schedule: a folder is swept every five minutes, and packed on Sundays at two.

`MAINTENANCE_FOLDER=$HOME/scratch supervisor start examples.maintenance:handlers --workers 4`

The sweep is a schedule of the code: each worker sees to it that it is there, and it fires once for all of them. The
archive is set once, by hand, and is there until it is removed, whatever code runs:

`python -m examples.maintenance ~/scratch ~/archives`, then `supervisor schedules list`
"""

from __future__ import annotations

import asyncio
import os
import sys
import tarfile
import tempfile
import time
from datetime import datetime
from pathlib import Path

from holdfast import Handlers, Reject, Task, TaskManager, open_store
from holdfast_config import load

SCRATCH = os.environ.get("MAINTENANCE_FOLDER", str(Path(tempfile.gettempdir()) / "scratch"))
DAY = 86400.0  # seconds

handlers = Handlers()


@handlers.register("maintenance.sweep", timeout=240)
def sweep(folder: str, older_than: float, task: Task) -> dict[str, int]:
    """Delete the files that nobody has written to for so many seconds."""
    written_before = time.time() - older_than
    old = [path for path in _files(folder) if path.stat().st_mtime < written_before]
    deleted = 0
    while old and not task.cancelled:
        old.pop().unlink(missing_ok=True)
        deleted += 1
        task.progress(deleted, deleted + len(old))
    return {"deleted": deleted}


@handlers.register("maintenance.archive", max_attempts=5)
def archive(folder: str, into: str, task: Task) -> dict[str, str | int]:
    """Pack a folder. The task's id names its fire, and so the archive: a second run of the same fire makes no other."""
    files = _files(folder)
    target = Path(into) / f"{task.id}.tar.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with tarfile.open(part, "w:gz") as packed:
        for path in files:
            packed.add(path, path.relative_to(folder))
    part.replace(target)
    return {"archive": str(target), "files": len(files)}


def _files(folder: str) -> list[Path]:
    if not Path(folder).is_dir():
        raise Reject(f"{folder} is no folder")
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


handlers.schedule("sweep", every=300, name="maintenance.sweep", kwargs={"folder": SCRATCH, "older_than": DAY})


async def plan(manager: TaskManager, folder: str, into: str) -> datetime | None:
    """Have the weekly archive; when it runs next. Said twice it is one."""
    kwargs: dict[str, object] = {"folder": folder, "into": into}
    return await manager.schedules.upsert(
        "archive", cron="0 2 * * 0", name="maintenance.archive", kwargs=kwargs, timeout=3600, start_deadline="1d"
    )


async def main(folder: str, into: str) -> None:
    settings = load()
    async with open_store(settings.redis, settings.postgres) as store:
        manager = TaskManager(store, queue=settings.queue_name, handlers=handlers)
        print("the archive is next made at", await plan(manager, folder, into))


if __name__ == "__main__":
    asyncio.run(main(*map(os.path.abspath, sys.argv[1:3])))
