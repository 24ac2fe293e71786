"""Limits of lanes as users write them: a number or a rate, or `none`."""

from __future__ import annotations

from holdfast.core.lanes import NO_BOUND
from holdfast_config.lanes import MOST, rate


def count_limit(text: str) -> str:
    """The value of a limit in the store. Raises ValueError."""
    given = text.strip()
    if given == NO_BOUND or (given.isascii() and given.isdigit() and len(given) <= 20 and 1 <= int(given) <= MOST):
        return given
    raise ValueError(f"{given[:80]!r} is not a limit: use a whole number from 1 to {MOST}, or none")


def rate_limit(text: str, burst: str = "") -> str:
    """The value of a rate in the store. `burst`: starts at once after idle time, empty for the usual number. Raises
    ValueError."""
    try:
        return NO_BOUND if text.strip() == NO_BOUND else rate(text, burst.strip() or None).stored
    except ValueError as error:
        raise ValueError(f"{error}, or none") from None
