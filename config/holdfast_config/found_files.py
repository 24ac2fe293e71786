"""Settings files of other systems that are found by their usual names, where there is no supervisor.toml.

Nobody named such a file, and it may be written for a newer version of its system: a key that is not understood refuses
nothing. One line says what was taken from the file, and what was not understood.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from holdfast_config import setting_layers
from holdfast_config.errors import ConfigError
from holdfast_config.origin import Layer, shown

AGENT = "agent_config.json"  # of the agent framework, in the application's folder
TIMELINE = ".redbike.conf"  # of a timeline scheduler, in the current folder
CONFIGURATION = "the application's configuration"


def candidates(folder: Path, app_dir: Path, *, timeline: bool) -> tuple[Path, ...]:
    """The files in the order in which they are looked for: the first that is there is the one that is used. With one of
    them in a folder all commands use it, so that what one advises another does to the same queue. With both, the
    verbs of a timeline scheduler (`timeline`) use theirs, and all others the framework's."""
    usual = app_dir / AGENT, folder / TIMELINE
    return usual[::-1] if timeline else usual


def is_file(path: Path) -> bool:
    """Raises ConfigError where this cannot be known: `Path.is_file` raises PermissionError there, or says no."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        raise ConfigError([f"{path}: this user may not search its folder: chmod +x it, or use another"]) from None
    except (OSError, ValueError):  # there can be none by this name
        return False


def read(path: Path, fields: Iterable[str], *, in_application: bool = False) -> Layer:
    """What a found file says, with its notice. `in_application`: to an application of the agent framework."""
    layer = setting_layers.of_file(path, fields, found=True)
    return _noticed(_without_memory(layer) if in_application else layer, str(path), f"found {path}")


def _without_memory(layer: Layer) -> Layer:
    """`memory` is the framework's default: a `scheduler` block with it says nothing, as in the application's code."""
    told = layer.given.get("scheduler_type")
    if told is None or str(told.value).strip().lower() != "memory":
        return layer
    return replace(layer, given={f: one for f, one in layer.given.items() if not one.key.startswith("scheduler.")})


def of_framework(blocks: Mapping[str, object], fields: Iterable[str]) -> Layer:
    """What an application of the agent framework was configured with in its code."""
    layer = setting_layers.of_blocks(blocks, set(fields), f" (in {CONFIGURATION})")
    return _noticed(layer, CONFIGURATION, CONFIGURATION)


def _noticed(layer: Layer, place: str, said: str) -> Layer:
    """The layer with one line that says what was taken; keys that are not understood refuse nothing any more."""
    where = f" (in {place})"
    taken = [f"{one.key.removesuffix(where)} {shown(field, one.value)}" for field, one in layer.given.items()]
    unknown = [line.replace(f"{where}: unknown setting", "") for line in layer.unknown]
    parts = [f"taken: {', '.join(taken)}"] if taken else []
    parts += [f"not understood: {', '.join(unknown)}"] if unknown else []
    return replace(layer, unknown=(), notice=f"{said}: {'; '.join(parts)}" if parts else "")
