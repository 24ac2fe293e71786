"""The types of the limits of lanes on the command line: a number or a rate, or `none`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.core.lanes import NO_BOUND
from holdfast_config.lanes import MOST, rate


class _Count(click.ParamType[str]):
    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value).strip()
        if text == NO_BOUND or (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
            return text
        return self.fail(f"{text[:80]!r} is not a limit: use a whole number from 1 to {MOST}, or none", param, ctx)


class _Rate(click.ParamType[str]):
    """A rate, as the store keeps it."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return NO_BOUND if value == NO_BOUND else rate(value).stored
        except ValueError as error:
            self.fail(f"{error}, or none", param, ctx)


COUNT = _Count()
RATE = _Rate()
