"""Reads and sets the signal handlers of this process, which may be objects of the user's.

`signal.getsignal` and `signal.signal` ask the handler that they find for its class, its number and its text. The
answers are the user's code, which may raise or lie. The functions below them ask nothing. They have no public name.
"""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingModuleSource]  # it is built in

handler_of = _signal.getsignal
set_handler = _signal.signal
