"""The table of all settings: `python -m tests.docs.settings_table docs/settings.md` renews it on that page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from pydantic.fields import FieldInfo

from holdfast_config import durations, names
from holdfast_config.settings import Settings

HEADER = "| flag | environment | default | meaning |\n|---|---|---|---|\n"
NO_FLAG = {"handler": "the argument", **dict.fromkeys(names.PASSWORDS, "none")}


def renewed(page: str) -> str:
    """The page with the table of the present fields."""
    before, _, rest = page.partition(HEADER)
    return before + HEADER + "".join(map(_row, Settings.model_fields.items())) + rest[rest.index("\n\n") + 1 :]


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
    return f"`{durations.shortest(info.default)}`" if isinstance(info.default, float) else f"`{_place(info.default)}`"


def _place(default: object) -> str:
    if isinstance(default, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", default)))
    return "." if default == Path() else str(default)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text()))
