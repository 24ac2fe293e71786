"""The log of the library in any process. A service configures structlog for its processes, and so may an application.

In a process where nobody has, structlog would print each line to standard output, among the output of the program. So
there the lines go to Python's `logging`, which writes warnings to standard error unless the application says otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, cast

import structlog
from structlog.typing import Context, EventDict, Processor, WrappedLogger

from holdfast_config.error_text import shown


def get_logger(name: str) -> Any:
    """The logger of this name, with the methods of structlog. It finds out at its first line who has configured what,
    so a module may call this while it is imported."""

    def bound(logger: WrappedLogger, processors: Sequence[Processor], context: Context) -> Any:
        wrapper: Any = structlog.get_config()["wrapper_class"]
        if structlog.is_configured():
            return wrapper(logger, processors=processors, context=context)
        return wrapper(logging.getLogger(name), processors=[_as_record], context=context)

    return structlog.wrap_logger(None, wrapper_class=cast("Any", bound), logger_factory_args=(name,))


def _as_record(_logger: WrappedLogger, _method: str, event: EventDict) -> tuple[tuple[str, str], dict[str, Any]]:
    """The arguments for a method of a logger of `logging`: the event and its fields as one text."""
    about = event.pop("exc_info", None)
    text = " ".join((str(event.pop("event")), *(f"{name}={shown(value)}" for name, value in event.items())))
    return ("%s", text), {"exc_info": about}
