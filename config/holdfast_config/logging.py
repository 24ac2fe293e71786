"""Writes structured logs to standard error: JSON lines for programs, coloured columns on a terminal.

Several processes share the descriptor of standard error, and they fork. So a record is one write, which the kernel does
not mix with other writes. Logging has no thread and no lock, because a fork could copy a lock that is held. No process
waits for the reader of the log: see `standard_error`.

A line may contain values and errors of handlers. If `str` or `repr` of a value raises, a remark replaces its text. So a
call of the log never raises.
"""

from __future__ import annotations

import contextvars
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from holdfast_config import standard_error
from holdfast_config.environment import no_color
from holdfast_config.error_text import escape, shown, text_of, traceback_text, type_name
from holdfast_config.secret_texts import mask
from holdfast_config.standard_error import STDERR, STREAM, has_room, is_journal, make_room, prioritised

# Limit how often one event is logged: in a minute the first lines are written, and further lines are only counted.
#
# Lines that name a task, a process or a schedule differ from each other, so up to 1000 of them are written. Lines of
# other events say the same again and again, so up to 30 are written.

WINDOW = 60.0  # seconds
MOST, MOST_OF_SUBJECTS = 30, 1000  # lines of one event that one process writes in a window
MOST_KINDS = 1000  # events with a count of their own; all further events share one count
SUBJECTS = frozenset({"task", "slot", "incarnation", "schedule"})


class LineKind(NamedTuple):
    """The logger, the level and the event of a line. Lines of the same kind are counted together."""

    logger: str
    level: str
    event: str


OTHERS = LineKind("holdfast", "warning", "other events")


@dataclass(slots=True)
class _Window:
    until: float
    written: int = 0
    withheld: int = 0

    def is_over(self, now: float) -> bool:
        """True if the window has ended and nothing was withheld in it."""
        return self.until <= now and not self.withheld


@dataclass(slots=True)
class RepeatLimit:
    """Limits how often an event is logged within a window of time. `next_end`: the end of the earliest window in which
    lines were withheld; None if no lines are withheld."""

    next_end: float | None = None
    _windows: dict[LineKind, _Window] = field(default_factory=dict[LineKind, _Window])

    def admits(self, kind: LineKind, most: int, now: float) -> bool:
        """Count a line; True if the line may be written. `most`: the number of lines of its kind that a window
        allows."""
        window = self._window(kind, now)
        if window.written < most:
            window.written += 1
            return True
        window.withheld += 1
        self.next_end = window.until if self.next_end is None else min(self.next_end, window.until)
        return False

    def ended(self, now: float) -> Iterator[tuple[LineKind, int]]:
        """The kinds with withheld lines in windows that have ended, with the number of these lines. Every window is
        reported once."""
        over = {kind: window for kind, window in self._windows.items() if window.until <= now}
        for kind in over:
            del self._windows[kind]
        self.next_end = min((window.until for window in self._windows.values() if window.withheld), default=None)
        return iter([(kind, window.withheld) for kind, window in over.items() if window.withheld])

    def clear(self) -> None:
        """Forget all counts. A forked process calls this, because its parent reports the lines of the parent."""
        self._windows.clear()
        self.next_end = None

    def _window(self, kind: LineKind, now: float) -> _Window:
        """The window in which a line of this kind counts. A window with withheld lines stays until `ended` has reported
        them."""
        if kind not in self._windows and len(self._windows) >= MOST_KINDS:
            self._windows = {known: window for known, window in self._windows.items() if not window.is_over(now)}
            kind = OTHERS if len(self._windows) >= MOST_KINDS else kind
        window = self._windows.get(kind)
        if window is None or window.is_over(now):
            window = self._windows[kind] = _Window(now + WINDOW)
        return window


def most_of(fields: Mapping[str, object]) -> int:
    """The number of lines that an event with these fields may log in a minute."""
    return MOST if SUBJECTS.isdisjoint(fields) else MOST_OF_SUBJECTS


# The task whose handler runs in this context. Log lines of the handler name this task.
#
# A context variable holds the task. So the handler's coroutines, the asyncio tasks that they start, and threads that
# copy the context all know the task.


class LoggedTask(Protocol):
    """The part of a Task that logging needs. `log_fields` returns the fields that are added to the log lines of its
    handler."""

    def log_fields(self) -> Mapping[str, object]: ...


CURRENT: ContextVar[LoggedTask | None] = ContextVar("holdfast_task", default=None)


