"""The figures that pages show of a period: the same as of the command line, read once in a while."""

from __future__ import annotations

import pytest

from holdfast.core.rollup import MINUTE
from holdfast.core.statistics import Statistic, in_all
from holdfast.store.periods import last_bounds, read_period
from holdfast_config import RedisSettings, Settings
from holdfastd.documents.period_report import Compared
from holdfastd.web.queue import cached_reports
from holdfastd.web.queue.cached_reports import MOST, PeriodReports
from holdfastd.web.queue.queue_access import QueueAccess
from tests.web.site import site

pytestmark = pytest.mark.anyio

HOUR = 60 * MINUTE


async def test_a_report_counts_for_a_while_and_is_read_once(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        settings = Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue)
        reports = PeriodReports(QueueAccess(here.store, here.manager, settings))
        first = await reports.fresh(HOUR)
        assert await reports.of(HOUR) is first
        [(wanted, (report, _))] = reports._kept.items()
        reports._kept[wanted] = report, 0.0
        assert await reports.of(HOUR) is first, "the next one is read beside the page"
        assert await reports.fresh(HOUR) is not first, "a program gets no old one"
        assert await reports.of(HOUR) is not first


def statistic(runs: int, failures: int) -> Statistic:
    return Statistic("mail", 60.0, runs, runs - failures, failures, 0, 0, None, None, 0)


@pytest.mark.parametrize(
    ("now", "before", "is_much"),
    [
        *(
            ((100, 5), (100, 5), True),
            ((100, 4), (100, 4), False),
            ((100, 4), (100, 2), True),
            ((100, 4), (9, 0), True),
        ),
        *(((1000, 9), (1000, 1), False), ((100, 4), None, False), ((0, 0), None, False), ((0, 1), None, True)),
    ],
)
async def test_a_usual_share_of_failures_is_not_much(
    now: tuple[int, int], before: tuple[int, int] | None, is_much: bool
) -> None:
    assert Compared(statistic(*now), statistic(*before) if before else None).fails_much is is_much


async def test_of_one_handler_there_are_its_figures_alone(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for name in ("one", "one", "other"):
            task_id = await here.manager.run_task(name=name)
            await here.manager.cancel_task(task_id)
        now = await here.store.clock_ms()
        latest = await read_period(here.store, now, last_bounds(now, HOUR)[0], "one")
        assert in_all(latest.total).outcomes["canceled"] == 2
        assert {series.handler for series in latest.total} == {"one"}
        settings = Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue)
        reports = PeriodReports(QueueAccess(here.store, here.manager, settings))
        report = await reports.fresh(HOUR, "one")
        assert [each.now.name for each in report.handlers] == ["one"]
        for number in range(MOST + 5):
            await reports.fresh(HOUR, f"handler-{number}")
        assert len(reports._kept) == MOST


async def test_a_page_says_that_its_figures_are_still_added_up(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task(name="one")
        monkeypatch.setattr(cached_reports, "PATIENCE", 0.0)
        for path in ("/?since=30d", "/handlers?since=7d", "/handler?name=one&since=24h"):
            assert "are added up" in await here.page(path), path
        monkeypatch.setattr(cached_reports, "PATIENCE", 60.0)
        for path in ("/?since=30d", "/handlers?since=7d", "/handler?name=one&since=24h"):
            assert "are added up" not in await here.page(path), path
