"""Each package has a folder of tests of its name; a folder that is no package's has its reason here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ACROSS = {
    "bench": "bench/, the programs that measure",
    "browser": "the dashboard in a real browser, which few machines have",
    "chaos": "faults at random against a running pool, and a checker of its history",
    "conformance": "the same commands against every store",
    "distribution": "what is shipped: wheels, man pages, the Debian package",
    "docs": "docs/ beside the code, and the measures of the tree",
    "faults": "each fault by name against a whole pool",
    "log": "the lines that all processes write, beside config/log.schema.json",
    "lua": "workers/holdfast/store/lua, where no Python is",
    "mutation": "small faults of all packages that a seed draws, and which tests notice them",
    "older": "modules that stand in for libraries which older environments lack",
    "projects": "pools of several projects and users on one host",
    "rules": "each rule is taken out of the code, and a test must see it",
    "schedules": "the schedule scenarios, from the client over the scripts to the steward",
    "systemd": "the service under a real systemd",
    "trust": "what other users of the host can do, with real users",
}


def packages() -> Iterator[str]:
    """The nouns of all packages: the two packages named `core` share one folder, as both hold pure decisions."""
    yield "config"
    for home in ("workers/holdfast", "workers/holdfast/store", "supervisor/holdfastd"):
        for init in (ROOT / home).glob("*/__init__.py"):
            if init.parent.name != "store":  # its parts have folders of their own
                yield init.parent.name


def test_each_package_has_a_folder_of_tests() -> None:
    lacking = [noun for noun in packages() if not list((ROOT / "tests" / noun).rglob("test_*.py"))]
    assert not lacking, f"make a folder of tests for each of {lacking}, named like it"


def test_each_other_folder_has_a_reason() -> None:
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/*.py")}
    assert folders - set(packages()) == set(ACROSS), "name the folder after the package under test, or say why not"
