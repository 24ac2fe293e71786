"""Reads an exception of a user's code: its type, its text, its traceback. These functions never raise.

The class of such an exception is user code. Its methods may raise, recurse, or return values of any type. A chain of
exceptions may have a thousand links, and a group may contain groups. Three rules follow:

1. Links, members and the traceback are read from the interpreter's own slots. No method of the exception is called.
2. Only the exception's code can make its text. So its `__str__` is called, and a failure is replaced by a remark.
3. Everything has a bound: links of a chain, members, depth, frames, length.

The layout is that of Python's own tracebacks.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, cast

from holdfast_config.secret_texts import mask

NO_TEXT = "(its text cannot be made)"
NO_FRAMES = "  (its frames cannot be shown)"

TEXT_LENGTH = 16384  # characters of one text; a longer text is cut in its middle
DEEPEST_FRAMES = 100  # frames of one error that are shown: the innermost ones
MOST_LINKS = 20  # errors of one chain that are shown; of a longer chain the middle is only counted
MOST_MEMBERS = 15  # errors of one group that are shown
MOST_ERRORS = 60  # errors of one report that are shown
MOST_NOTES = 20  # notes of one error that are shown
DEEPEST_GROUP = 10
_WALKED = 100_000  # links of one chain that are followed at most

_CAUSED = "The above exception was the direct cause of the following exception:"
_MEANWHILE = "During handling of the above exception, another exception occurred:"

_HINTED = (NameError, UnboundLocalError, AttributeError, ImportError, ModuleNotFoundError)  # "Did you mean …?"

Shown = Callable[[str], bool]

_Chain = list[tuple[str, BaseException]]


def _slot(kind: type, name: str) -> Callable[[object], Any]:
    """A function that reads the interpreter's slot `name` of an object, even if a subclass overrides the name."""
    return cast("Callable[[object], Any]", kind.__dict__[name].__get__)


_cause, _context = _slot(BaseException, "__cause__"), _slot(BaseException, "__context__")
_is_suppressed, _traceback = _slot(BaseException, "__suppress_context__"), _slot(BaseException, "__traceback__")
_fields = _slot(BaseException, "__dict__")
_members = _slot(BaseExceptionGroup, "exceptions")
_module, _name, _qualified_name = _slot(type, "__module__"), _slot(type, "__name__"), _slot(type, "__qualname__")


def is_error(error: BaseException, *kinds: type[BaseException]) -> bool:
    """True if the error is of one of these kinds. Unlike isinstance, this does not read the object's `__class__`,
    because user code may define it."""
    return issubclass(type(error), kinds)


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """The errors in a group; empty for any other error."""
    return cast("tuple[BaseException, ...]", _members(error)) if is_error(error, BaseExceptionGroup) else ()


def type_name(error: BaseException) -> str:
    """The name of the error's type with its module; the name of a built-in type has no module."""
    kind = type(error)
    with suppress(BaseException):
        module = _module(kind)
        return _qualified_name(kind) if module == "builtins" else f"{text_of(module)}.{_qualified_name(kind)}"
    return cast("str", _name(kind))


def text_of(value: object, length: int = TEXT_LENGTH) -> str:
    """`str(value)`, or a remark if this raises. A text longer than `length` is cut in its middle."""
    try:
        return _ends(str(value), length)
    except BaseException:  # user code may raise anything, such as SystemExit
        return NO_TEXT


def shown(value: object, length: int = TEXT_LENGTH) -> str:
    """`repr(value)`, or the name of its type if this raises."""
    try:
        return _ends(repr(value), length)
    except BaseException:  # user code may raise anything, such as SystemExit
        return f"<{_name(type(value))} that cannot be shown>"


def traceback_text(error: BaseException, is_shown: Shown = lambda _: True) -> str:
    """The traceback of the error and of the errors that led to it. `is_shown(file)`: whether frames of this file are
    included."""
    page = _Page(is_shown)
    page.chain(error)
    return "".join(f"{line}\n" for line in page.lines)


