"""The handler of the service under test; its texts are orders. A copy of it is edited in the service's own folder."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import uvloop

VERSION = 1


async def handle(messages: list[dict[str, Any]], task: Any) -> object:
    """`version`; `look PORT`; `wait GATE`, until a file of this name is there; `flee GATE` starts a process as well."""
    order, _, argument = messages[-1]["parts"][0]["text"].partition(" ")
    match order:
        case "version":
            return VERSION
        case "look":
            return look(int(argument))
        case "flee":
            flee(f"{task.id}.left")
    note(f"{task.id}.started", os.getpid())
    while not os.path.exists(argument):  # noqa: ASYNC110, ASYNC240, PTH110 - a process that has no other way to tell
        await asyncio.sleep(0.02)
    return VERSION


def flee(path: str) -> None:
    """Leave somebody behind who is in no group and no session of ours."""
    note(path, subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)


def note(path: str, pid: int) -> None:
    with Path(path).open("a") as file:
        file.write(f"{pid}\n")


def look(port: int) -> dict[str, object]:
    """The abilities of a handler of the service."""
    status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    with socket.create_connection(("127.0.0.1", port), 5) as stream:
        told = stream.recv(16).decode()
    return {
        "loop": isinstance(asyncio.get_running_loop(), uvloop.Loop),
        "privileges": [status["NoNewPrivs"], status["Seccomp"], status["CapEff"].strip("0")],
        "tcp": told,
        "shell": subprocess.run(["sh", "-c", "id -un; pwd"], capture_output=True, text=True, check=True).stdout.split(),
        "writes": [path for path in ("/etc", "/usr", "/srv/agent", "/run", "/tmp", ".") if writable(path)],
        "pipes": socket.socketpair()[0].family.name,
        "netlink": refused(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
        "namespace": refused(lambda: subprocess.run(["unshare", "--user", "true"], check=True, capture_output=True)),
    }


def writable(folder: str) -> bool:
    path = Path(folder, "holdfast-trial")
    try:
        path.touch()
        path.unlink()
    except OSError:
        return False
    return True


def refused(attempt: Any) -> bool:
    try:
        attempt()
    except (OSError, subprocess.CalledProcessError):
        return True
    return False
