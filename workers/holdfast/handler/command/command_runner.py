"""Runs a command as a handler: one process per delivery, which ends when the delivery ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
import msgspec

from holdfast.core.messages import Message
from holdfast.core.outcomes import Failure, Outcome, Raised, Rejected, failure_document
from holdfast.handler.command.command_line import Command
from holdfast.handler.command.process import CommandProcess, CommandResult, Remarks, feed, listen
from holdfast.handler.failures import MESSAGE_BYTES, bounded
from holdfast.handler.returned_value import NotJsonError, outcome_of, to_json
from holdfast.handler.task import Task
from holdfast_config import names

# Maps a command's exit status to the outcome of its task. The numbers are those of sysexits(3).

TRY_AGAIN = 75
NEVER: Mapping[int, str] = {
    64: "usage error",
    65: "bad data",
    66: "no input",
    77: "no permission",
    78: "bad configuration",
}

_decode = msgspec.json.Decoder().decode


def exit_outcome(status: int, output: bytes, last_line: str, tail: str, max_bytes: int) -> Outcome:
    """The outcome of a command that ended with `status` (below 0: the negative number of a signal).

    `last_line` and `tail` of its standard error explain the outcome.
    """
    because = f": {last_line}" if last_line else ""
    match status:
        case 0:
            return outcome_of(exit_value(output), max_bytes)
        case _ if status == TRY_AGAIN:
            return Raised(_failure("Retry", f"the command asked for a retry{because}", tail))
        case _ if status in NEVER:
            failure = _failure("Reject", last_line or f"exit status {status}, {NEVER[status]}", tail)
            return Rejected(failure_document("rejected", failure), failure.message)
        case _ if status < 0:
            return Raised(_failure("Signal", f"the command was ended by {_signal(-status)}{because}", tail))
        case _:
            return Raised(_failure("ExitStatus", f"exit status {status}{because}", tail))


def exit_value(output: bytes) -> Any:
    """The command's output, in place of the return value of a Python handler: the JSON value if all of it is JSON, else
    the text; None if it is empty."""
    try:
        return _decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return output.decode(errors="replace").rstrip("\r\n") or None


def _failure(kind: str, message: str, tail: str) -> Failure:
    return Failure(kind, bounded(message, MESSAGE_BYTES), tail)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# A command gets its task as a JSON document on standard input, and as variables of its environment.


def input_document(task: Task, messages: list[Message]) -> bytes:
    """The input of a command: one JSON object with the task. `attempt` counts from 1, `deadline` is in Unix time."""
    fields: dict[str, Any] = {
        "task_id": task.id,
        "context_id": task.context_id,
        "attempt": task.attempts + 1,
        "delivery": task.delivery,
        "idempotency_key": task.idempotency_key,
        "deadline": None if task.deadline is None else time.time() + task.deadline - time.monotonic(),
        "messages": messages,
        "checkpoint": task.last_checkpoint,
    }
    return to_json(fields)


def input_environment(task: Task, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of the command: the inherited variables, and variables that describe the task."""
    own = {
        names.TASK_ID: task.id,
        names.ATTEMPT: str(task.attempts + 1),
        names.IDEMPOTENCY_KEY: task.idempotency_key,
    }
    trace = {"TRACEPARENT": task.traceparent} if task.traceparent else {}
    return {**inherited, **own, **trace}


@dataclass(frozen=True, slots=True)
class CommandRunner:
    """Runs a command for each delivery. `inherited` is the environment of its processes. `grace`: seconds from SIGTERM
    to SIGKILL; `linger`: seconds for background processes of the command to finish writing."""

    command: Command
    inherited: Mapping[str, str]
    grace: float
    linger: float = 1.0
    pidfd: Callable[[int], int] = os.pidfd_open

    async def run(self, task: Task, messages: list[Message]) -> Outcome:
        """Run one delivery. When this returns, or is cancelled, no process of the command is left."""
        document, environment = input_document(task, messages), input_environment(task, self.inherited)
        try:
            process = CommandProcess(self.command, environment, _marks(environment), self.pidfd)
        except OSError as error:
            return Raised(Failure("CannotStart", f"{self.command.path}: {error.strerror}"))
        result = CommandResult(task.notes.max_bytes, process.kill)
        remarks = Remarks(lambda line: task.logger.info("the command said", line=line))
        over = anyio.Event()
        outcome: Outcome | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(_end_when_cancelled, process, self.grace, over)
            with anyio.CancelScope(shield=True), process:
                await self._exchange(process, document, result, remarks)
            over.set()
            outcome = _outcome(process.status, task, result, remarks)
        await anyio.lowlevel.checkpoint_if_cancelled()  # the group drops a cancel after `_end_when_cancelled`
        assert outcome is not None
        return outcome

    async def _exchange(
        self, process: CommandProcess, document: bytes, result: CommandResult, remarks: Remarks
    ) -> None:
        """Write the input and read the output. Returns when the command has ended and none of its processes is left
        that could write."""
        closed = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(feed, process.stdin, document)
            group.start_soon(_read_output, process, result, remarks, closed)
            await process.ended()
            if not process.asked_to_end:
                await _at_most(self.linger, closed)
            process.kill_all()
            await _at_most(self.linger, closed)  # for processes that were not found
            group.cancel_scope.cancel()


async def _end_when_cancelled(process: CommandProcess, grace: float, over: anyio.Event) -> None:
    try:
        await over.wait()
    except anyio.get_cancelled_exc_class():
        process.ask_to_end()
        with anyio.CancelScope(shield=True):
            await _at_most(grace, over)
            if not over.is_set():
                process.kill()
        raise


async def _read_output(process: CommandProcess, result: CommandResult, remarks: Remarks, closed: anyio.Event) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(listen, process.stdout, result.take)
        group.start_soon(listen, process.stderr, remarks.take)
    closed.set()


async def _at_most(seconds: float, event: anyio.Event) -> None:
    with anyio.move_on_after(seconds):
        await event.wait()


def _outcome(status: int, task: Task, result: CommandResult, remarks: Remarks) -> Outcome:
    remarks.finish()
    if result.excessive:
        most = task.notes.max_bytes
        problem = f"the command wrote more than {most} bytes to its standard output: at most {most} are kept"
        return Raised(Failure("ResultError", problem, remarks.tail), final=True)
    if status == TRY_AGAIN:
        _keep_checkpoint(task, result.raw)
    return exit_outcome(status, result.raw, remarks.last_line, remarks.tail, task.notes.max_bytes)


def _keep_checkpoint(task: Task, output: bytes) -> None:
    """Keep the output of a command that asked for a retry as the checkpoint for its next run."""
    if (written := exit_value(output)) is not None:
        with suppress(NotJsonError):  # too long, or NaN or infinity: the previous checkpoint stays
            task.checkpoint(written)


def _marks(environment: Mapping[str, str]) -> list[bytes]:
    """The `NAME=value` entries of the environment by which the processes of this run are found. No other run has the
    same entries, because a worker runs a task only once at a time."""
    carried = [name for name in (names.INCARNATION, names.TASK_ID) if name in environment]
    return [os.fsencode(f"{name}={environment[name]}") for name in carried]
