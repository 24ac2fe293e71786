"""Imports the handler as `start` does, but in a forked child, because the import may hang, exit or crash.

If root runs the command and another user owns the code, a process of that user imports it.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import pwd
import select
import signal
import socket
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import msgspec
import psutil

from holdfast.core import recycle
from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.errors import HandlerError, InvalidScheduleError
from holdfast.exits import ChildExit
from holdfast.handler import foreign_code
from holdfast.handler.choose import check, handler_of
from holdfast.handler.handler import Handler, HandlerOptions
from holdfast.handler.publication import describe
from holdfast_config import Settings, names
from holdfast_config.file_trust import ANYBODY, Stranger
from holdfast_config.standard_error import STREAM
from holdfast_config.trust import user
from holdfastd.doctor.handler_import import DeclaredSchedule, Function, Imported, NotImported, Trial
from holdfastd.parent import fork_hazards, prctl
from holdfastd.parent.child_setup import INCARNATION_VARIABLE, ChildSetup
from holdfastd.parent.children import kill_leftovers
from holdfastd.parent.fork import ForkedChild, fork
from holdfastd.parent.fork_hazards import ForkHazards
from holdfastd.parent.prctl import become_subreaper
from holdfastd.parent.preload import preload
from holdfastd.parent.preload_handler import is_preloaded, not_shareable

if TYPE_CHECKING:
    from holdfast.client.schedule_definition import ScheduleSpec

# The child imports the handler like a worker, and sends the result to its parent.

STDOUT, STDERR = 1, 2


def import_handler(settings: Settings, channel: socket.socket) -> NoReturn:
    """Import the handler and send the result on one line. Then end this process, with the threads that the import has
    started."""
    os.dup2(STDERR, STDOUT)  # the import may print; standard output belongs to the command
    faulthandler.enable(STDERR)  # if it hangs, SIGABRT makes it print its stacks

    def answer(trial: Trial) -> None:
        channel.sendall(msgspec.json.encode(trial) + b"\n")

    _import(settings, answer)
    os._exit(ChildExit.OK)


def _import(settings: Settings, answer: Callable[[Trial], None]) -> None:
    before = fork_hazards.look()
    began = time.monotonic()
    try:
        handler = handler_of(settings)
    except HandlerError as error:
        answer(NotImported(str(error), error.traceback))
    else:
        answer(_result(settings, handler, began, before))


def _result(settings: Settings, handler: Handler, began: float, before: ForkHazards) -> Trial:
    """The result of an import. If this process now uses more than --max-memory, the handler is refused, because a
    worker would use as much."""
    limits = recycle.RecycleLimits(memory=settings.max_memory)
    if too_heavy := recycle.refusal(limits, psutil.Process().memory_info().rss):
        return NotImported(too_heavy)
    seconds, after = time.monotonic() - began, fork_hazards.look_after_fork(before)
    threads = [name for task, name in after.threads.items() if task not in before.threads]
    functions = [Function(each.name, each.kind, list(each.takes), _chosen(each.options)) for each in describe(handler)]
    why = not_shareable(before, after) if is_preloaded(settings) else None
    children = sorted(after.children - before.children)
    return Imported(handler.target, functions, seconds, threads, children, _declared(handler), why)


def _declared(handler: Handler) -> list[DeclaredSchedule]:
    """The schedules that the code declares, as its workers would set them now."""
    if not handler.schedules:
        return []
    from holdfast.client.schedule_definition import define  # large imports, seldom needed
    from holdfast.core.cadence import restored, words

    def fires(schedule_id: str, spec: ScheduleSpec) -> str:
        try:
            return words(restored(define(schedule_id, spec, round(time.time() * 1000)).definition.cadence))
        except InvalidScheduleError as error:  # for example one whose end has passed: workers log it and go on
            return f"not set: {error}"

    return [DeclaredSchedule(each, fires(each, spec), spec.name or "") for each, spec in handler.schedules.items()]


def _chosen(options: HandlerOptions) -> dict[str, object]:
    return {each.name: value for each in fields(options) if (value := getattr(options, each.name)) is not None}


# If root runs the command and another user owns the code, a process of this owner imports the code.
#
# The process is a new Python interpreter, because a fork would contain the memory of root's process. It gets no secrets
# from the settings, only a few environment variables, and no terminal. It cannot gain more rights.

NO_GROUP = 65_534
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", INCARNATION_VARIABLE)

_PROGRAM = "import sys; from holdfastd.doctor.handler_trial import main; main(*map(int, sys.argv[1:]))"


def owner_of(found: Sequence[Stranger]) -> int | NotImported:
    """The one user who owns the code. An error if there is no such user, for example because several users can change
    the code."""
    owners = {each.owner for each in found}
    if len(owners) == 1 and ANYBODY not in owners:
        return owners.pop()
    first = next((each for each in found if each.owner == ANYBODY), found[0])
    return NotImported(f"{first}, so the code has no clear owner: root does not import it, under any user")


def import_as(owner: int, settings: Settings, channel: socket.socket) -> int:
    """Become this owner, and import the handler in a new interpreter. Returns (with an exit status) only if the owner
    cannot run the interpreter."""
    given = os.memfd_create("settings")
    with os.fdopen(os.dup(given), "wb") as file:
        pickle.dump(settings.model_copy(update=dict.fromkeys((*names.SECRETS, "webhook_url"))), file)
    os.lseek(given, 0, os.SEEK_SET)
    _leave_terminal()
    environ = _become(owner)
    for descriptor in (given, channel.fileno()):
        os.set_inheritable(descriptor, True)
    words = [sys.executable, "-c", _PROGRAM, str(given), str(channel.fileno())]
    try:
        os.execve(sys.executable, words, environ)  # noqa: S606 - no shell is wanted
    except OSError as error:
        why = f"{user(owner)}, who owns the code, cannot run {sys.executable}: {error.strerror}"
        channel.sendall(msgspec.json.encode(NotImported(f"{why}: a service of this user cannot start")) + b"\n")
        return 1


def main(given: int, channel: int) -> None:
    """Import the handler in the new interpreter. `given`: the descriptor with the settings; `channel`: the descriptor
    of the channel to the parent."""
    with os.fdopen(given, "rb") as file:
        settings: Settings = pickle.load(file)  # noqa: S301 - written by our own parent
    import_handler(settings, socket.socket(fileno=channel))


def _leave_terminal() -> None:
    """Give up root's terminal. Otherwise the imported code could type commands into it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in {STDOUT, STDERR, STREAM.descriptor()}:
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _become(owner: int) -> dict[str, str]:
    """Take the rights of this user, and give up root's rights. Returns the environment variables for its processes."""
    environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        entry = pwd.getpwuid(owner)
    except KeyError:  # the user has a number and no name, which is common in containers
        group, groups = NO_GROUP, list[int]()
    else:
        group, groups = entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
        environ |= {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}
    os.setgroups(groups)
    os.setresgid(group, group, group)
    os.setresuid(owner, owner, owner)
    prctl.gain_no_rights()
    prctl.die_with_parent(signal.SIGTERM)  # again, because the kernel forgets it when the user changes
    return environ


