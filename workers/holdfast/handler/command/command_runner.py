"""Runs a command as a handler: one process per delivery, which ends with the delivery, however that ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from holdfast.core.messages import Message
from holdfast.core.outcomes import Failure, Outcome, Raised
from holdfast.handler.command import exit_codes, task_input
from holdfast.handler.command.command_line import Command
from holdfast.handler.command.pipes import feed, listen
from holdfast.handler.command.process import CommandProcess
from holdfast.handler.command.process_output import CommandResult, Remarks
from holdfast.handler.task import Task
from holdfast.handler.to_json import NotJsonError
from holdfast_config import names


@dataclass(frozen=True, slots=True)
class CommandRunner:
    """`inherited` is the environment of its processes. Seconds: `grace` from SIGTERM to SIGKILL, `linger` for
    background processes of the command to finish writing."""

    command: Command
    inherited: Mapping[str, str]
    grace: float
    linger: float = 1.0
    pidfd: Callable[[int], int] = os.pidfd_open

    async def run(self, task: Task, messages: list[Message]) -> Outcome:
        """One delivery. When this returns, or is cancelled, nothing of its process is left."""
        document, environment = task_input.document(task, messages), task_input.environment(task, self.inherited)
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
        await anyio.lowlevel.checkpoint_if_cancelled()  # the group does not raise it once the ender has ended
        assert outcome is not None
        return outcome

    async def _exchange(
        self, process: CommandProcess, document: bytes, result: CommandResult, remarks: Remarks
    ) -> None:
        """Returns when it has ended and no process is left that could write."""
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
    if status == exit_codes.TRY_AGAIN:
        _keep_checkpoint(task, result.raw)
    return exit_codes.outcome(status, result.raw, remarks.last_line, remarks.tail, task.notes.max_bytes)


def _keep_checkpoint(task: Task, output: bytes) -> None:
    """Keep the output of a command that asked for a retry as the checkpoint for its next run."""
    if (written := exit_codes.value_of(output)) is not None:
        with suppress(NotJsonError):  # too long, or NaN or infinity: the previous checkpoint stays
            task.checkpoint(written)


def _marks(environment: Mapping[str, str]) -> list[bytes]:
    """The variables that only processes of this run carry: one worker runs a task once at a time."""
    carried = [name for name in (names.INCARNATION, names.TASK_ID) if name in environment]
    return [os.fsencode(f"{name}={environment[name]}") for name in carried]
