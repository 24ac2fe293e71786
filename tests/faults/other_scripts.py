"""Another version of the scripts, as on a host that has been upgraded before the others: other text, one schema."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.store.redis import scripts
from holdfast.store.redis.scripts import Script


def other() -> Mapping[str, Script]:
    """Each operation with its text a little changed."""
    base = scripts.text("base") + "T = T .. ''\n"
    return {name: scripts.build(name, {"base": base}) for name in scripts.operations()}


def use() -> None:
    """In a pool."""
    scripts.SHIPPED.update(other())
