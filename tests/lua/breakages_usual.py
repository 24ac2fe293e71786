"""Ways in which the parts that answer usual calls are broken on purpose; that the operation answers or writes something else notices."""

from __future__ import annotations

# ruff: noqa: E501 - a table: one row, one breakage
# fmt: off
BREAKAGES: list[tuple[str, str, str, str]] = [
    ("another field is usual", "usual_record", "call('HLEN', key) == found", "true"),
    ("any number is usual", "usual_record", "r[2] == lane and r[4] == seq", "r[2] == lane"),
    ("any claim is usual", "usual_record", " and r[8] == claim", ""),
    ("any text is a number", "usual_record", "return not text or (", "return true or ("),
    ("a paused lane is usual", "usual_pull", "KEY.rules, KEY.gated, KEY.closed", "KEY.gated"),
    ("what is due is usual", "usual_pull", "return call('ZCOUNT', KEY.due, '-inf', NOW) + call", "return call"),
    ("an old request is usual", "usual_pull", " or tonumber(ARGV[2]) <= tonumber(r[2])", ""),
    ("any outcome is usual", "usual_pull", "s[3] ~= 'completed' or ", ""),
    ("a checkpoint is usual", "usual_pull", "s[7] ~= '' or ", ""),
    ("one settlement twice is usual", "usual_pull", "met[id] or not usual_running", "not usual_running"),
    ("what is tied to a task is usual", "usual_pull", "call('EXISTS', unpack(rest)) == 0", "true"),
    ("an entry twice is usual", "usual_pull", "not met[id] and usual_waiting", "usual_waiting"),
    ("no operation is usual", "usual_pull", "and operation_of(id)\n", "and (operation_of(id) or '{}')\n"),
    ("the index of what has ended is forgotten", "usual_pull", "  call('ZADD', KEY.finished, unpack(finished))\n", ""),
    ("the trail of a claim is forgotten", "usual_pull", "    add_to_trail('claimed', id, claim)\n", ""),
    ("the head of the lane is forgotten", "usual_pull", "  call('HSET', KEY.heads, LANE, highest)\n", ""),
    ("others are not told of the rest", "usual_pull", "  if waiting > share then ring(LANE) end\n", ""),
]
