"""Imports the handler in the loader, so that workers share its memory and start at once.

The objects that the import creates must survive a fork. Threads do not survive it, unless a library ends them at a fork
and starts them again. All workers would share an event loop, a socket, a pipe, or the position in an open file. Files
that are only appended to can be shared: they stay open in the workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from holdfast.core.words import counted
from holdfast.handler.choose import handler_of
from holdfast.store.current_store import belong_to_process
from holdfast.worker import output_capture
from holdfast.worker.exit_work import share_import
from holdfast.worker.main import prepare
from holdfast_config import Settings
from holdfastd.parent import fork_hazards, prctl
from holdfastd.parent.fork_hazards import ForkHazards, OpenDescriptor

LOOP = "anon_inode:[eventpoll]"
SHOWN = 5  # names shown of each kind


class NotShareableError(Exception):
    """The import of the handler had effects that do not survive a fork. The message names them in one line."""


def preload_handler(settings: Settings) -> tuple[int, ...]:
    """Import the handler. Returns the descriptors that workers keep open for it. Raises NotShareableError,
    HandlerError."""
    if settings.capture_output:
        output_capture.install()
    before = fork_hazards.look()
    belong_to_process(settings)
    handler = handler_of(settings)
    handler.prepare()
    share_import()
    after = fork_hazards.look_after_fork(before)
    if why := not_shareable(before, after):
        raise NotShareableError(why)
    with suppress(Exception):  # each worker gets the same error, and reports it
        prepare(settings, handler)
    return tuple(_opened(before, after))


def is_preloaded(settings: Settings) -> bool:
    """True if a loader imports the handler. With --reload there is no loader, because each change would be imported
    twice."""
    return settings.preload and settings.exec is None and not settings.reload and prctl.knows_subreapers()


def not_shareable(before: ForkHazards, after: ForkHazards) -> str:
    """The effects of the import that do not survive a fork, in one line; empty if there are none."""
    problems = " and ".join(_objections(before, after))
    return f"its import {problems}" if problems else ""


def _objections(before: ForkHazards, after: ForkHazards) -> Iterator[str]:
    threads = [name for task, name in after.threads.items() if task not in before.threads]
    if threads:
        yield f"started {_counted(threads, 'thread')}, which a forked worker would not have"
    children = [str(pid) for pid in sorted(after.children - before.children)]
    if children:
        yield f"started {_counted(children, 'process', 'processes')}"
    opened = [one for one in _opened(before, after).values() if not one.is_shareable]
    connections = [one.target for one in opened if not one.is_file]
    if LOOP in connections:
        yield "opened an event loop, which workers would share"
    elif connections:
        yield f"opened {_counted(connections, 'connection')}, which workers would share"
    if files := [one.target for one in opened if one.is_file]:
        yield f"opened {_counted(files, 'file')}, whose position workers would share"


def _opened(before: ForkHazards, after: ForkHazards) -> Mapping[int, OpenDescriptor]:
    return {number: one for number, one in after.descriptors.items() if before.descriptors.get(number) != one}


def _counted(names: list[str], one: str, many: str = "") -> str:
    more = ", ..." if len(names) > SHOWN else ""
    return f"{counted(len(names), one, many)} ({', '.join(names[:SHOWN])}{more})"
