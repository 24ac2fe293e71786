"""The options of the embedded store: on a unix socket only, each write in the AOF within a second, no eviction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from holdfastd.embedded.data_folder import DataFolder

FIXED = {
    "port": "0",
    "unixsocketperm": "600",
    "daemonize": "no",
    "supervised": "no",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "no-appendfsync-on-rewrite": "no",  # a rewrite must not widen the window of what a power cut loses
    "aof-use-rdb-preamble": "yes",
    "aof-load-truncated": "yes",  # a crash may leave a torn tail: start with the complete part
    "save": "",  # the AOF is the data; snapshots beside it would only fork
    "maxmemory-policy": "noeviction",
    "always-show-logo": "no",
}


def command_line(socket: Path, directory: DataFolder) -> Iterator[str]:
    """The server's arguments."""
    places = {
        "unixsocket": str(socket),
        "dir": str(directory.path),
        "logfile": str(directory.log_file),
        "pidfile": str(directory.pid_file),
    }
    for name, value in {**places, **FIXED}.items():
        yield from (f"--{name}", value)
