"""The scripts of a host of the last version without quarantine workers, as they were: it keeps suspects in `solo`.

Parts that say nothing of suspects are today's.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

_HERE = Path(__file__).parent
_OPERATIONS = ("pull.lua", "recover.lua", "register.lua")
_PARTS = ("lane", "promoting", "recovery")


def _today(part: str) -> str:
    return files("holdfast.lua").joinpath(f"shared/{part}.lua").read_text()


SCRIPTS = {name: (_HERE / name).read_text() for name in _OPERATIONS}
SCRIPTS |= {part: (_HERE / f"{part}.lua").read_text() for part in _PARTS}
SCRIPTS["pull.lua"] = SCRIPTS["pull.lua"].replace(", bound and 1 or 0", "")  # the store reads an answer without it
SCRIPTS["record"] = _today("record").replace("    call('ZREM', T .. 'suspects:' .. lane, id)\n", "")
SCRIPTS["limits"] = _today("limits") + "local SOLO_CRASHES = 3\n"
SCRIPTS["lane"] += (
    "local function operation_of(id) return call('GET', T .. 'op:' .. id) end\n"  # today's messages ask for it
)
