"""Generates docs/settings.md from the fields: `python -m holdfast_config.settings_table > docs/settings.md`."""

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

A flag of `supervisor start` overrides the environment, which overrides `.env`, which overrides `supervisor.toml`.
Durations are seconds, or written as `90s`, `5m`, `1h30m`, `7d`; sizes are bytes, or written as `500MB`, `1.5GB`. An
unknown key in a file, and an unknown variable that starts with `HOLDFAST_`, are errors. Put a password into
`HOLDFAST_REDIS_PASSWORD`, `REDIS_URL` or a systemd credential, never on a command line: every user can list processes.

| flag | environment | default | meaning |
|---|---|---|---|
"""
FOOT = """
The keys of `supervisor.toml` are the names of the flags with `_` in place of `-`, as in `max_attempts = 5`; the key of
the handler is `handler`. [config/supervisor.toml](../config/supervisor.toml) and
[config/supervisor.env](../config/supervisor.env) are samples with every setting.

`--config` also accepts

- a JSON file with the same keys,
- the `agent_config.json` of an agent, of which the blocks `scheduler` and `storage` are read,
- the INI file (`.conf`) of a [timeline scheduler](timeline.md).

If no file is named and there is no `supervisor.toml`, an `agent_config.json` in the application's folder (`--app-dir`)
or a `.redbike.conf` in the current folder is read. If both exist, the commands of the timeline scheduler read
`.redbike.conf` and all other commands read `agent_config.json`. One line of the log lists the settings taken from the
file, and the keys that are not understood. Such keys are errors only in a file that was named.

A file that cannot be read, or that other users can write, is an error.

`supervisor config show` shows each setting and its origin.
"""
NO_FLAG = {"handler": "the argument", **dict.fromkeys(names.PASSWORDS, "none")}


def table() -> str:
    """The page."""
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
    """The default; empty if the description says it: None, or a default that depends on the machine."""
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
