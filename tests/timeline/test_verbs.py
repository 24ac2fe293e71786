"""set, unset, tell, statuses and schedules --csv as their users type them, where nobody works."""

from __future__ import annotations

import csv
import io
import time

import pytest

from tests.cli.commands import Inside
from tests.timeline.timeline import Timeline


def rows(text: str) -> dict[str, str]:
    return dict(csv.reader(io.StringIO(text)))


def event(inside: Inside, jobid: str) -> str:
    return str(inside("tell", jobid).document["status"]).partition(":")[0]


def test_now_is_queued_at_once_whether_or_not_anybody_dispatches(inside: Inside) -> None:
    began = int(time.time())
    assert inside("set", "job:A", "NOW").status == 0
    answer = inside("tell", "job:A").document
    assert (answer["next_run"], answer["schedule"], answer["working"]) == (None, "STOP", False)
    word, since = answer["status"].split(":")
    assert word == "ENQ"
    assert began - 1 <= int(since)
    [task] = inside("tasks", "list", "--json").lines
    assert (task["lane"], task["state"]) == ("A", "submitted")


def test_a_moment_and_a_rule_wait_on_the_timeline(inside: Inside) -> None:
    inside("set", "later:A", "AT:4000000000")
    inside("set", "daily:B", "DTSTART:20900101T020000Z\nRRULE:FREQ=DAILY")
    assert inside("tell", "later:A").document["next_run"] == 4000000000
    assert {jobid: status.partition(":")[0] for jobid, status in rows(inside("statuses").out).items()} == {
        "later:A": "TML",
        "daily:B": "TML",
    }


def test_statuses_may_be_those_of_before_a_moment(inside: Inside) -> None:
    inside("set", "job:A", "AT:4000000000")
    assert rows(inside("statuses", "--before", "4000000000").out).keys() == {"job:A"}
    assert inside("statuses", "--before", "1000000000").out == ""


def test_what_schedules_prints_can_be_set_again(inside: Inside) -> None:
    rule = "DTSTART:20900101T020000Z\nRRULE:FREQ=DAILY"
    for jobid, schedule in {"later:A": "AT:4000000000", "daily:B": rule, "over:A": "NOW", "off": "STOP"}.items():
        assert inside("set", jobid, schedule).status == 0
    inside("schedules", "set", "hourly", "x", "--cron", "0 * * * *")
    inside("schedules", "set", "once", "once", "--rrule", "FREQ=DAILY", "--unique", "k")
    answer = inside("schedules", "--csv")
    assert rows(answer.out) == {"later:A": "AT:4000000000", "daily:B": rule, "over:A": "STOP", "off": "STOP"}
    assert "2 schedules left out: CSV cannot express cron" in answer.err
    for jobid, schedule in rows(answer.out).items():
        assert inside("set", jobid, schedule).status == 0
    assert rows(inside("schedules", "--csv").out) == rows(answer.out)


@pytest.mark.parametrize(
    "jobid", ["http://x/y z:A", 'say "yes", or no:A', "a@b", "é" * 99 + ":B", "日本:B", "* [x]\\:A"]
)
def test_ids_as_people_write_them(inside: Inside, jobid: str) -> None:
    assert inside("set", jobid, "AT:4000000000").status == 0
    assert inside("tell", jobid).document["next_run"] == 4000000000
    assert event(inside, jobid) == "TML"
    assert rows(inside("statuses").out).keys() == rows(inside("schedules", "--csv").out).keys() == {jobid}
    assert inside("schedules", "show", jobid, "--json").document["schedule"] == jobid
    for verb in ("pause", "resume", "run"):
        assert inside("schedules", verb, jobid).status == 0
    history = inside("schedules", "history", jobid, "--json").document
    assert [line["what"] for line in history] == ["fired", "resumed", "paused", "set"]
    assert [task["state"] for task in inside("tasks", "list", "--json").lines] == ["submitted"]
    assert inside("unset", jobid).status == 0
    assert inside("schedules", "--csv").out == ""


@pytest.mark.parametrize("jobid", ["a\tb:A", "\x1b[2J:A", "x" * 200 + ":A"])
def test_ids_that_are_long_or_not_printable_are_refused(inside: Inside, jobid: str) -> None:
    answer = inside("set", jobid, "NOW")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "1 to 200 bytes of printable text" in answer.err
    assert inside("schedules", "--csv").out == ""


def test_schedules_without_a_verb_lists(inside: Inside) -> None:
    assert inside("set", "later:A", "AT:4000000000").status == 0
    listed = inside("schedules")
    assert (listed.status, listed.out) == (0, inside("schedules", "list").out)
    assert "later:A" in listed.out
    assert inside("schedules", "--json").document == inside("schedules", "list", "--json").document


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("set", "j:A", "continue"), "CONTINUE"),
        (("set", "j:A", "stop"), "STOP"),
        (("set", "j:A", "at:4000000000"), "AT:4000000000"),
        (("set", "j:A", "AT:2096-10-02T07:06:40.5Z"), "AT:4000000000.500"),
        (("schedules", "set", "j:A", "x", "--at", "4000000000.5"), "AT:4000000000.500"),
        (
            ("schedules", "set", "j:A", "x", "--schedule", "AT:2096-10-02T09:06:40", "--timezone", "Europe/Berlin"),
            "AT:4000000000",
        ),
    ],
)
def test_what_is_told_of_a_job_means_the_same_when_it_is_set(inside: Inside, words: tuple[str, ...], text: str) -> None:
    inside(*words)
    assert rows(inside("schedules", "--csv").out) == {"j:A": text}
    following = inside("tell", "j:A").document["next_run"]
    inside("set", "j:A", text)
    assert inside("tell", "j:A").document["schedule"] == text
    assert inside("tell", "j:A").document["next_run"] == following


