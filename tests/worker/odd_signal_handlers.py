"""Signal handlers whose class answers badly to whoever asks it anything but to be called."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType
from typing import Any

METHODS = (
    "__getattr__",
    "__getattribute__",
    "__int__",
    "__index__",
    "__eq__",
    "__hash__",
    "__bool__",
    "__str__",
    "__repr__",
    "__format__",
    "__len__",
    "__instancecheck__",
)
ANSWERS = (None, RuntimeError("working outside of a context"), KeyError("name"), SystemExit(3), KeyboardInterrupt())
CLASSES = (asyncio.AbstractEventLoop, asyncio.Runner, int, None)
NAMES = ("holdfast.worker", "asyncio.unix_events", "user", 7)

_guarded = [False]


def odd_handler(seed: int) -> Any:
    """A handler of the user's, made at random. It is well-behaved until `misbehave`: `signal.signal` looks at it."""
    chance = random.Random(seed)
    made = chance.choice((_of_class, _lying, _of_metaclass))(chance)
    match chance.randrange(5):
        case 0:
            return partial(made)
        case 1:
            return MethodType(_call, made)
        case 2:
            function = FunctionType(_call.__code__, {"__name__": chance.choice(NAMES)}, "odd")
            function.__module__ = chance.choice((*NAMES, made))
            return function
        case _:
            return made


def misbehave(on: bool) -> None:
    _guarded[0] = on


def _call(*_: Any) -> None: ...


def _answering(name: str, answer: BaseException | None, base: type = object) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        if not _guarded[0]:
            usual = getattr(base, name, None)
            if usual is None:
                raise TypeError(name) if name in ("__int__", "__index__") else AttributeError(*args)
            return usual(self, *args)
        if answer is not None:
            raise answer
        return None

    return method


def _of_class(chance: random.Random) -> Any:
    chosen = chance.sample(METHODS, chance.randint(1, len(METHODS)))
    body: dict[str, Any] = {each: _answering(each, chance.choice(ANSWERS)) for each in chosen}
    return type("Odd", (), {**body, "__call__": _call, "__module__": chance.choice(NAMES)})()


def _lying(chance: random.Random) -> Any:
    """Its class is another one, or cannot be had."""
    answer = chance.choice((*CLASSES, *ANSWERS))

    def lie(self: Any) -> Any:
        if not _guarded[0]:
            return type(self)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return type("Lying", (), {"__class__": property(lie), "__call__": _call})()


def _of_metaclass(chance: random.Random) -> Any:
    chosen = ("__getattribute__", "__instancecheck__", "__subclasscheck__", "__eq__", "__hash__")
    body: dict[str, Any] = {each: _answering(each, chance.choice(ANSWERS), type) for each in chosen}
    return type("Meta", (type,), body)("Odd", (), {"__call__": _call})()
