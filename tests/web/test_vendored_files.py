"""The scripts of others that come with the package are the files of the releases that they name, byte for byte."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import holdfastd.web

STATIC = Path(holdfastd.web.__file__).parent / "static"
OWN = {"live.js", "pages.js", "pages.css", "icon.svg", "LICENSES.txt"}


class Vendored(NamedTuple):
    """A file of a package of npm: `path` in the package, and the SHA-256 of the file there."""

    package: str
    version: str
    path: str
    sha256: str


RELEASED = {
    "htmx.min.js": Vendored(
        "htmx.org", "2.0.10", "dist/htmx.min.js", "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de"
    ),
    "uplot.min.js": Vendored(
        "uplot", "1.6.32", "dist/uPlot.iife.min.js", "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"
    ),
    "inter.woff2": Vendored(
        "@fontsource-variable/inter",
        "5.3.0",
        "files/inter-latin-wght-normal.woff2",
        "3100e775e8616cd2611beecfa23a4263d7037586789b43f035236a2e6fbd4c62",
    ),
    "mono.woff2": Vendored(
        "@fontsource-variable/jetbrains-mono",
        "5.3.0",
        "files/jetbrains-mono-latin-wght-normal.woff2",
        "18be452724bfdc236c074ca94a249a7f41a86752c7d04ab258ce9ed5651f6a7e",
    ),
    "uplot.min.css": Vendored(
        "uplot", "1.6.32", "dist/uPlot.min.css", "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"
    ),
}


@pytest.mark.parametrize("name", RELEASED)
def test_a_vendored_file_is_that_of_its_release(name: str) -> None:
    content = (STATIC / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == RELEASED[name].sha256
    named = re.search(rb'\(v([\d.]+)\)|version:"([\d.]+)"', content)
    if named:
        assert (named[1] or named[2]).decode() == RELEASED[name].version


def test_each_script_of_others_has_its_release_and_its_license() -> None:
    assert {each.name for each in STATIC.iterdir()} == OWN | RELEASED.keys()
    licenses = (STATIC / "LICENSES.txt").read_text()
    named = {"htmx": "htmx.min.js", "uPlot": "uplot.min.js", "Inter": "inter.woff2", "JetBrains Mono": "mono.woff2"}
    for library, vendored in ((library, RELEASED[name]) for library, name in named.items()):
        assert f"{library} {vendored.version}, https://" in licenses
