"""The handler, imported once in the parent, so that workers share its pages and start at once.

What an import leaves behind must survive a fork. Threads do not; an event loop, a socket or a pipe would be shared by
all workers; both are refused. Files are kept open in the workers, as the handler believes them to be.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NoReturn

from holdfast.core.plurals import counted
from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler.choose import check, handler_of
from holdfast_config import Settings
from holdfastd.parent import fork_hazards
from holdfastd.parent.fork_hazards import ForkHazards

LOOP = "anon_inode:[eventpoll]"
SHOWN = 5  # of each kind are named
ADVICE = "do that in the handler, or start without --preload"


def preload_handler(settings: Settings, announce: Callable[[str], None]) -> tuple[int, ...]:
    """Import the handler; the descriptors that workers must keep for it. Where it cannot be, ends this process."""
    before = fork_hazards.look()
    try:
        handler_of(settings)
    except HandlerError as error:
        announce(f"{error.traceback.rstrip()}\n{error}" if error.traceback else str(error))
        _give_up(before)
    after = fork_hazards.look()
    if problems := list(objections(before, after)):
        target = check(settings)
        announce(f"{target} cannot be preloaded: its import {' and '.join(problems)}: {ADVICE}")
        _give_up(before)
    return tuple(_opened(before, after))


def objections(before: ForkHazards, after: ForkHazards) -> Iterator[str]:
    """What the import did that a fork does not survive."""
    threads = [name for task, name in after.threads.items() if task not in before.threads]
    if threads:
        yield f"started {_counted(threads, 'thread')}, which a forked worker would not have"
    children = [str(pid) for pid in sorted(after.children - before.children)]
    if children:
        yield f"started {_counted(children, 'process', 'processes')}"
    opened = _opened(before, after)
    shared = [target for target in opened.values() if not _is_file(target)]
    if LOOP in shared:
        yield "opened an event loop, which workers would share"
    elif shared:
        yield f"opened {_counted(shared, 'connection')}, which workers would share"


def _opened(before: ForkHazards, after: ForkHazards) -> Mapping[int, str]:
    return {number: target for number, target in after.descriptors.items() if before.descriptors.get(number) != target}


def _is_file(target: str) -> bool:
    """A path: `socket:[1]`, `pipe:[1]` and `anon_inode:…` are none."""
    return target.startswith("/")


def _counted(names: list[str], one: str, many: str = "") -> str:
    more = ", ..." if len(names) > SHOWN else ""
    return f"{counted(len(names), one, many)} ({', '.join(names[:SHOWN])}{more})"


def _give_up(before: ForkHazards) -> NoReturn:
    """End with 78, at once: what the import has started is ended or left behind, and cannot keep us from it."""
    for pid in fork_hazards.look().children - before.children:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(Exit.CONFIG)
