"""Values as pages show them."""

from __future__ import annotations

import re

import pytest

from holdfast.core.rollup import MINUTE, Figures
from holdfast.store.periods import Period
from holdfastd.documents.period_report import Report, Summary
from holdfastd.parent.child_builder import ChildBuilder
from holdfastd.web import rendering
from holdfastd.web.pages.report_pages import Chart, course_charts, course_of
from holdfastd.web.queue.redaction import Redaction
from holdfastd.web.rendering import ago, brief_id, commands, moments, without_modules


def test_a_moment_in_a_text_is_one_of_the_readers_zone() -> None:
    shown = str(moments("completed <now>; kept until 2026-11-30T22:16:18.730Z, then removed"))
    assert (
        '<time datetime="2026-11-30T22:16:18.730+00:00" class="exact">2026-11-30 22:16:18 UTC</time>, then removed'
        in shown
    )
    assert "&lt;now&gt;" in shown


@pytest.mark.parametrize("text", ["<b>2026-02-30T99:00:00Z</b>", "0000-01-01T00:00:00Z"])
def test_a_text_that_is_no_moment_stays_escaped(text: str) -> None:
    assert str(moments(text)) == text.replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize(("ms", "shown"), [(0, "now"), (999, "now"), (4_900, "5 s ago")])
def test_a_short_while_ago_is_now(ms: int, shown: str) -> None:
    assert ago(ms) == shown


def test_a_reason_names_its_error_without_modules() -> None:
    assert without_modules("shop.errors.LimitError: no more") == "LimitError: no more"
    assert without_modules("see https://example.org: it is down") == "see https://example.org: it is down"


def test_a_long_id_keeps_both_ends() -> None:
    assert brief_id("newsletter-november.118") == "newslet…mber.118"
    assert brief_id("import-7.12") == "import-7.12"
    assert brief_id("sweep@20261128T034631.146Z") == "sweep@03:46:31"
    assert brief_id("month-end-of-books@20261128T020000Z") == "month-end-o…@02:00:00"


def test_a_line_of_one_value_is_a_dot_of_the_picture() -> None:
    chart = Chart("Times", "s", [0, 60, 120], {"run": [None, 2.0, None], "wait": [None, 1.0, 2.0]})
    assert chart.points == ["300.0,0.0 300.0,0.0", "300.0,40.0 600.0,0.0"]


def figures(runs: int) -> Figures:
    found = Figures()
    found.outcomes.update({"completed": runs} if runs else {})
    return found


def rates_of(*runs: int) -> list[float | None]:
    """The rates that a chart of an hour draws of these runs in its last minutes."""
    parts = {place * MINUTE: figures(each) for place, each in enumerate(runs)}
    period = Period(0, len(runs) * MINUTE, MINUTE)
    period.parts.update(parts)
    return course_charts(course_of(Report.of(Summary.of(period), Summary.of(period))))[0].lines["runs"]


def test_a_chart_leaves_out_the_minute_that_runs() -> None:
    assert rates_of(60, 120, 6) == [1.0, 2.0]
    assert rates_of(0, 0, 6) == [0.0, 0.0, 0.1], "nothing has run before it"


def test_templates_that_a_child_has_compiled_are_compiled_by_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    code = ChildBuilder.start(rendering.compiled_templates).take()
    assert code
    monkeypatch.setattr(rendering.BUILT, "code", code)
    found = rendering.environment(Redaction.of(("no_such_name",)))
    monkeypatch.setattr(found, "compile", None)
    for name in found.list_templates():
        assert found.get_template(name)
    assert not code


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("supervisor workers --deaths", ["supervisor workers --deaths"]),
        (
            "supervisor dead list shows why; supervisor dead retry runs them again",
            ["supervisor dead list", "supervisor dead retry"],
        ),
        ("tell the supervisor so; a supervisor runs", []),
        ("run more workers (supervisor scale N), or raise it", ["supervisor scale N"]),
        ("supervisor lanes set mail --rate N/s", ["supervisor lanes set mail --rate N/s"]),
        ("supervisor start --lanes mail, or add it", ["supervisor start --lanes mail"]),
        ("<b> supervisor start", ["supervisor start"]),
    ],
)
def test_a_command_in_a_text_is_code(text: str, marked: list[str]) -> None:
    shown = str(commands(text))
    assert re.findall("<code>(.*?)</code>", shown) == marked
    assert "<b>" not in shown