POLL_INTERVAL = 0.1  # seconds between two checks whether the child has ended
STACK_TIMEOUT = 1.0  # seconds that a child that hangs has to print its stacks
KILL_TIMEOUT = 5.0  # seconds that the kernel has to end the child
LONGEST_ANSWER = 16 << 20  # bytes: an application may have many handlers

_trials: msgspec.json.Decoder[Trial] = msgspec.json.Decoder(Trial)


def look(settings: Settings) -> Trial:
    """Import the handler in a child, within the boot timeout. This forks, so this process may have only one thread."""
    try:
        target = check(settings)
    except HandlerError as error:
        return NotImported(str(error))
    found = foreign_code.foreign_code(settings)
    owner = owner_of(found) if found else None
    if isinstance(owner, NotImported):
        return owner
    preload()  # `start` also imports these modules before it forks, so that a worker need not import them
    become_subreaper()  # to find and end all processes that the import starts, even in other sessions
    importing = partial(import_handler, settings) if owner is None else partial(import_as, owner, settings)
    setup = ChildSetup(uuid.uuid4().hex, "holdfast: try", "holdfast: try", importing)
    child = fork(setup)
    with child.channel:
        answer = _answer(child, time.monotonic() + settings.boot_timeout)
        status = _end(child, setup.incarnation, hangs=answer is None)
    if answer is None:
        return NotImported(f"importing {target} did not end within {settings.boot_timeout:g} s (--boot-timeout)")
    if not answer.endswith(b"\n"):
        return NotImported(f"importing {target} ended its process: {_ending(status)}")
    try:
        return _trials.decode(answer)
    except UNREADABLE_JSON as error:  # the imported code has written to the channel
        return NotImported(f"importing {target} has sent an answer that cannot be read: {error}")


def owner_refusal(settings: Settings) -> str:
    """The reason why `start` would refuse to run this code as the present user; empty if it would run the code."""
    with suppress(HandlerError):  # the settings name no usable handler; the import reports this
        return foreign_code.refusal(settings)
    return ""


def _answer(child: ForkedChild, deadline: float) -> bytes | None:
    """Wait for the child's answer. If the child ends early, returns what came so far. Returns None if the child still
    runs at the deadline and its answer is incomplete."""
    answer = b""
    while not answer.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        if _readable(child, min(left, POLL_INTERVAL)):
            part = _part(child)
            answer += part
            if not part or len(answer) > LONGEST_ANSWER:
                return answer
        elif _has_ended(child.pid) and not _readable(child, 0.0):
            return answer
    return answer


def _part(child: ForkedChild) -> bytes:
    try:
        return child.channel.recv(1 << 16)
    except ConnectionError:
        return b""


def _readable(child: ForkedChild, seconds: float) -> bool:
    return bool(select.select([child.channel], [], [], seconds)[0])


def _has_ended(pid: int) -> bool:
    """True if the child has ended. This call does not reap it. Its descendants may still hold the channel open."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(child: ForkedChild, incarnation: str, *, hangs: bool) -> int | None:
    """End the child and all processes that it has started. Returns its exit code (negative: the signal); None if it did
    not end."""
    if hangs:
        os.kill(child.pid, signal.SIGABRT)
        _wait_for(child.pid, STACK_TIMEOUT)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    if child.pidfd is not None:
        os.close(child.pidfd)
    if not _wait_for(child.pid, KILL_TIMEOUT):
        return None
    kill_leftovers(child.pid, incarnation, ())
    return os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])


def _wait_for(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (ended := _has_ended(pid)) and time.monotonic() < until:
        time.sleep(POLL_INTERVAL / 10)
    return ended


def _ending(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit {status}"
    return signal.Signals(-status).name
