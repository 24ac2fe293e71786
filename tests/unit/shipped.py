"""systemd/ holds what `supervisor service` writes for the usual places: `python -m tests.unit.shipped` renews it."""

from __future__ import annotations

from pathlib import Path

from holdfastd.unit.access import Site
from holdfastd.unit.unit_files import SYSUSERS, TMPFILES, UNITS, files

FOLDER = Path(__file__).parents[2] / "systemd"
USUAL = Site()
INSTANCE = Site(instance="billing")

_NAMES = {SYSUSERS: Path("holdfast.sysusers.conf"), TMPFILES: Path("holdfast.tmpfiles.conf")}


def shipped() -> dict[Path, str]:
    """Text by path below systemd/."""
    texts: dict[Path, str] = {}
    for site in (USUAL, INSTANCE):
        for file in files(site):
            if file.path in _NAMES:
                texts[_NAMES[file.path]] = file.text
            elif file.path.is_relative_to(UNITS):
                texts[file.path.relative_to(UNITS)] = file.text
    return texts


def main() -> None:
    for path, text in shipped().items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text)


if __name__ == "__main__":
    main()