_LINES = "\n\t"  # characters that are not escaped in tracebacks
_FIRST = ("timestamp", "level", "logger", "event")
_TEMPLATE = "_template"  # a field of a library's line: its text before the arguments are filled in
HANDLERS = frozenset({"holdfast.task", "holdfast.output"})  # the loggers of lines that handlers write
REPEATED = "more lines of this event were left out"
DROPPED = "lines were dropped: nobody reads the log, or too slowly"
DROPPED_PAUSE = 1.0  # seconds between two lines that report dropped lines


class MaskedLine(str):
    """A rendered line whose secrets are masked already."""

    __slots__ = ()


class JsonLines:
    """The logger that writes rendered lines to standard error. If the pipe of standard error is full, the line is
    dropped and counted."""

    def __init__(self, name: str = "holdfast") -> None:
        self.name = name

    def msg(self, message: str) -> None:
        """Write one line, with its secrets masked."""
        masked = message if isinstance(message, MaskedLine) else mask(message)
        with suppress(OSError):  # the reader is gone or the disk is full: the process goes on without logs
            if STREAM.dropped:
                _dropped.tell()
            STREAM.write(f"{masked}\n".encode("utf-8", "backslashreplace"))

    log = debug = info = warn = warning = error = err = critical = fatal = exception = failure = msg


_OF_CLIENTS = frozenset({"event", "task", "lane", "answer"})  # extra fields of records that Holdfast's client writes


class Forward(logging.Handler):
    """A handler that forwards records of Python's `logging` to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record under the name of its logger, at the nearest level that has a name."""
        level = min(max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL)
        fields = {name: value for name, value in record.__dict__.items() if name in _OF_CLIENTS}
        text = fields.pop("event", None) or _message(record)
        log = structlog.get_logger(record.name)
        log.log(level, text, exc_info=record.exc_info, **{_TEMPLATE: text_of(record.msg)}, **fields)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except BaseException as error:  # the arguments do not match the text, or their `str` raises
        return f"{text_of(record.msg)} (its arguments cannot be filled in: {type_name(error)})"


class LimitRepeats:
    """A processor that withholds lines of an event that is logged too often. When the minute is over, it logs how many
    lines were withheld. Debug lines and lines of handlers are never withheld."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._limit = RepeatLimit()
        os.register_at_fork(after_in_child=self._limit.clear)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        template = text_of(event.pop(_TEMPLATE, event.get("event", "")))
        if method == "debug" or template in (REPEATED, DROPPED) or _is_of_handler(logger.name):
            return event
        now = self._clock()
        self.tell(now)
        if self._limit.admits(LineKind(logger.name, method, template), most_of(event), now):
            return event
        raise structlog.DropEvent

    def tell(self, now: float | None = None) -> None:
        """Log how many lines were withheld in the minutes that are over by now."""
        if self._limit.next_end is None:
            return
        now = self._clock() if now is None else now
        if self._limit.next_end <= now:
            for kind, count in self._limit.ended(now):
                getattr(structlog.get_logger(kind.logger), kind.level)(REPEATED, of=kind.event, count=count)


class TellDropped:
    """Logs how many lines of this process were dropped, once standard error has room again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = -math.inf
        self._log = structlog.wrap_logger(  # a logger without a minimum level
            JsonLines("holdfast.log"), wrapper_class=structlog.make_filtering_bound_logger(0)
        )

    def tell(self) -> None:
        """Log the number of dropped lines, at most once a second."""
        STREAM.finish()
        if STREAM.dropped and self._next <= self._clock() and has_room():
            self._next = self._clock() + DROPPED_PAUSE
            count, STREAM.dropped = STREAM.dropped, 0
            contextvars.Context().run(self._log.warning, DROPPED, count=count)  # outside of any task's context
            if STREAM.dropped:  # another process has filled the room meanwhile, so this line was dropped, too
                STREAM.dropped += count - 1


_repeats = LimitRepeats()
_dropped = TellDropped()
_output = structlog.wrap_logger(JsonLines("holdfast.output"), wrapper_class=structlog.make_filtering_bound_logger(0))


def tell_left_out(*, is_end: bool = False) -> None:
    """Log how many lines were withheld in the minutes that are over, and how many lines were dropped. `is_end`: the
    process is about to end, so the present minute is reported, too."""
    _repeats.tell(math.inf if is_end else None)
    with suppress(OSError):
        _dropped.tell()


