"""Writes what was measured between the marks of the pages and of the README, and draws the plots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import beside, capacity, charts, kills_table, readme
from bench.figures import Section
from bench.pool import ROOT
from bench.systems import HOLDFAST, LOOPS, ON_POSTGRES, PEERS, System
from bench.tables import ALL, STORED

CAPACITY = ROOT / "docs" / "capacity.md"
COMPARISON = ROOT / "docs" / "comparison.md"
PERFORMANCE, README = ROOT / "docs" / "performance.md", ROOT / "README.md"


def write(sections: Mapping[str, Any]) -> None:
    for name in ("own", "peers"):
        if name in sections:
            replace(PERFORMANCE, name, _section(name, Section(sections[name])))
    if "peers" in sections:
        replace(COMPARISON, "beside", compared(Section(sections["peers"])))
    if "own" in sections:
        replace(README, "own", readme.rows(Section(sections["own"])))


def compared(section: Section) -> str:
    return "\n\n".join([_circumstances(section), beside.table(section), beside.versions(section)])


def write_capacity(sections: Mapping[str, Any]) -> None:
    section = sections["scale"]
    lines = [charts.lines(name, points) for name, points in section["series"].items() if name in charts.SERIES]
    replace(CAPACITY, "parts", capacity.parts(section))
    replace(CAPACITY, "rates", capacity.rates(section))
    replace(CAPACITY, "plots", "\n\n".join(charts.draw("scale", lines)))
    replace(CAPACITY, "masters", capacity.masters(section))


def write_kills(sections: Mapping[str, Any]) -> None:
    replace(PERFORMANCE, "kills", kills_table.markdown(sections["kills"]))


def write_postgres(sections: Mapping[str, Any]) -> None:
    section = Section(sections["postgres"])
    text = "\n\n".join([_circumstances(section), STORED.markdown(section), _notes(section, ON_POSTGRES)])
    replace(PERFORMANCE, "postgres", text)


def replace(page: Path, mark: str, text: str) -> None:
    """The text between `<!-- mark -->` and `<!-- end of mark -->`."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(\n<!-- end of {mark} -->)", re.DOTALL)
    before = page.read_text()
    if not pattern.search(before):
        raise ValueError(f"{page.name} has no marks `{mark}`")
    page.write_text(pattern.sub(lambda figures: f"{figures[1]}\n{text}\n{figures[2]}", before))


def _section(name: str, section: Section) -> str:
    pictures = charts.draw(name, charts.of(section))
    tables = [f"**{title}**\n\n{table.markdown(section)}" for title, table in ALL.items() if list(table.rows(section))]
    return "\n\n".join([_circumstances(section), *pictures, *tables, _notes(section)])


def _circumstances(section: Section) -> str:
    servers = " and ".join(f"{name} {number}" for name, number in section.data["servers"].items())
    return (
        f"{section.data['cores']} cores, Python {section.data['python']}, {servers} on loopback, nothing kept on disk."
    )


def _notes(section: Section, of: Sequence[System] = (HOLDFAST, *LOOPS, *PEERS)) -> str:
    """Each system as it was measured."""
    versions = section.data["versions"]
    systems = [system for system in of if any(title.startswith(system.name) for title in section.titles)]
    return "\n".join(f"- {system.name}{_versions(versions.get(system.name, {}))}: {system.note}" for system in systems)


def _versions(of: Mapping[str, str]) -> str:
    return f" ({', '.join(f'{name} {number}' for name, number in of.items())})" if of else ""
