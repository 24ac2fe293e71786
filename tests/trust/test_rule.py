"""The folders that are trusted, as a table: who owns them and what is above them, and who may write there."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from holdfast_config.trust import SeenOwner, objection

ADA, EVE, ROOT = 64_001, 64_003, 0  # nobody has these numbers
FOLDER, LINK = stat.S_IFDIR, stat.S_IFLNK
DEFAULT, NAMED = Path("/tmp/holdfast-1000"), Path("/srv/ada/run")
TOP = SeenOwner(Path("/"), ROOT, FOLDER | 0o755)
TMP = (SeenOwner(Path("/tmp"), ROOT, FOLDER | 0o1777), TOP)


def above(owner: int, mode: int = 0o755) -> tuple[SeenOwner, ...]:
    return SeenOwner(Path("/srv/ada"), owner, FOLDER | mode), SeenOwner(Path("/srv"), ROOT, FOLDER | 0o755), TOP


def of(owner: int, mode: int = 0o750, path: Path = DEFAULT, kind: int = FOLDER) -> SeenOwner:
    return SeenOwner(path, owner, kind | mode)


@pytest.mark.parametrize(
    ("folder", "parents", "named"),
    [
        (of(ADA), TMP, False),
        (of(ROOT), TMP, False),
        (of(ADA, 0o755), TMP, False),
        (of(EVE, path=Path("/run/holdfast-billing")), (SeenOwner(Path("/run"), ROOT, FOLDER | 0o755), TOP), False),
        (of(EVE, path=NAMED), above(ROOT), True),
        (of(EVE, path=NAMED), above(EVE), True),
        (of(ADA, path=NAMED), above(EVE), True),
    ],
)
def test_trusted(folder: SeenOwner, parents: tuple[SeenOwner, ...], named: bool) -> None:
    assert objection(folder, parents, ADA, named=named) == ""


@pytest.mark.parametrize(
    ("folder", "parents", "named", "why"),
    [
        (of(EVE), TMP, False, "it belongs neither to user 64001 nor to root"),
        (of(EVE, path=Path("/run/other")), (SeenOwner(Path("/run"), ROOT, FOLDER | 0o755), TOP), False, "neither"),
        (of(EVE, path=Path("/srv/holdfast")), (SeenOwner(Path("/srv"), ROOT, FOLDER | 0o755), TOP), False, "neither"),
        (of(EVE, path=NAMED), above(ADA), True, "user 64001 owns /srv/ada and can replace this folder"),
        (of(EVE, path=NAMED), above(64_002), True, "user 64002 owns /srv/ada and can replace this folder"),
        (of(ADA, 0o770), TMP, False, "its group or others can write in it (mode 770)"),
        (of(ADA, 0o752), TMP, True, "its group or others can write in it (mode 752)"),
        (of(ADA, 0o1777), TMP, True, "its group or others can write in it (mode 1777)"),
        (of(ROOT, 0o775), TMP, False, "its group or others can write in it (mode 775)"),
        (of(ADA, path=NAMED), above(ADA, 0o775), True, "they can write in /srv/ada (mode 775)"),
        (of(ADA, path=NAMED), above(ADA, 0o757), False, "they can write in /srv/ada (mode 757)"),
        (of(ADA, 0o777, kind=LINK), TMP, True, "it is a symbolic link"),
        (of(ROOT, 0o777, kind=LINK), TMP, True, "it is a symbolic link"),
    ],
)  # fmt: skip
def test_not_trusted(folder: SeenOwner, parents: tuple[SeenOwner, ...], named: bool, why: str) -> None:
    assert why in objection(folder, parents, ADA, named=named)
