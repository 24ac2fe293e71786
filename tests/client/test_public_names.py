"""The public names of `import holdfast`, and its cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

import holdfast


@pytest.mark.parametrize("name", holdfast.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(holdfast, name).__name__ == name
    assert name in dir(holdfast)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"holdfast.*Unknown"):
        holdfast.Unknown  # noqa: B018 - that is the point


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = (
        "import sys, holdfast; print(sorted({'msgspec', 'redis', 'anyio', 'structlog', 'asyncio'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
