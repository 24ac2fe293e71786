"""The types of the limits of lanes on the command line: a number or a rate, or `none`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.client.limit_texts import count_limit, rate_limit


class _Count(click.ParamType[str]):
    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return count_limit(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Rate(click.ParamType[str]):
    """A rate, as the store keeps it."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return rate_limit(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


COUNT = _Count()
RATE = _Rate()
