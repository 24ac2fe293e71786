"""A command with a family: `family.py FOLDER`, as the message says.

In its first delivery it starts a child in its group, one in a session of its own, and one that fled with an empty
environment; it writes its own pid and theirs to the ear, and then `wait`s, or `leave`s them behind. In a later
delivery its result is which of them still run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

SIGKILL_PENDING = 1 << (signal.SIGKILL - 1)


def runs(pid: int) -> bool:
    """It may still execute something: it is neither dead nor about to be."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    pending = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
    return fields["State"][0] not in "ZX" and not pending & SIGKILL_PENDING


def sleeper(*prefix: str, fled: bool) -> int:
    return subprocess.Popen(
        [*prefix, "sleep", "1000"],
        start_new_session=fled,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ).pid


if __name__ == "__main__":
    told, folder = json.load(sys.stdin), Path(sys.argv[1])
    known = folder / "family"
    if told["delivery"] > 1:
        print(json.dumps([pid for pid in json.loads(known.read_text()) if runs(pid)]))
        sys.exit()
    pids = [os.getpid(), sleeper(fled=False), sleeper(fled=True), sleeper("env", "-i", fled=True)]
    known.write_text(json.dumps(pids))
    with (folder / "ear").open("w") as ear:
        print(*pids, file=ear)
    if told["messages"][-1]["parts"][0]["text"] == "wait":
        signal.pause()
