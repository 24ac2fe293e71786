"""Records what is missing in the record: test files in copies of the tree, two at a time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutation.areas import ROOT, product_files
from tests.mutation.lua_marks import mark_scripts
from tests.mutation.record import RECORD, Record
from tests.mutation.tree_copy import TreeCopy

FILES_A_RUN = 8  # of one pytest: what is lost if it dies
LONGEST = 1800.0  # seconds of one run
NOT_HERE = ("tests/mutation", "tests/rules", "tests/chaos", "tests/browser", "tests/bench", "tests/docs")
# what runs other suites, measures, reads the tree's texts or needs a browser


def files_of_tests(paths: Collection[str]) -> list[str]:
    """The files of tests, or those below `paths`, from the root of the tree."""
    found = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").rglob("test_*.py")))
    wanted = tuple(path.rstrip("/") for path in paths)
    return [
        file
        for file in found
        if not file.startswith(NOT_HERE) and (not wanted or any(f"{file}/".startswith(f"{path}/") for path in wanted))
    ]


def record_missing(paths: Collection[str] = (), jobs: int = 2, path: Path = RECORD) -> list[str]:
    """Record those of the files that are not. The files that could not be recorded."""
    record = Record(path)
    missing = record.missing(files_of_tests(paths))
    runs = [missing[place : place + FILES_A_RUN] for place in range(0, len(missing), FILES_A_RUN)]
    if runs:
        print(f"recording {len(missing)} files of tests, in {len(runs)} runs", file=sys.stderr, flush=True)
        with TemporaryDirectory(prefix="holdfast-") as folder, ThreadPoolExecutor(jobs) as pool:
            layout = record.keep_layout({file: (ROOT / file).read_text() for file in product_files()})
            copies = [TreeCopy(Path(folder) / str(job)) for job in range(jobs)]
            for copy in copies:
                mark_scripts(copy, copy.mark_lines())
            list(pool.map(lambda job: _record(copies[job], runs[job::jobs], path, layout), range(jobs)))
    left = record.missing(missing)
    record.close()
    return left


def _record(copy: TreeCopy, runs: Sequence[Sequence[str]], path: Path, layout: str) -> None:
    for files in runs:
        command = [
            *(copy.python, "-m", "tests.mutation.alone"),
            *(copy.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutation.recording_plugin"),
            "--assert=plain",  # pytest compiles what is imported with its plugins itself: without marks
            *files,
        ]
        environment = {**copy.environment(), "MUTATION_RECORD": str(path), "MUTATION_LAYOUT": layout}
        with (copy.folder / "recording.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=copy.folder, env=environment, stdout=log, stderr=log)
            try:
                process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
        print(f"recorded {' '.join(files)}", file=sys.stderr, flush=True)
