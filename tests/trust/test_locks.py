"""A lock is for its owner alone: whoever may read the file may lock it, and so keep a service from starting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.os import locks
from holdfastd.steward.duties.upkeep import write


def test_a_lock_file_is_readable_for_its_owner_alone(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    earlier.touch(0o640)
    earlier.chmod(0o640)
    for path in (tmp_path / "lock", earlier):
        descriptor = locks.hold(path)
        assert descriptor is not None
        os.close(descriptor)
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        locks.hold(tmp_path / "lock")
    assert not (tmp_path / "target").exists()


def test_the_time_file_overwrites_no_file_that_a_link_beside_it_leads_to(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    for name in (f"times.{os.getpid()}", f".times.{os.getpid()}"):
        (tmp_path / name).symlink_to(target)
    write(tmp_path / "times", "1700000000")
    assert (tmp_path / "times").read_text() == "1700000000"
    assert target.read_text() == "mine"
