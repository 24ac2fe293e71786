"""The task in a process that its handler has forked: it can be read, but nothing can be asked of the worker."""

from __future__ import annotations

from typing import Any, NoReturn

from holdfast.errors import ForkedProcessError
from holdfast.handler.task import Task


def become_copy(task: Task) -> None:
    """Make this task that of a forked process. What it has emitted is sent by its worker."""
    task.__class__ = TaskOfCopy
    task.parts = None


class TaskOfCopy(Task):
    """Its calls raise ForkedProcessError: their answer would come to the worker, not to this process."""

    __slots__ = ()

    async def step(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("step")

    def step_sync(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("step")

    async def sleep(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("sleep")

    def sleep_sync(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("sleep")

    async def question(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("question")

    def question_sync(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("question")

    async def emit(self, value: object) -> NoReturn:
        _refuse("emit")

    def emit_sync(self, value: object) -> NoReturn:
        _refuse("emit")

    def checkpoint(self, data: object) -> NoReturn:
        _refuse("checkpoint")

    def progress(self, done: float, total: float | None = None) -> NoReturn:
        _refuse("progress")


def _refuse(call: str) -> NoReturn:
    raise ForkedProcessError(
        f"task.{call}: this process was forked by the handler, and only the worker can carry it out: give what you "
        f"have to the handler (a pipe, a queue, the result of a pool), and call task.{call} there"
    )
