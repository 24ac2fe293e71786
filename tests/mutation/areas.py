"""The product's files by area: mutants are drawn from each area in equal parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("config", "workers", "supervisor")
LUA = "Lua"

AREAS: Mapping[str, Sequence[str]] = {  # an area takes the files below its paths that no longer path of another takes
    "worker": ("workers/holdfast/worker", "workers/holdfast/core", "workers/holdfast/ipc", "workers/holdfast/os",
               "workers/holdfast/telemetry"),
    "handler": ("workers/holdfast/handler",),
    "client": ("workers/holdfast",),
    "store": ("workers/holdfast/store",),
    "ledger": ("workers/holdfast/store/ledger",),
    "steward": ("supervisor/holdfastd/steward", "supervisor/holdfastd/core"),
    "parent": ("supervisor/holdfastd",),
    "web": ("supervisor/holdfastd/web",),
    "agent": ("supervisor/holdfastd/a2a", "supervisor/holdfastd/web/a2a", "workers/holdfast/bindu"),
    "settings": ("config",),
    "command line": ("supervisor/holdfastd/cli", "supervisor/holdfastd/operations", "supervisor/holdfastd/doctor",
                     "supervisor/holdfastd/documents", "supervisor/holdfastd/demo"),
    LUA: ("workers/holdfast/store/lua",),
}  # fmt: skip


def area_of(file: str) -> str:
    """`file`: from the root of the tree."""
    claims = ((len(path), area) for area, paths in AREAS.items() for path in paths if file.startswith(f"{path}/"))
    return max(claims)[1]


def product_files(root: Path = ROOT) -> list[str]:
    """The Python and Lua files of the product, from the root of the tree, in order."""
    found = (path for package in PACKAGES for path in (root / package).rglob("*"))
    return sorted(path.relative_to(root).as_posix() for path in found if path.suffix in {".py", ".lua"})