def test_after_says_what_counts_as_made(inside: Inside) -> None:
    rule = "DTSTART:20200101T000000Z\nRRULE:FREQ=YEARLY"
    inside("set", "yearly:A", rule, "--after", "1600000000")
    assert event(inside, "yearly:A") == "ENQ"  # the first of January of 2021 was missed, and is made up for once
    inside("set", "other:A", rule)
    assert event(inside, "other:A") == "TML"


def test_unset_takes_back_what_waits(inside: Inside) -> None:
    inside("set", "job:A", "NOW")
    assert inside("unset", "job:A").status == 0
    [task] = inside("tasks", "list", "--json").lines
    assert task["state"] == "canceled"
    assert inside("statuses").out == ""
    assert inside("set", "job:A", "NOW").status == 0
    assert event(inside, "job:A") == "ENQ"


def test_stop_takes_back_what_waits_and_stays_known(inside: Inside) -> None:
    inside("set", "job:A", "CONTINUE")
    inside("set", "job:A", "STOP")
    assert event(inside, "job:A") == "STP"


def test_jobs_end_with_a_failed_run_unless_told_otherwise(inside: Inside) -> None:
    inside("set", "job:A", "CONTINUE")
    inside("set", "other:A", "CONTINUE", "--on-failure", "continue", "--max-attempts", "3", "--timeout", "1m")
    spec = inside("schedules", "show", "job:A", "--json").document["spec"]
    assert (spec["on_failure"], spec["max_attempts"], spec.get("timeout")) == ("stop", 1, None)
    assert spec["metadata"] == {"usual_timeout": 10.0}
    spec = inside("schedules", "show", "other:A", "--json").document["spec"]
    assert (spec.get("on_failure"), spec["max_attempts"], spec["timeout"]) == (None, 3, 60.0)


@pytest.mark.parametrize("verb", ["unset", "tell"])
def test_an_unknown_job_is_an_error(inside: Inside, verb: str) -> None:
    answer = inside(verb, "nobody")
    assert answer.status == 1
    assert "no schedule nobody" in answer.err


def test_an_unknown_job_is_told_as_nothing(inside: Inside) -> None:
    answer = inside("tell", "nobody").document
    assert answer == {"status": None, "next_run": None, "schedule": None, "working": False}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("job:A", "R:FREQ=Secondly", "--after", "5"), "Secondly"),
        (("job:A", "SOMETIMES"), "give NOW, AT:<time>, CONTINUE, STOP or a rule"),
        (("job:A", "AT:yesterday"), "yesterday"),
        (("job\x07A", "NOW"), "printable text"),
        (("job:A", "NOW", "--after", "soon"), "soon"),
        (("job:A", "NOW", "--max-attempts", "0"), "max_attempts 0"),
        (("job:A", "NOW", "--timeout", "long"), "is not a duration"),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(inside: Inside, words: tuple[str, ...], reason: str) -> None:
    inside("set", "job:A", "AT:4000000000")
    before = inside("tell", "job:A").out
    answer = inside("set", *words)
    assert answer.status == 2
    assert reason in answer.err
    assert inside("tell", "job:A").out == before


def test_csv_goes_without_a_verb(inside: Inside) -> None:
    assert inside("schedules", "--csv", "list").status == 2


def test_the_settings_file_may_be_named_before_the_verb(timeline: Timeline, inside: Inside) -> None:
    before = Inside(inside.folder, (), capsys=inside.capsys)
    assert before("--config", str(timeline.conf), "set", "job:A", "NOW").status == 0
    assert event(inside, "job:A") == "ENQ"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("good:A,NOW\nbad:A,SOMETIMES\n", "line 2 of the CSV; nothing was set"),
        ("good:A,NOW\nbad:A,NOW,twice\n", "line 2: 3 columns"),
        ('good:A,NOW\nbad:A,"NOW\n', "line 2: unexpected end of data"),
        ("good:A,NOW\nbad\x07job,NOW\n", "printable text"),
        ("good:A,NOW\nx:A,NOW\ngood:A,CONTINUE\n", "line 3: 'good:A' is already in line 1"),
        (None, "cannot be read: No such file"),
    ],
)
def test_dispatch_refuses_a_file_as_a_whole(timeline: Timeline, inside: Inside, text: str | None, reason: str) -> None:
    file = timeline.folder / "jobs.csv"
    if text is not None:
        file.write_text(text)
    answer = timeline("dispatch", "--schedules", str(file))
    assert (answer.status, reason in answer.err) == (2, True), answer.err
    assert inside("statuses").out == ""


def test_after_is_for_the_file_of_dispatch(inside: Inside) -> None:
    assert inside("dispatch", "--after", "5").status == 2
