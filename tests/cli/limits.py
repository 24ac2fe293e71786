"""A full disk without one: no file may grow beyond a size. Only the soft limit, so that it can be lifted again."""

from __future__ import annotations

import resource


def limited(kib: int) -> tuple[str, ...]:
    """The command prefix that limits file sizes: a write beyond the limit fails as on a full disk."""
    return ("sh", "-c", f'trap "" XFSZ; ulimit -S -f {2 * kib}; exec "$@"', "sh")


def make_room(pid: int) -> None:
    """This process may write again."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
