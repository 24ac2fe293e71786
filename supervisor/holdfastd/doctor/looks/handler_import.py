"""Trying the handler's import in a fork of this process, as `start` does, bounded in time: it may hang, exit, crash."""

from __future__ import annotations

import os
import select
import signal
import time
import uuid
from contextlib import suppress
from functools import partial

import msgspec

from holdfast.errors import HandlerError
from holdfast.handler.choose import check
from holdfast_config import Settings
from holdfastd.doctor.handler_import import NotImported, Trial
from holdfastd.doctor.looks.importing import try_import
from holdfastd.parent.child_setup import ChildSetup
from holdfastd.parent.fork import ForkedChild, fork
from holdfastd.parent.leftover_processes import kill_remains
from holdfastd.parent.prctl import become_subreaper
from holdfastd.parent.preload import preload

LOOK_EVERY = 0.1  # seconds, where the kernel gives no descriptor that tells of a death
SHOW_STACKS = 1.0  # seconds for a child that hangs to say where
KILLED_WITHIN = 5.0  # seconds for the kernel to end it

_trials: msgspec.json.Decoder[Trial] = msgspec.json.Decoder(Trial)


def attempt(settings: Settings) -> Trial:
    """What came of importing the handler, within the boot timeout. Forks: this process may have one thread only."""
    try:
        target = check(settings)
    except HandlerError as error:
        return NotImported(str(error))
    preload()  # as `start` has done before it forks: what a worker need not import
    become_subreaper()  # what the import starts is found and ended, wherever it has fled to
    birth = ChildSetup(uuid.uuid4().hex, "holdfast: try", "holdfast: try", partial(try_import, settings))
    born = fork(birth)
    with born.channel:
        line = _line(born, time.monotonic() + settings.boot_timeout)
        status = _end(born, birth.incarnation, hangs=line is None)
    if line is None:
        return NotImported(f"importing {target} did not end within {settings.boot_timeout:g} s (--boot-timeout)")
    if not line.endswith(b"\n"):
        return NotImported(f"importing {target} ended its process: {_ending(status)}")
    return _trials.decode(line)


def _line(born: ForkedChild, deadline: float) -> bytes | None:
    """What the child said, as much as it could; None if it said nothing until the deadline."""
    said = b""
    while not said.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        if _readable(born, min(left, LOOK_EVERY)):
            part = born.channel.recv(1 << 16)
            if not part:
                return said
            said += part
        elif _has_ended(born.pid) and not _readable(born, 0.0):
            return said
    return said


def _readable(born: ForkedChild, seconds: float) -> bool:
    return bool(select.select([born.channel], [], [], seconds)[0])


def _has_ended(pid: int) -> bool:
    """Ended, and left to be reaped: a descendant of it may still hold the channel."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(born: ForkedChild, incarnation: str, *, hangs: bool) -> int | None:
    """Whatever it has started ends with it; its exit code, minus the signal, or None if it could not be ended."""
    if hangs:
        os.kill(born.pid, signal.SIGABRT)
        _wait_for(born.pid, SHOW_STACKS)
    with suppress(ProcessLookupError):
        os.killpg(born.pid, signal.SIGKILL)
    if born.pidfd is not None:
        os.close(born.pidfd)
    if not _wait_for(born.pid, KILLED_WITHIN):
        return None
    kill_remains(born.pid, incarnation, ())
    return os.waitstatus_to_exitcode(os.waitpid(born.pid, 0)[1])


def _wait_for(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (ended := _has_ended(pid)) and time.monotonic() < until:
        time.sleep(LOOK_EVERY / 10)
    return ended


def _ending(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit {status}"
    return signal.Signals(-status).name
