"""Wheel and source distribution, built here without a network: what is in them, and what is not."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hatch_build import absolute, urls
from holdfast.version import installed

ROOT = Path(__file__).parents[2]
NAME = f"holdfast_supervisor-{installed()}"
PACKAGES = tuple(ROOT / path for path in ("config/holdfast_config", "workers/holdfast", "supervisor/holdfastd"))
INFO = {f"{NAME}.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
FOLDERS = {"config", "docs", "examples", "supervisor", "systemd", "workers"}
FILES = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "hatch_build.py", "pyproject.toml", ".gitignore"}
HOME = "https://git.example.org/holdfast"


def build(source: Path, out: Path, *targets: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", out, *(f"-t{target}" for target in targets)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def contents(wheel: Path) -> Mapping[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def in_packages() -> dict[str, bytes]:
    """The files that an import or a command may need, by their paths in a wheel."""
    files = [file for package in PACKAGES for file in package.rglob("*") if "__pycache__" not in file.parts]
    parents = {package.name: package.parent for package in PACKAGES}
    below = {
        str(file.relative_to(parent)): file
        for file in files
        for parent in parents.values()
        if file.is_relative_to(parent)
    }
    return {name: file.read_bytes() for name, file in below.items() if file.is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built")
    build(ROOT, out, "sdist", "wheel")
    with tarfile.open(out / f"{NAME}.tar.gz") as archive:
        archive.extractall(out / "unpacked", filter="data")
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Mapping[str, bytes]:
    return contents(built / f"{NAME}-py3-none-any.whl")


@pytest.fixture(scope="module")
def source(built: Path) -> Path:
    return built / "unpacked" / NAME


@pytest.fixture(scope="module")
def metadata(wheel: Mapping[str, bytes]) -> Message:
    return Parser().parsestr(wheel[f"{NAME}.dist-info/METADATA"].decode())


def test_the_wheel_is_the_three_packages_and_nothing_else(wheel: Mapping[str, bytes]) -> None:
    assert {name: text for name, text in wheel.items() if name not in INFO} == in_packages()
    assert wheel.keys() >= INFO


def test_the_wheel_has_scripts_templates_migrations_pages_and_types(wheel: Mapping[str, bytes]) -> None:
    endings = {Path(name).suffix or name for name in wheel.keys() - INFO}
    typed = {f"{package.name}/py.typed" for package in PACKAGES}
    pages = {".html", ".css", ".js", ".svg", ".txt", ".woff2"}  # of the dashboard, with the licenses of its parts
    assert endings == {".py", ".lua", ".sql", ".service", ".conf", ".typed"} | pages
    assert wheel.keys() >= typed


def test_the_source_has_what_builds_and_explains_it(source: Path) -> None:
    found = {file.relative_to(source) for file in source.rglob("*") if file.is_file()}
    assert {file.parts[0] for file in found if len(file.parts) > 1} == FOLDERS
    assert {str(file) for file in found if len(file.parts) == 1} == FILES
    assert [str(file) for file in found if file.suffix in {".pyc", ".log", ".sock"}] == []
    changed = [file for file in found if str(file) != "PKG-INFO" and differs(source / file, ROOT / file)]
    assert changed == []


def test_a_wheel_made_of_the_source_is_the_same(built: Path, source: Path, wheel: Mapping[str, bytes]) -> None:
    build(source, built / "again", "wheel")
    assert contents(next((built / "again").glob("*.whl"))) == wheel


def test_links_of_the_page_lead_to_files_of_the_source(source: Path) -> None:
    paths = re.findall(r"\]\((?!https?:|#)([^)#]+)", (source / "README.md").read_text())
    assert [path for path in paths if not (source / path).exists()] == []


def test_the_author_is_the_project(metadata: Message) -> None:
    assert metadata["Author"] == "Holdfast"
    assert metadata["Author-email"] is metadata["Maintainer"] is metadata["Maintainer-email"] is None


def test_the_long_description_has_no_link_to_a_path(metadata: Message) -> None:
    text = str(metadata.get_payload())
    assert "Holdfast runs the tasks of a Redis queue" in text
    assert re.findall(r"\]\((?!https?://|#)[^)]*\)", text) == []


def test_a_release_has_addresses_and_absolute_links() -> None:
    page = "![A picture](docs/demo.svg) [Handlers](docs/handlers.md) [keda](https://keda.sh) [here](#here)"
    there = (
        f"![A picture]({HOME}/docs/demo.svg) [Handlers]({HOME}/docs/handlers.md) [keda](https://keda.sh) [here](#here)"
    )
    assert absolute(page, HOME) == there
    assert absolute(page, "") == " Handlers [keda](https://keda.sh) [here](#here)"
    assert urls("") == {}
    assert set(urls(HOME)) == {"Homepage", "Documentation", "Changelog"}
    assert all((ROOT / url.removeprefix(HOME).strip("/")).exists() for url in urls(HOME).values())


def test_each_library_has_a_lowest_version_and_an_upper_bound(metadata: Message) -> None:
    needed = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    users = [each for each in needed if not (each.marker and "dev" in str(each.marker))]
    unbounded = {each.name: str(each.specifier) for each in users if not bounded(each)}
    assert unbounded == {"tzdata": ">=2025.1"}  # the data of a year, whose format stays


def differs(one: Path, other: Path) -> bool:
    return one.read_bytes() != other.read_bytes()


def bounded(needed: Requirement) -> bool:
    return {each.operator for each in needed.specifier} == {">=", "<"}
