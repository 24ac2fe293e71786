"""Every script broken on purpose is noticed; full memory is broken and noticed on a server of its own.

The tests that notice them are run as such in any case. With `--all`, they are run with each broken script.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lua.mutants import FIRST, MUTANTS, NOTICED, TWIN_FIRST, USUAL, Mutant, differs, noticed
from tests.lua.namespace import namespace
from tests.lua.test_server import (
    test_a_full_server_refuses_a_retry_before_anything_is_written as full_refuses_a_retry,
)
from tests.lua.test_server import (
    test_a_full_server_refuses_a_submit_before_anything_is_written as full_refuses,
)
from tests.lua.test_server import test_on_a_full_server_everything_else_goes_on as full_goes_on
from tests.servers import valkey

pytestmark = pytest.mark.anyio

PASSING = ("pull", "renew", "recover", "cancel", "trim", "pause", "resume", "vouch", "reap", "audit", "ring", "wake")
PASSING += ("tend", "readmit", "purge_unreadable", "purge_dead")

# Rule 12: what needs memory is refused before it writes, everything else passes.
FULL = [
    Mutant("submit passes", "submit", "-- flags:\n", "-- flags: allow-oom\n", full_refuses),
    Mutant("submit on options passes", "submit_with_options", "-- flags:\n", "-- flags: allow-oom\n", full_refuses),
    Mutant("retry passes", "retry", "-- flags:\n", "-- flags: allow-oom\n", full_refuses_a_retry),
    *(Mutant(f"{name} is refused", name, "-- flags: allow-oom\n", "-- flags:\n", full_goes_on) for name in PASSING),
]


def test_each_broken_script_still_has_the_text_that_is_broken() -> None:
    assert all(mutant.replaced for mutant in [*MUTANTS, *USUAL, *FULL])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
async def test_a_broken_script_is_noticed(server_url: str, mutant: Mutant) -> None:
    assert await noticed(mutant, server_url), f"nothing noticed: {mutant.name}"


def test_a_first_seed_is_of_a_broken_script_that_is_played() -> None:
    assert {mutant.name for mutant in MUTANTS if mutant.test is None} >= FIRST.keys()
    assert {mutant.name for mutant in USUAL if mutant.test is None} >= TWIN_FIRST.keys()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("mutant", USUAL, ids=lambda mutant: mutant.name)
async def test_a_broken_part_for_usual_calls_is_noticed(server_url: str, mutant: Mutant) -> None:
    assert await differs(mutant, server_url), f"nothing noticed: {mutant.name}"


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("mutant", FULL, ids=lambda mutant: mutant.name)
async def test_a_script_that_handles_full_memory_wrongly_is_noticed(short_path: Path, mutant: Mutant) -> None:
    assert mutant.test
    with valkey(short_path) as url:
        async with namespace(url, mutant.replaced) as space:
            with pytest.raises(NOTICED):
                await mutant.test(space)