class _Page:
    """Builds the lines of one traceback. Inside of an exception group `_depth` is above 0, and the lines have a
    margin."""

    def __init__(self, is_shown: Shown) -> None:
        self.lines: list[str] = []
        self._is_shown = is_shown
        self._depth = 0
        self._left = MOST_ERRORS
        self._seen: set[int] = set()

    def chain(self, error: BaseException) -> None:
        """Add the lines of the errors that led to this one, then its own lines."""
        links = self._links(error)
        for number, (link, each) in enumerate(links):
            if number == MOST_LINKS // 2 and len(links) > MOST_LINKS:
                self._say(f"[{len(links) - MOST_LINKS} more errors led to one another here]", "")
            if number < MOST_LINKS // 2 or number >= len(links) - MOST_LINKS // 2:
                self._error(each)
                if link:
                    self._say("", link, "")

    def _links(self, error: BaseException) -> _Chain:
        """The errors of the chain, beginning with the original cause. Each comes with the line that the traceback
        prints between it and the next error ("The above exception was …")."""
        chain: _Chain = []
        link, each = "", cast("BaseException | None", error)
        while each is not None and id(each) not in self._seen and len(chain) < _WALKED:
            self._seen.add(id(each))
            chain.append((link, each))
            cause = _cause(each)
            link = _MEANWHILE if cause is None else _CAUSED
            each = (None if _is_suppressed(each) else _context(each)) if cause is None else cause
        return chain[::-1]

    def _error(self, error: BaseException) -> None:
        self._left -= 1
        if self._left < 0:
            if self._left == -1:
                self._say("[more errors are not shown]")
            return
        members = members_of(error)
        is_outermost = bool(members) and self._depth == 0
        self._depth += is_outermost
        if (trace := _traceback(error)) is not None:
            group, margin = ("Exception Group " if members else ""), ("+ " if is_outermost else "| ")
            self._say(f"{group}Traceback (most recent call last):", margin=margin)
            self._say(*self._frames(trace))
        self._say(*_last_lines(error))
        if members:
            self._group(members)
        self._depth -= is_outermost

    def _group(self, members: Sequence[BaseException]) -> None:
        start = "+-+"
        for number, each in enumerate(members[:MOST_MEMBERS], 1):
            self._rule(f"{start}---------------- {number} ----------------")
            start = "  +"
            self._depth += 1
            if self._depth > DEEPEST_GROUP:
                self._say(f"[its {len(members)} errors are too deep to be shown]")
            else:
                self.chain(each)
            self._depth -= 1
        if len(members) > MOST_MEMBERS:
            self._rule("  +---------------- ... ----------------")
            self._rule(f"  | and {len(members) - MOST_MEMBERS} more exceptions")
        self._rule("  +------------------------------------")

    def _frames(self, trace: TracebackType) -> list[str]:
        try:
            return _frames(trace, self._is_shown)
        except BaseException:  # source lines are read through the loaders of modules, which may be user code
            return [NO_FRAMES]

    def _rule(self, line: str) -> None:
        self.lines.append(f"{'  ' * self._depth}{line}")

    def _say(self, *lines: str, margin: str = "| ") -> None:
        before = f"{'  ' * self._depth}{margin}" if self._depth else ""
        self.lines += [f"{before}{line}" for line in lines]


def _frames(trace: TracebackType, is_shown: Shown) -> list[str]:
    stack = traceback.extract_tb(trace, limit=-DEEPEST_FRAMES)
    stack[:] = [frame for frame in stack if is_shown(frame.filename)]
    return "".join(stack.format()).splitlines()


def _last_lines(error: BaseException) -> list[str]:
    """The type and the text of the error, and its notes."""
    lines = _text_lines(error)
    with suppress(BaseException):  # the `__dict__` may be of a user's class
        notes = _fields(error).get("__notes__")
        if type(notes) is list:
            some = cast("list[object]", notes)[:MOST_NOTES]
            lines += [line for note in some for line in text_of(note).split("\n")]
    return lines


def _text_lines(error: BaseException) -> list[str]:
    with suppress(BaseException):  # the fields may have any type, and Python looks for hints in the user's objects
        if is_error(error, SyntaxError):
            return _syntax_lines(cast("SyntaxError", error))
        if type(error) in _HINTED:
            return _hinted_lines(error)
    text = text_of(error)
    return f"{type_name(error)}: {text}".split("\n") if text else [type_name(error)]


def _syntax_lines(error: SyntaxError) -> list[str]:
    """The last lines of a SyntaxError: the line of source code, a mark below the fault, and the message."""
    place = (error.filename, error.lineno, error.offset, error.text, error.end_lineno, error.end_offset)
    filename, line, offset, text, end_line, end_offset = place
    known = (filename and text_of(filename), _number(line), _number(offset), text and _ends(str(text), 1024))
    copy = SyntaxError(text_of(error.msg), (*known, _number(end_line), _number(end_offset)))
    *before, last = "".join(traceback.format_exception_only(SyntaxError, copy)).splitlines()
    return [*before, last.replace("SyntaxError", type_name(error), 1)]


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _hinted_lines(error: BaseException) -> list[str]:
    """The last lines of an error with Python's hint ("Did you mean …?"). Python formats a copy of the error that has no
    chain."""
    copy = type(error)(text_of(error))
    for name in ("name", "obj", "path"):
        if (value := getattr(error, name, None)) is not None:
            setattr(copy, name, value)
    copy.__traceback__ = _traceback(error)
    return "".join(traceback.format_exception_only(type(copy), copy)).splitlines()


def _ends(text: str, length: int) -> str:
    """The text as a plain `str`, also if it is of a subclass. A text longer than `length` is cut in its middle."""
    if str.__len__(text) <= length:
        return str.__getitem__(text, slice(None))
    head, tail, half = slice(length), slice(-length, None), length // 2
    # Secrets are masked before the cut, because half of a secret would not be recognised.
    return mask(str.__getitem__(text, head))[:half] + "…" + mask(str.__getitem__(text, tail))[-half:]


# Make untrusted text safe for a terminal: unprintable characters are escaped.


def escape(text: str, keep: str = "") -> str:
    r"""The text with control and invisible characters escaped, as in `\x1b`. Characters in `keep` stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text)
