"""Judgements of PostgreSQL and of the ledger in it: values in, findings out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.core.counts import LedgerStatus, RebuildPhase
from holdfast.core.store_info import DatabaseInfo, ReplicationInfo
from holdfast.errors import LedgerUnavailableError, StoreError, StoreRefusedError, StoreUnavailableError
from holdfastd.doctor import postgres_server
from tests.doctor.test_judgements import levels

FACTS = DatabaseInfo("postgresql://db/tasks", "16.4", "me", tables=2, needed=2, lacking=(), standby=False)
UP_TO_DATE = LedgerStatus(RebuildPhase.FOLLOWING, 0, 0, 0, 0)
STANDING = ReplicationInfo(UP_TO_DATE, "e1", "e1")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (FACTS, []),
        (replace(FACTS, standby=True), ["problem"]),
        (replace(FACTS, tables=0), ["problem"]),
        (replace(FACTS, tables=1), ["problem"]),
        (replace(FACTS, tables=3), ["problem"]),
        (replace(FACTS, lacking=("DELETE on holdfast_tasks",)), ["problem"]),
    ],
)
def test_a_database(facts: DatabaseInfo, expected: list[str]) -> None:
    assert levels(postgres_server.judge(facts)) == expected


@pytest.mark.parametrize("error", [LedgerUnavailableError("away"), StoreRefusedError("no such database")])
def test_a_database_that_lets_nobody_in(error: StoreError) -> None:
    assert levels(postgres_server.judge(error)) == ["problem"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (STANDING, []),
        (replace(STANDING, missing=()), []),
        (replace(STANDING, missing=("t7",)), ["problem"]),
        (replace(STANDING, epoch="", followed=""), ["note"]),
        (replace(STANDING, followed=""), ["warning"]),
        (replace(STANDING, followed="e2"), ["problem"]),
        (replace(STANDING, ledger=replace(UP_TO_DATE, behind_ms=400)), []),
        (replace(STANDING, ledger=replace(UP_TO_DATE, behind_ms=60_000)), ["warning"]),
        (replace(STANDING, ledger=replace(UP_TO_DATE, waiting=3)), ["note"]),
        (replace(STANDING, ledger=replace(UP_TO_DATE, phase="restoring"), followed="e2"), ["warning"]),
        (StoreUnavailableError("Redis is away"), ["note"]),
    ],
)
def test_how_a_ledger_stands(facts: ReplicationInfo | StoreError, expected: list[str]) -> None:
    assert levels(postgres_server.judge_replication(facts)) == expected


def test_the_remedies_name_what_is_to_be_run() -> None:
    without = replace(FACTS, tables=0)
    assert [finding.fix for finding in postgres_server.judge(without) if finding.level == "problem"] == [
        "supervisor db upgrade"
    ]
    [lacking] = [
        finding.fix
        for finding in postgres_server.judge(replace(FACTS, lacking=("SELECT on a", "DELETE on b")))
        if finding.fix
    ]
    assert lacking == "GRANT SELECT, INSERT, UPDATE, DELETE ON a, b TO me"
