"""Replaces the process of `supervisor start` by one that has imported nothing of the command line.

The service forks all its processes, so each of them would carry what this command has imported to read its arguments.
The same program is executed again, with the same process id and arguments; the settings reach it through a pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfastd.cli.common import output

if TYPE_CHECKING:
    from holdfast_config import Settings

VARIABLE = "HOLDFAST_SERVICE_ORDER"  # the descriptor of the pipe; only between two programs of one process
MOST = 1 << 16  # bytes that a pipe takes although nobody reads yet


@dataclass(frozen=True, slots=True)
class ServiceOrder:
    """The service to run: its settings, the flags to read them again with, and the files that they came from."""

    settings: Settings
    flags: Mapping[str, object]
    files: tuple[Path, ...]


def replace_by(order: ServiceOrder) -> None:
    """Replace this process by one that serves the order. Returns if it cannot be replaced."""
    import pickle  # not for every command

    packed = pickle.dumps(order)
    same_arguments = sys.orig_argv[len(sys.orig_argv) - len(sys.argv) + 1 :] == sys.argv[1:]
    if not sys.executable or not same_arguments or len(packed) > MOST:
        return
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(packed)
    os.set_inheritable(reading, True)
    os.environ[VARIABLE] = str(reading)
    sys.stderr.flush()
    with suppress(OSError):
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - no shell is wanted
    del os.environ[VARIABLE]
    os.close(reading)


def received() -> ServiceOrder | None:
    """The order that this process was started with, if any."""
    descriptor = os.environ.pop(VARIABLE, "")  # no setting, and the package of settings is slow to import
    if not descriptor.isdigit():
        return None
    import pickle

    with os.fdopen(int(descriptor), "rb") as pipe:
        order: ServiceOrder = pickle.loads(pipe.read())  # noqa: S301 - written by this very process before it was replaced
    return order


def serve(order: ServiceOrder) -> int:
    """Run the service; its exit status."""
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=order.settings.otlp_endpoint is not None)  # before others import the same

    from holdfast_config import load, logging
    from holdfastd.parent.main import run

    logging.configure(order.settings.log_level, order.settings.log_format)
    return run(order.settings, output.note, lambda: load(order.flags), order.files)
