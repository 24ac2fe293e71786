"""The table of all settings, made from the fields: `python -m holdfast_config.settings_table > docs/settings.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from pydantic.fields import FieldInfo

from holdfast_config import names
from holdfast_config.settings import Settings

HEAD = """# Settings

<!-- made by `python -m holdfast_config.settings_table > docs/settings.md` -->

A flag of `supervisor start` beats the environment, that beats `.env`, that beats `supervisor.toml`. Durations are
seconds, or `90s`, `5m`, `1h30m`, `7d`; sizes are bytes, or `500MB`, `1.5GB`. An unknown key in a file, or under
`HOLDFAST_`, is refused by name. A password belongs into `HOLDFAST_REDIS_PASSWORD`, `REDIS_URL` or a systemd credential,
never on a command line.

| flag | environment | default | |
|---|---|---|---|
"""
FOOT = """
In `supervisor.toml` the keys are those of the flags with `_` for `-`, as in `max_attempts = 5`; the handler's is
`handler`. [config/supervisor.toml](../config/supervisor.toml) and [config/supervisor.env](../config/supervisor.env)
have them all to copy from. A JSON file may hold the same keys; an agent's `agent_config.json` is taken as well, of
which the `scheduler` and `storage` blocks are read, and the INI file (`.conf`) of a [timeline scheduler](timeline.md).
Where no file is named and there is no `supervisor.toml`, an `agent_config.json` in the application's folder
(`--app-dir`) or a `.redbike.conf` in the current folder is used by itself; where both are there, the timeline's verbs
use the second and all other commands the first. One line says what was taken from it and which keys of its blocks are
not understood; those are refused only in a file that was named. A file that cannot be read, or that others can write,
is refused.
`supervisor config show` shows each setting and its origin.
"""
NO_FLAG = {"handler": "the argument", **dict.fromkeys(names.PASSWORDS, "none")}


def table() -> str:
    """The whole page."""
    return HEAD + "".join(map(_row, Settings.model_fields.items())) + FOOT


def _row(field: tuple[str, FieldInfo]) -> str:
    name, info = field
    flag = NO_FLAG.get(name) or f"`--{name.replace('_', '-')}`"
    variables = ", ".join(f"`{variable}`" for variable in _variables(name))
    meaning = (info.description or "").replace("|", "\\|")
    return f"| {flag} | {variables} | {_default(info)} | {meaning} |\n"


def _variables(name: str) -> Iterator[str]:
    yield names.own(name)
    yield from names.ALIASES.get(name, ())


def _default(info: FieldInfo) -> str:
    """None and what depends on the machine are told by the description."""
    if info.default_factory is not None or info.default is None:
        return ""
    if isinstance(info.default, bool):
        return "`true`" if info.default else "`false`"
    return f"`{info.default:g}`" if isinstance(info.default, float) else f"`{_place(info.default)}`"


def _place(default: object) -> str:
    if isinstance(default, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", default)))
    return "." if default == Path() else str(default)


if __name__ == "__main__":
    sys.stdout.write(table())
