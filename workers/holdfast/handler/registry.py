"""The registry that an application fills when one handler is not enough.

handlers = Handlers()

@handlers.register("billing.send_statement")
async def send_statement(region: str, task: Task) -> dict[str, int]: ...

@handlers.default
async def answer(messages): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.errors import HandlerError
from holdfast.handler.callee import Callee, callee
from holdfast.handler.handler import Handler

F = TypeVar("F", bound=Callable[..., Any])

NAME_LENGTH = 200


class Handlers:
    """Handlers by name, and at most one for operations that name none. Registering raises HandlerError for a handler
    that could not be called."""

    def __init__(self) -> None:
        self._named: dict[str, Callee] = {}
        self._default: Callee | None = None

    def register(self, name: str) -> Callable[[F], F]:
        """A decorator: operations that call `name` run this function, with their kwargs."""
        if not name or len(name) > NAME_LENGTH:
            raise HandlerError(f"handler name {name[:NAME_LENGTH]!a}: 1 to {NAME_LENGTH} characters are allowed")
        if name in self._named:
            raise HandlerError(f"handler name {name!a} is registered twice: names are unique")

        def keep(function: F) -> F:
            self._named[name] = callee(function, f"the handler {name!a}", named=True)
            return function

        return keep

    def default(self, function: F) -> F:
        """A decorator: operations that name no handler run this function."""
        if self._default is not None:
            raise HandlerError("a second default handler: there can be one")
        self._default = callee(function, "the default handler", named=False)
        return function

    def frozen(self, target: str) -> Handler:
        """What has been registered so far, as a worker runs it. Raises HandlerError where that is nothing."""
        if not self._named and self._default is None:
            raise HandlerError(f"{target} is a registry without handlers: register at least one")
        return Handler(target, self._default, dict(self._named))
