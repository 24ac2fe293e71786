"""A copy of the tree with an environment of its own, so that what runs is the copy, and the tree is never changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.mutation import line_marks
from tests.mutation.areas import PACKAGES, ROOT, product_files

SITE = Path(sysconfig.get_path("purelib"))
BIN = Path(sys.executable).parent
MARKS = ".marks"


class TreeCopy:
    """`folder`: the copy; `python`: the interpreter that has its packages first, and all libraries of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for file in _files():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file, follow_symlinks=False)
        self.marks = folder / MARKS
        self.python = folder / ".venv/bin/python"
        self._site = folder / ".venv" / SITE.relative_to(sys.prefix)
        self._make_environment()

    def _make_environment(self) -> None:
        """Not by `venv`, which would install pip: an interpreter, our programs, and the paths."""
        self._site.mkdir(parents=True)
        self.python.parent.mkdir()
        shutil.copy2(Path(sys.prefix) / "pyvenv.cfg", self.folder / ".venv/pyvenv.cfg")
        for program in BIN.iterdir():
            if program.is_symlink():
                (self.python.parent / program.name).symlink_to(program.readlink())
            elif (text := program.read_bytes()).startswith(b"#!") and program.is_file():
                made = self.python.parent / program.name
                made.write_bytes(text.replace(f"{BIN}/python".encode(), bytes(self.python), 1))
                made.chmod(0o755)
        paths = [*(self.folder / package for package in PACKAGES), SITE]
        (self._site / "tree.pth").write_text("".join(f"{path}\n" for path in paths))

    def mark_lines(self) -> line_marks.Marks:
        """From now on each interpreter of the copy marks the lines that run."""
        line_marks.lay_out(self.marks, {file: (self.folder / file).read_text() for file in product_files(self.folder)})
        shutil.copy2(line_marks.__file__, self._site / "holdfast_line_marks.py")
        call = f"import holdfast_line_marks; holdfast_line_marks.install({str(self.folder)!r}, {str(self.marks)!r})"
        (self._site / "marks.pth").write_text(f"{call}\n")
        return line_marks.Marks(self.marks)

    def write(self, file: str, text: bytes) -> None:
        """Without its compiled form, which could be taken for the new text's: it may have the same size and second."""
        path = self.folder / file
        path.write_bytes(text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
        return {**kept, "VIRTUAL_ENV": str(self.folder / ".venv"), "PATH": f"{self.python.parent}:{os.environ['PATH']}"}


def _files() -> list[str]:
    """The files that git has or would add: neither caches nor environments."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [file for file in listed.split("\0") if file and (ROOT / file).exists()]
