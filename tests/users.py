"""Other users of the machine, as root plays them: they need not exist, and each is the only one of its own group."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, Answer, clean

SERVICE, MEMBER, STRANGER = 64_001, 64_002, 64_003
# That of the tests may lie in a home folder, where others cannot get; the system's of the same version does as well.
PYTHONS = (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
MODULES = [str(ROOT / name) for name in (".", "config", "workers", "supervisor")]
ENTRY = "from holdfastd.cli.main import main; main()"


@dataclass(frozen=True)
class User:
    """`groups`: those of others that this user is in. `python_of`: a user who can run the same Python."""

    uid: int
    groups: Sequence[int] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    python_of: int | None = None

    def popen(self, *words: str, cwd: Path, before: Sequence[str] = (), **pipes: int) -> subprocess.Popen[str]:
        """`supervisor` with these words; `before`: what runs it."""
        return self.popen_python("-c", ENTRY, *words, cwd=cwd, before=before, **pipes)

    def popen_python(self, *words: str, cwd: Path, before: Sequence[str] = (), **pipes: int) -> subprocess.Popen[str]:
        """Python with these words."""
        python = interpreter(self.uid if self.python_of is None else self.python_of)
        assert python is not None
        modules = [*MODULES, *(path for path in sys.path if path.endswith("site-packages"))]
        if python != sys.executable:
            modules.append(str(ROOT / "tests" / "older"))
        return subprocess.Popen(
            [*before, python, *words],
            cwd=cwd,
            env=clean({"HOME": str(cwd), "PYTHONPATH": os.pathsep.join(modules), **self.environ}),
            user=self.uid,
            group=self.uid,
            extra_groups=list(self.groups),
            text=True,
            **pipes,
        )

    def supervisor(self, *words: str, cwd: Path) -> Answer:
        return self.python("-c", ENTRY, *words, cwd=cwd)

    def python(self, *words: str, cwd: Path) -> Answer:
        process = self.popen_python(
            *words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = process.communicate(timeout=120)
        return Answer(process.returncode, out, err)

    def run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
        """Any command."""
        who = {"user": self.uid, "group": self.uid, "extra_groups": list(self.groups)}
        return subprocess.run(words, cwd=cwd, capture_output=True, timeout=60, **who)

    def folder(self, path: Path, mode: int = 0o700) -> Path:
        """A folder of this user."""
        path.mkdir()
        os.chown(path, self.uid, self.uid)
        path.chmod(mode)
        return path


@cache
def interpreter(uid: int) -> str | None:
    """The first Python that this user can run."""
    for python in PYTHONS:
        try:
            done = subprocess.run([python, "-c", ""], user=uid, group=uid, extra_groups=[], cwd="/", check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


def needs_users() -> None:
    """Skip a test where there is nobody else to be."""
    if os.geteuid() != 0:
        pytest.skip("only root can be other users")
    if interpreter(STRANGER) is None:
        pytest.skip(f"no other user can run any of {', '.join(PYTHONS)}")


# A user whom the modes of files bind, in the process of the test: root without its capabilities, also in what it runs.

PR_GET_SECUREBITS, PR_SET_SECUREBITS = 27, 28
NOROOT, NO_SETUID_FIXUP = 1, 4  # for programs that it runs, and for access(2)
CAPABILITIES_3 = 0x20080522


@contextmanager
def bound_by_modes() -> Iterator[None]:
    """In the block this thread, and each process that it starts, has no rights on files but those of their modes."""
    if os.geteuid() != 0:
        yield
        return
    kernel = ctypes.CDLL(None, use_errno=True)
    header, before, none = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    bits = kernel.prctl(PR_GET_SECUREBITS)
    assert kernel.capget(header, before) == kernel.prctl(PR_SET_SECUREBITS, bits | NOROOT | NO_SETUID_FIXUP) == 0
    none[1], none[4] = before[1], before[4]  # permitted, to have them again; none is effective
    assert kernel.capset(header, none) == 0
    try:
        yield
    finally:
        assert kernel.capset(header, before) == kernel.prctl(PR_SET_SECUREBITS, bits) == 0
