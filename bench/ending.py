"""How a bench ends: with its status, and when it is told to stop by ending what it started, too."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import NoReturn


def run(main: Callable[[], int]) -> NoReturn:
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # unwinds; by default it would not
    sys.exit(main())
