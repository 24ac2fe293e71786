"""Errors that cannot be shown as others are, each by a function that raises it; some are reports about other systems.

Their names are no names of errors: `Nothing`, `Links` say what is odd about them.
"""
# ruff: noqa: N818 - see above

from __future__ import annotations

import sys
from typing import Any, Never


class ApiError(Exception):
    """Its fields are those of an answer (python/cpython#113358)."""

    def __init__(self, body: dict[str, object]) -> None:
        self.body = body

    def __getattr__(self, name: str) -> Any:
        return self.body[name]


class Ending(BaseException):
    """As pytest.exit and others have them: no Exception."""


class _Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise ValueError(name)


class Nothing(Exception, metaclass=_Meta):
    """Nothing can be asked."""

    def __getattribute__(self, name: str) -> Any:
        raise Ending

    def __str__(self) -> str:
        sys.exit(4)

    __repr__ = __str__


class EndlessText(Exception):
    def __str__(self) -> str:
        return str(self)


class OddText(Exception):
    def __str__(self) -> Any:
        return 5


class Text(str):
    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        raise ValueError(key)

    def __len__(self) -> int:
        raise ValueError


class TextOfASubclass(Exception):
    def __str__(self) -> str:
        return Text("of a subclass")


class OddGroup(ExceptionGroup[Exception]):
    def derive(self, excs: Any) -> Any:
        raise ValueError("this cannot be split")

    def __str__(self) -> str:
        raise ValueError


class Properties(Exception):
    @property
    def __cause__(self) -> Any:  # type: ignore[override]
        raise ValueError

    @property
    def __context__(self) -> Any:  # type: ignore[override]
        raise ValueError

    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise ValueError

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise ValueError

    @property
    def __notes__(self) -> Any:
        raise ValueError


class Links(Exception):
    """Each is the cause of the next one."""


def api_error() -> Never:
    raise ApiError({"code": 4})


def reconnect() -> Any:
    """As a client that calls itself in its `except` (python-arq/arq#311): about a thousand contexts."""
    try:
        raise OSError("refused")
    except OSError:
        return reconnect()


def long_chain() -> Never:
    error: BaseException = ValueError("the first")
    for _ in range(5000):
        after = Links("the next")
        after.__cause__ = error
        error = after
    raise error


def circle() -> Never:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    raise one


def deep_groups() -> Never:
    group: Exception = ValueError("innermost")
    for _ in range(3000):
        group = ExceptionGroup("around", [group, ValueError("beside")])
    raise group


def wide_groups() -> Never:
    raise ExceptionGroup("all", [ExceptionGroup("each", [ValueError("x")] * 100) for _ in range(100)])


def odd_group() -> Never:
    raise OddGroup("odd", [ApiError({}), OddGroup("odd", [Nothing()])])


def syntax() -> Never:
    raise SyntaxError("odd", (5, "one", [], 8, b"", -1))


def syntax_of_objects() -> Never:
    raise SyntaxError("odd", (ApiError({}), 10**30, -(10**30), ApiError({}), None, ApiError({})))


def notes() -> Never:
    error = ValueError("with notes")
    error.__notes__ = [ApiError, 5, None, "a note", Nothing]  # type: ignore[list-item]
    raise error


def no_list_of_notes() -> Never:
    error = ValueError("with notes")
    error.__notes__ = Nothing  # type: ignore[assignment]
    raise error


def hint() -> Never:
    class Asked:
        def __dir__(self) -> Any:
            raise SystemExit

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(name, name=name, obj=self)

    Asked().anything  # noqa: B018 - it raises
    raise AssertionError


def nothing() -> Never:
    raise Nothing


def endless_text() -> Never:
    raise EndlessText


def odd_text() -> Never:
    raise OddText


def text_of_a_subclass() -> Never:
    raise TextOfASubclass


def properties() -> Never:
    raise Properties


def huge() -> Never:
    raise ValueError("x" * 30_000_000)


HOSTILE = [
    api_error,
    reconnect,
    long_chain,
    circle,
    deep_groups,
    wide_groups,
    odd_group,
    syntax,
    syntax_of_objects,
    notes,
    no_list_of_notes,
    hint,
    nothing,
    endless_text,
    odd_text,
    text_of_a_subclass,
    properties,
    huge,
]
