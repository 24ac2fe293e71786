"""Secrets of the supervisor are not handed to the commands of tasks, unless they are to have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast_config import ConfigError, load
from tests.cli.commands import Cli

KEPT_BACK = (
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_CLIENT_KEY",
    "PGPASSWORD",
    "PGPASSFILE",
    "HOLDFAST_WEBHOOK_SECRET",
    "DATABASE_URL",
)
PASSED = ("PGHOST", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_EXPORTER_OTLP_TIMEOUT", "MY_TOKEN")


def seen(cli: Cli, *options: str) -> set[str]:
    """Those of these variables that are seen by a command that runs one task."""
    given = replace(cli, environ=dict.fromkeys((*KEPT_BACK, *PASSED), "10"))
    task = cli("submit", "hi").out.strip()
    places = ("--runtime-dir", str(cli.folder / "run"), "--state-dir", str(cli.folder / "state"))
    assert given("start", "--exec", "env", "--burst", *places, *options).status == 0
    result = cli("tasks", "show", task).out
    return {name for name in (*KEPT_BACK, *PASSED) if name in result}


def test_a_command_gets_none_of_the_supervisors_secrets(cli: Cli) -> None:
    assert seen(cli) == set(PASSED)


def test_a_command_gets_what_is_named(cli: Cli) -> None:
    assert seen(cli, "--exec-env", "PGPASSWORD, DATABASE_URL") == {*PASSED, "PGPASSWORD", "DATABASE_URL"}


@pytest.mark.parametrize("value", ["", "A=1", "A,,B", "7UP", 7])
def test_what_is_no_name_of_a_variable_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="must be names of variables, joined by commas"):
        load({"exec_env": value}, environ={})
