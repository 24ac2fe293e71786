"""The text of an error is the one of Python. It has bounds, and reading it never fails, whatever the error's class."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from holdfast_config import logging as of_holdfast
from holdfast_config.error_text import MOST_LINKS, shown, text_of, traceback_text, type_name
from tests.handler.hostile_errors import HOSTILE, long_chain

MOST = 200_000  # characters of any report


@pytest.fixture
def mine() -> Iterator[logging.Logger]:
    """A logger whose lines are forwarded; without the handlers of pytest, which cannot show such errors."""
    root, logger = logging.getLogger(), logging.Logger("mine")  # by itself: pytest knows nothing of it
    handlers, level = root.handlers[:], root.level
    logger.addHandler(of_holdfast.Forward())
    yield logger
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def of(function: Callable[[], Any]) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError


def chained() -> None:
    try:
        raise KeyError("first")
    except KeyError as error:
        raise ValueError("two\nlines") from error


def meanwhile() -> None:
    try:
        chained()
    except ValueError:
        raise OSError(2, "No such file") from None


def grouped() -> None:
    try:
        chained()
    except ValueError:
        errors = [of(chained), ExceptionGroup("inner", [of(meanwhile), TypeError()]), ValueError(3)]
        raise BaseExceptionGroup("outer", errors)  # noqa: B904 - the context is shown


def noted() -> None:
    error = ValueError()
    error.add_note("a note\nof two lines")
    raise error


def hinted() -> None:
    logging.getLoger()  # type: ignore[attr-defined]


def misspelt() -> None:
    loging.getLogger()  # type: ignore[name-defined]  # noqa: F821


def no_syntax() -> None:
    compile("x = = 2", "a.py", "exec")


@pytest.mark.parametrize("function", [chained, meanwhile, grouped, noted, hinted, misspelt, no_syntax])
def test_a_usual_error_is_shown_as_python_shows_it(function: Callable[[], Any]) -> None:
    error = of(function)
    assert traceback_text(error) == "".join(traceback.format_exception(error))


@pytest.mark.parametrize("function", HOSTILE)
def test_an_error_of_any_class_is_shown_within_bounds(function: Callable[[], Any]) -> None:
    error = of(function)
    text = traceback_text(error)
    assert len(text) < MOST
    assert f"in {function.__name__}" in text
    assert type(type_name(error)) is type(text_of(error)) is type(shown(error)) is str


def test_the_ends_of_a_long_chain_are_shown_and_its_middle_is_counted() -> None:
    text = traceback_text(of(long_chain))
    assert text.count("Links: the next") == MOST_LINKS - 1
    assert "ValueError: the first" in text
    assert re.search(rf"\[{5001 - MOST_LINKS} more errors led to one another here\]", text)


@pytest.mark.parametrize("function", HOSTILE)
@pytest.mark.parametrize("form", ["json", "console"])
def test_a_line_about_any_error_is_logged_and_its_code_goes_on(
    function: Callable[[], Any], form: str, mine: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    of_holdfast.configure("info", form)
    try:
        function()
    except BaseException as error:
        mine.exception("through %s: %s", "logging", error)
        structlog.get_logger("holdfast.task").exception("through structlog", value=error, error=[error])
    said = capfd.readouterr().err
    assert f"in {function.__name__}" in said
    assert "through structlog" in said


def test_a_line_whose_arguments_do_not_fit_is_logged(mine: logging.Logger, capfd: pytest.CaptureFixture[str]) -> None:
    of_holdfast.configure("info", "json")
    mine.warning("a number: %d", "none")
    assert "a number: %d (its arguments cannot be filled in: " in capfd.readouterr().err
