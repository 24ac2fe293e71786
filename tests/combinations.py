"""Combinations of parameters of a test: some of them in each run, all with `--all`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def combined(*values: Sequence[Any], rounds: int = 1) -> list[Any]:
    """All combinations of a value of each. Those that are left after these rounds are `long`.

    A round has each value at least once. In as many rounds as the second one has values, each of these meets each of
    the first: `combined("abc", "xy")` is ax, by and cx, and its second round is ay, bx and cy.
    """
    longest = max(map(len, values))
    usual = {
        tuple((place + round_ * number) % len(each) for number, each in enumerate(values))
        for round_ in range(rounds)
        for place in range(longest)
    }
    return [
        pytest.param(
            *(each[place] for each, place in zip(values, places, strict=True)),
            marks=() if places in usual else pytest.mark.long,
        )
        for places in product(*(range(len(each)) for each in values))
    ]
