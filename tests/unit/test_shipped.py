"""The units that are shipped: the same text that is installed, what systemd says of them, and how the two differ."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from holdfast.exits import Exit
from holdfast_config import Settings
from holdfast_config.names import SECRETS
from holdfastd.core import slots
from holdfastd.parent.status import EXTENSION
from holdfastd.steward.duties.store_duties import REMOTE_TIMEOUT
from holdfastd.unit.access import Sandbox, Site
from holdfastd.unit.unit_files import files, is_intact
from tests.unit import shipped
from tests.unit.analyze import MOST_EXPOSED, exposure, needs_analyze, verify

UNITS = ("holdfast.service", "holdfast@.service")


def test_the_folder_holds_what_would_be_installed() -> None:
    there = {
        path.relative_to(shipped.FOLDER): path.read_text() for path in shipped.FOLDER.rglob("*.*") if path.is_file()
    }
    assert there == shipped.shipped(), "write them anew with: python -m tests.unit.shipped"
    assert all(is_intact(text) for text in there.values())


def test_the_service_gets_each_secret_from_a_file_that_may_be_missing() -> None:
    lines = shipped.shipped()[Path("holdfast.service.d/credentials.conf")].splitlines()
    for name in SECRETS:
        assert f"LoadCredential={name}:/etc/holdfast/credentials/{name}" in lines
        assert f"SetCredential={name}:\\n" in lines
        assert f"`{name}`" in (shipped.FOLDER.parent / "docs/systemd.md").read_text() or name == "redis_password"


def test_an_instance_differs_from_the_service_in_its_names_alone() -> None:
    one, many = (shipped.shipped()[Path(unit)].splitlines()[1:] for unit in UNITS)
    changed = [line for line in difflib.ndiff(one, many) if line.startswith("+ ")]
    assert changed == [
        "+ Description=Holdfast, a supervisor for Redis task queues (%i)",
        "+ Environment=HOLDFAST_CONFIG=/etc/holdfast/supervisor.toml HOME=%S/holdfast-%i",
        "+ EnvironmentFile=-/etc/holdfast/%i.env",
        "+ WorkingDirectory=%S/holdfast-%i",
        "+ StateDirectory=holdfast-%i",
        "+ RuntimeDirectory=holdfast-%i",
        "+ # What the service and its handlers may do. Loosen it with `systemctl edit holdfast@NAME`.",
    ]
    assert len(one) == len(many)


def test_no_value_is_followed_by_a_comment() -> None:
    for text in shipped.shipped().values():
        assert not [line for line in text.splitlines() if " #" in line and not line.startswith("#")]


def test_its_times_fit_those_of_the_service() -> None:
    said = dict(line.split("=", 1) for line in shipped.shipped()[Path(UNITS[0])].splitlines() if "=" in line)
    seconds = {name: float(said[name].removesuffix("s")) for name in said if name.endswith("Sec")}
    drain = Settings().drain_timeout + slots.ABORT_GRACE + slots.STEWARD_LEAVE + slots.STORE_LEAVE
    assert seconds["TimeoutStopSec"] > drain
    assert seconds["WatchdogSec"] > 3 * slots.LATE
    assert seconds["TimeoutStartSec"] > EXTENSION
    # A Redis that is away costs a start so long that its starts never come too often.
    start = REMOTE_TIMEOUT + seconds["RestartSec"]
    assert int(said["StartLimitBurst"]) * start > 1.5 * seconds["StartLimitIntervalSec"]
    never = {Exit.USAGE, Exit.RUNNING, Exit.PERMISSION, Exit.CONFIG}
    assert {int(code) for code in said["RestartPreventExitStatus"].split()} == never
    assert int(said["SuccessExitStatus"]) == Exit.CUT_OFF


@needs_analyze
@pytest.mark.parametrize("needed", [(), (Path("/home/ada/venv"),), (Path("/root/venv"), Path("/tmp/handlers"))])
@pytest.mark.parametrize("instance", [None, "billing"])
def test_systemd_finds_no_fault_and_little_exposure(
    tmp_path: Path, instance: str | None, needed: tuple[Path, ...]
) -> None:
    supervisor = tmp_path / "supervisor"
    supervisor.write_text("#!/bin/sh\n")
    supervisor.chmod(0o755)
    site = Site(supervisor=supervisor, instance=instance, sandbox=Sandbox(needed))
    for file in files(site):
        path = tmp_path / file.path.relative_to("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
    unit = tmp_path / "etc/systemd/system" / site.template
    assert verify(unit) == ""
    assert exposure(unit) <= MOST_EXPOSED


@needs_analyze
def test_a_fault_would_be_found(tmp_path: Path) -> None:
    unit = tmp_path / "holdfast.service"
    unit.write_text(f"[Service]\nExecStart={os.devnull}\nWatchdogSec=20s # often\n")
    assert "20s # often" in verify(unit)
    assert exposure(unit) > MOST_EXPOSED
