"""A supervisor of another user, with the embedded store and one worker."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from tests.users import User

HANDLER = "examples.wordcount:handle"


@contextmanager
def serving(
    user: User, *options: str, cwd: Path, before: Sequence[str] = (), log: list[str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """`supervisor start` of this user, ready. `log` has its lines afterwards."""
    process = user.popen("start", HANDLER, *options, cwd=cwd, before=before, stderr=subprocess.PIPE)
    assert process.stderr is not None
    seen = [] if log is None else log
    for line in process.stderr:
        seen.append(line)
        if "worker ready" in line:
            break
    rest = Thread(target=lambda stream: seen.extend(stream), args=(process.stderr,))
    rest.start()
    try:
        assert process.poll() is None, "".join(seen)
        yield process
    finally:
        process.terminate()
        process.wait(60)
        rest.join()
        process.stderr.close()
