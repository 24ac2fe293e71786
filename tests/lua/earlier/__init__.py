"""The scripts of a host of the last version without quarantine workers, as they were: it keeps suspects in `solo`.

Parts that say nothing of suspects are today's.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.store.redis.scripts import text

_HERE = Path(__file__).parent
_OPERATIONS = ("pull", "recover", "register")
_PARTS = ("lane", "promotion", "recovery")


SCRIPTS = {name: (_HERE / f"{name}.lua").read_text() for name in (*_OPERATIONS, *_PARTS)}
SCRIPTS["pull"] = SCRIPTS["pull"].replace(", bound and 1 or 0", "")  # the store reads an answer without it
SCRIPTS["pull"] = SCRIPTS[
    "pull"
].replace(  # and sends settlements in another order, those that are plain as three values
    "kind = s[3], delay = s[4], reason = s[5], result = s[6], checkpoint = s[7]",
    "kind = s[4] or 'completed', delay = s[5] or 0, reason = s[6] or '', result = s[3], checkpoint = s[7] or ''",
)
SCRIPTS["task_record"] = text("task_record").replace("    call('ZREM', KEY.suspects .. lane, id)\n", "")
SCRIPTS["limits"] = text("limits") + "local SOLO_CRASHES = 3\n"
SCRIPTS["lane"] += (
    "local function operation_of(id) return call('GET', KEY.op .. id) end\n"  # today's messages ask for it
    "local function is_list(lane) return true end\n"  # and today's submit
    "local HIGHEST = 90000000000000\n"
)
