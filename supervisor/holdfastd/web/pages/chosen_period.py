"""The period that a page is asked for: `?since=24h`."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request

HOUR_MS = 3_600_000


class ChosenPeriod(NamedTuple):
    name: str
    title: str
    length_ms: int


PERIODS = (
    ChosenPeriod("1h", "hour", HOUR_MS),
    ChosenPeriod("6h", "6 hours", 6 * HOUR_MS),
    ChosenPeriod("24h", "day", 24 * HOUR_MS),
    ChosenPeriod("7d", "week", 168 * HOUR_MS),
    ChosenPeriod("30d", "30 days", 720 * HOUR_MS),
)


def chosen_period(request: Request) -> ChosenPeriod:
    """The hour, unless the address names another one of PERIODS."""
    wanted = request.query_params.get("since")
    return next((each for each in PERIODS if each.name == wanted), PERIODS[0])
