"""Reads jobs from a CSV file with JOBID,SCHEDULE in each row, and sets them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import click

from holdfast.client.manager import TaskManager
from holdfast.core.plurals import counted
from holdfast.timeline.job import spec_of
from holdfast.timeline.jobs import set_job


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    jobid: str
    schedule: str


def read_rows(path: Path) -> list[Row]:
    """The rows of a file. Raises click.UsageError with the number of a wrong line."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [_row(path, reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise click.UsageError(f"{path}: line {reader.line_num}: {error}") from None
    lines = dict[str, int]()
    for row in rows:
        if (first := lines.setdefault(row.jobid, row.line)) != row.line:
            raise click.UsageError(
                f"{path}: line {row.line}: {row.jobid!r} is already in line {first}; a job may appear once"
            )
    return rows


async def set_rows(manager: TaskManager, rows: list[Row], after: int | None) -> int:
    """Set all jobs and return their number. Raises InvalidScheduleError for a wrong one before any is set."""
    for row in rows:
        try:
            await manager.schedules.check(row.jobid, spec_of(row.jobid, row.schedule))
        except ValueError as error:
            error.add_note(f"line {row.line} of the CSV; nothing was set")
            raise
    for row in rows:
        await set_job(manager, row.jobid, row.schedule, after)
    return len(rows)


def _row(path: Path, line: int, cells: list[str]) -> Row:
    if len(cells) != 2:
        raise click.UsageError(f"{path}: line {line}: {counted(len(cells), 'column')}; two are needed: JOBID,SCHEDULE")
    return Row(line, cells[0].strip(), cells[1].strip())