def write_output(task: LoggedTask, stream: str, line: str, *, partial: bool = False) -> None:
    """Log a line that a handler has printed, at any log level. `partial`: the printed line is too long for one log line
    and goes on in the next one."""
    goes_on = {"partial": True} if partial else {}
    _output.info("output", stream=stream, line=line, **task.log_fields(), **goes_on)


def configure(level: str, fmt: str) -> None:
    """Configure the log. Call this once in the first process of a process tree, before the first record.

    `level` is a name such as `info`; `fmt` is `json`, `console`, or `auto`: console where standard error is a terminal.
    """
    make_room()
    terminal = os.isatty(STDERR)
    console = fmt == "console" or (fmt == "auto" and terminal)
    rendered = _console(colors=terminal and not no_color()) if console else _json()
    structlog.configure(
        processors=[*_common(), *(_for_journal(rendered) if is_journal(STDERR) else rendered)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=JsonLines,
        cache_logger_on_first_use=True,
    )
    libraries = max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()])
    logging.basicConfig(handlers=[Forward()], level=libraries, force=True)


def _common() -> list[Processor]:
    return [
        _repeats,
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _add_origin,
        _add_task,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _tell_error,
        standard_error.offer,
    ]


def _json() -> list[Processor]:
    return [structlog.processors.JSONRenderer(serializer=_to_json)]


def _for_journal(processors: list[Processor]) -> list[Processor]:
    """The processors with a renderer that puts the level before every line, as systemd's journal reads it (`<3>`)."""
    *first, render = processors

    def with_priority(logger: WrappedLogger, method: str, event: EventDict) -> str:
        level = str(event.get("level", ""))
        line = render(logger, method, event)
        marked = prioritised(str(line), level)
        return MaskedLine(marked) if isinstance(line, MaskedLine) else marked

    return [*first, with_priority]


def _to_json(event: EventDict, **_: object) -> MaskedLine:
    """The event as JSON in ASCII, in which control and invisible characters are escaped. Never raises, whatever the
    values."""
    ordered: dict[str, Any] = {key: event.pop(key) for key in _FIRST if key in event}
    ordered.update(event)
    try:
        line = json.dumps(ordered, default=shown, allow_nan=False)
    except Exception:  # a key is no text, a value contains itself or is too deep, or a number is NaN
        line = json.dumps({key: _plain(value) for key, value in ordered.items()})
    masked = mask(line)
    if masked == line or _is_json(masked):
        return MaskedLine(masked)
    # A number contained a secret, and `***` without quotes is no JSON: so all values become texts.
    texts = {key: value if isinstance(value, str) else shown(value) for key, value in ordered.items()}
    return MaskedLine(json.dumps({key: mask(text) for key, text in texts.items()}))


def _plain(value: object) -> str | int | None:
    """The value if its type is one of JSON's simple types; else its `repr`."""
    return cast("str | int | None", value) if type(value) in (type(None), str, int, bool) else shown(value)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _console(colors: bool) -> list[Processor]:
    plain = structlog.dev.plain_traceback
    return [_escape_values, structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]


def _tell_error(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by `exception`, the text of the traceback."""
    about: object = event.pop("exc_info", None)
    if type(about) is tuple:  # the form that sys.exc_info() returns
        about = cast("tuple[object, ...]", (*about, None, None))[1]
    elif type(about) in (bool, int) and about:
        about = sys.exc_info()[1]
    if issubclass(type(about), BaseException):
        event["exception"] = traceback_text(cast("BaseException", about)).removesuffix("\n")
    return event


def _add_origin(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event.setdefault("logger", logger.name)
    event.setdefault("pid", os.getpid())
    return event


def _add_task(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Add the fields of the task whose handler logs this line."""
    task = CURRENT.get()
    if task is not None:
        for name, value in task.log_fields().items():
            event.setdefault(name, value)
    return event


def _is_of_handler(logger: str) -> bool:
    return logger in HANDLERS or (CURRENT.get() is not None and not logger.startswith("holdfast."))


def _escape_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {escape(key): _safe(value, _LINES if key in ("exception", "stack") else "") for key, value in event.items()}


def _safe(value: object, keep: str) -> object:
    kind = type(value)  # not isinstance, which may run user code (`__class__`)
    if kind in (type(None), bool, int, float):
        return value
    return escape(cast("str", value) if kind is str else shown(value), keep)
