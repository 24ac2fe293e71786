"""The folders of the service: whether it can keep its sockets and its data in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfastd.doctor.finding import Check, Finding

MEBIBYTE = 1 << 20
SCARCE, FULL = 1024 * MEBIBYTE, 64 * MEBIBYTE
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"})


@dataclass(frozen=True, slots=True)
class FolderInfo:
    """`flag` chooses it. Of one that is `missing` the others tell of the folder that it would be made in.

    `free` bytes; `filesystem` as the kernel names it, empty where that is not known; `blocked`: why it cannot be used
    and what to do, and `status`: what `start` then exits with.
    """

    path: Path
    flag: str
    missing: bool
    blocked: str
    status: int
    owner: int
    user: int
    mode: int
    free: int
    filesystem: str


def judge(folder: FolderInfo, *, keeps_data: bool) -> Iterator[Finding]:
    """`keeps_data`: of the embedded store."""
    look = Check("folders", f"{folder.flag} {folder.path}")
    if folder.blocked:
        found, _, fix = folder.blocked.rpartition(": ")
        yield look.problem(found, fix)
        return
    yield look.ok("will be made at the start" if folder.missing else "there and writable")
    if not folder.missing:
        yield from _rights(folder, look)
    if keeps_data:
        yield from _room(folder, look)


def _rights(folder: FolderInfo, look: Check) -> Iterator[Finding]:
    if folder.owner != folder.user:
        found = f"it belongs to user {folder.owner}, and this command runs as {folder.user}"
        yield look.note(found, "ask as the user that the service runs as")


def _room(folder: FolderInfo, look: Check) -> Iterator[Finding]:
    free = f"{folder.free // MEBIBYTE} MiB are free for the embedded store"
    fix = f"make room, or choose another {folder.flag}"
    if folder.free < FULL:
        yield look.problem(f"only {free}: with a full disk it refuses every task", fix)
    elif folder.free < SCARCE:
        yield look.warning(f"only {free}", fix)
    if folder.filesystem in IN_MEMORY:
        yield look.warning(f"it is in memory ({folder.filesystem}): a restart of the machine loses every task", fix)
    if folder.filesystem in REMOTE:
        yield look.warning(f"it is on a network ({folder.filesystem}): each write waits for it", "use a local disk")
