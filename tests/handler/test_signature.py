"""A handler's parameters decide the arguments that it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import holdfast
from holdfast.errors import HandlerError
from holdfast.handler.converters import MisfitError
from holdfast.handler.handler import callee
from holdfast.handler.registry import Handlers
from holdfast.handler.signature import inspect_signature
from holdfast.handler.task import Task
from tests.handler.deliveries import delivery_of

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]  # a name that is not there at run time

TASK = Task(delivery_of())
MESSAGES: list[dict[str, Any]] = [{"parts": []}]


def arguments(function: Callable[..., object], *, named: bool = False, **kwargs: object) -> dict[str, Any]:
    return inspect_signature(function, "the handler", named=named).arguments(MESSAGES, TASK, kwargs)


def takes_nothing() -> None: ...
def takes_messages(messages: object) -> None: ...
def takes_task(task: object) -> None: ...
def takes_both(messages: object, task: object) -> None: ...
def takes_annotated(job: Task) -> None: ...
def takes_annotated_from_the_package(job: holdfast.Task) -> None: ...
def takes_perhaps(job: Task | None = None) -> None: ...
def takes_unknown(messages: Unknown, job: Task) -> None: ...
def takes_defaults(messages: object, colour: str = "red", *rest: object, **more: object) -> None: ...
def takes_keywords(*, messages: object, task: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (takes_nothing, {}),
        (takes_messages, {"messages": MESSAGES}),
        (takes_task, {"task": TASK}),
        (takes_both, {"messages": MESSAGES, "task": TASK}),
        (takes_annotated, {"job": TASK}),
        (takes_annotated_from_the_package, {"job": TASK}),
        (takes_perhaps, {"job": TASK}),
        (takes_unknown, {"messages": MESSAGES, "job": TASK}),
        (takes_defaults, {"messages": MESSAGES}),
        (takes_keywords, {"messages": MESSAGES, "task": TASK}),
    ],
)
def test_messages_and_task_are_passed_where_they_are_wanted(
    function: Callable[..., object], expected: dict[str, Any]
) -> None:
    assert arguments(function) == expected


def takes_arguments(region: str, job: Task, copies: int = 1) -> None: ...
def takes_anything(task: object, **more: object) -> None: ...


def test_a_named_handler_gets_its_kwargs_beside_them() -> None:
    assert arguments(takes_arguments, named=True, region="eu") == {"region": "eu", "job": TASK}
    assert arguments(takes_anything, named=True, a=1) == {"a": 1, "task": TASK}


@pytest.mark.parametrize(
    ("function", "kwargs", "why"),
    [
        (takes_arguments, {"region": "eu"}, None),
        (takes_arguments, {"region": "eu", "copies": 2}, None),
        (takes_arguments, {"copies": 2}, "missing arguments: region"),
        (takes_arguments, {"region": "eu", "b": 1, "a": 1}, "unexpected arguments: a, b"),
        (takes_arguments, {"region": "eu", "job": 1}, "unexpected arguments: job"),
        (takes_anything, {"a": 1}, None),
        (takes_anything, {"task": 1}, "unexpected arguments: task"),
        (takes_messages, {"messages": []}, "unexpected arguments: messages"),
    ],
)
def test_kwargs_have_to_fit(function: Callable[..., object], kwargs: dict[str, object], why: str | None) -> None:
    signature = inspect_signature(function, "the handler", named=True)
    if why is None:
        assert signature.fit(kwargs) == kwargs
    else:
        with pytest.raises(MisfitError, match=f"^{why}$"):
            signature.fit(kwargs)


def takes_other(messages: object, region: str, limit: int) -> None: ...
def takes_positional(messages: object, /) -> None: ...


class Class:
    def __call__(self, messages: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (takes_other, r"the handler has required parameters that Holdfast cannot fill in \(limit, region\)"),
        (takes_positional, r"the handler has positional-only parameters \(messages\)"),
        (Class, "the handler is a class"),
        (7, "the handler is int, not a function"),
        (None, "the handler is NoneType"),
        (type, "the handler is a class"),
    ],
)
def test_a_handler_that_could_not_be_called_is_refused(function: object, why: str) -> None:
    with pytest.raises(HandlerError, match=why):
        callee(function, "the handler", named=False)


def test_named_handlers_are_inspected_when_they_are_registered() -> None:
    handlers = Handlers()
    with pytest.raises(HandlerError, match="the handler 'bill' has positional-only"):
        handlers.register("bill")(takes_positional)
    with pytest.raises(HandlerError, match="the default handler has required parameters"):
        handlers.default(takes_other)


def test_names_are_unique_and_there_is_one_default() -> None:
    handlers = Handlers()
    assert handlers.register("bill")(takes_other).function is takes_other
    assert handlers.default(takes_both) is takes_both
    with pytest.raises(HandlerError, match="'bill' is registered twice"):
        handlers.register("bill")
    with pytest.raises(HandlerError, match="a second default handler"):
        handlers.default(takes_both)
    for name in ("", "x" * 201):
        with pytest.raises(HandlerError, match="1 to 200 characters"):
            handlers.register(name)


def test_a_registry_chooses_by_name_and_else_its_default() -> None:
    handlers = Handlers()
    handlers.register("bill")(takes_other)
    handlers.default(takes_both)
    handler = handlers.frozen("app:handlers")
    chosen = [handler.choose(name) for name in ("bill", None, "bull")]
    assert [one and one.function for one in chosen] == [takes_other, takes_both, None]


def test_an_empty_registry_is_refused() -> None:
    with pytest.raises(HandlerError, match="app:handlers is a registry without handlers"):
        Handlers().frozen("app:handlers")
