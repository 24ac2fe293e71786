"""Scripts that a child has built while its parent imported are those that the parent would have built."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal
from holdfast.store.redis import scripts
from holdfastd.parent.child_builder import build_scripts

fork = os.fork

def dying():
    pid = fork()
    if not pid:
        os.kill(os.getpid(), signal.SIGKILL)
    return pid

if {killed}:
    os.fork = dying
if {with_child}:
    scripts.SHIPPED.update(build_scripts().take() or {{}})
built_by_child = len(scripts.SHIPPED)
product = scripts.product()
print(built_by_child, hash(tuple(sorted((each.name, each.source, each.sha) for each in product.values()))))
try:
    os.wait()
except ChildProcessError:
    print(len(os.listdir("/proc/self/fd")))
"""


def _run(*, with_child: bool, killed: bool = False) -> tuple[int, int, int]:
    """The scripts that a child has built, a hash of them all, and the open descriptors; no child is left."""
    program = PROGRAM.format(with_child=with_child, killed=killed)
    environ = {"PYTHONHASHSEED": "0"}
    built, product, descriptors = subprocess.check_output([sys.executable, "-c", program], env=environ).split()
    return int(built), int(product), int(descriptors)


@pytest.fixture(scope="module")
def alone() -> tuple[int, int, int]:
    return _run(with_child=False)


def test_a_child_builds_the_same_scripts(alone: tuple[int, int, int]) -> None:
    built, product, descriptors = _run(with_child=True)
    assert built > 50
    assert (product, descriptors) == alone[1:]


def test_scripts_of_a_child_that_died_are_built_nevertheless(alone: tuple[int, int, int]) -> None:
    built, product, descriptors = _run(with_child=True, killed=True)
    assert built == 0
    assert (product, descriptors) == alone[1:]
