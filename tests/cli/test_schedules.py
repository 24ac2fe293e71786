"""`supervisor schedules` as its users type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Inside


def test_a_schedule_is_set_shown_paused_run_and_unset(inside: Inside) -> None:
    assert (
        inside("schedules", "set", "nightly", "hello", "--cron", "0 2 * * *", "--timezone", "Europe/Berlin").status == 0
    )
    again = inside(
        "schedules", "set", "nightly", "hello", "--cron", "0 2 * * *", "--timezone", "Europe/Berlin", "--json"
    )
    assert again.document["word"] == "same"
    shown = inside("schedules", "show", "nightly", "--json").document
    assert (shown["state"], shown["spec"]["text"]) == ("active", "hello")
    assert shown["words"] == "At 02:00 every day, Europe/Berlin"
    inside("schedules", "pause", "nightly", "--reason", "year end")
    [listed] = inside("schedules", "list", "--json").document["schedules"]
    assert (listed["state"], listed["paused"].split(" (")[0]) == ("paused", "year end")
    inside("schedules", "resume", "nightly")
    task_id = inside("schedules", "run", "nightly").out.strip()
    assert inside("tasks", "show", task_id, "--json").document["state"] == "submitted"
    history = inside("schedules", "history", "nightly", "--json").document
    assert [line["what"] for line in history] == ["fired", "resumed", "paused", "set"]
    assert inside("schedules", "remove", "nightly").status == 0
    assert inside("schedules", "show", "nightly").status == 1


def test_the_options_of_a_submission_are_those_of_a_schedule(inside: Inside) -> None:
    words = ("--expires", "10m", "--unique", "sync", "--unique-for", "1h", "--concurrency-key", "tenant-7")
    more = ("--webhook", "https://example.com/told", "--backoff", "30s", "--max-attempts", "4", "--timeout", "5m")
    assert inside("schedules", "set", "j", "go", "--every", "1h", "--overlap", "allow", *words, *more).status == 0
    assert inside("schedules", "show", "j", "--json").document["spec"] == {
        "every": "1h",
        "text": "go",
        "overlap": "allow",
        "expires": "10m",
        "unique": "sync",
        "unique_for": "1h",
        "concurrency_key": "tenant-7",
        "webhook": "https://example.com/told",
        "backoff": "30s",
        "max_attempts": 4,
        "timeout": "5m",
    }
    task_id = inside("schedules", "run", "j").out.strip()
    assert inside("tasks", "show", task_id, "--json").document["expires"] is not None
    again = inside("schedules", "run", "j")
    assert (again.status, "its unique key is held by this task" in again.err) == (1, True)


def test_a_file_that_says_what_the_command_line_said_changes_nothing(inside: Inside, tmp_path: Path) -> None:
    words = ("--every", "3600", "--expires", "10m", "--backoff", "30", "--timeout", "90", "--overlap", "forbid")
    more = ("--start", "1830000000", "--jitter", "0", "--metadata", '{"team": "a"}', "--owner", "billing")
    assert inside("schedules", "set", "j", "go", *words, *more).status == 0
    file = tmp_path / "billing.toml"
    file.write_text(
        '[schedules.j]\nevery = 3600\ntext = "go"\nexpires = "10m"\nbackoff = 30\ntimeout = 90\nstart = 1830000000\n'
        'timezone = "UTC"\nmisfire = "latest"\nmetadata = {team = "a"}\n'
    )
    answer = inside("schedules", "diff", str(file))
    assert (answer.status, answer.err) == (0, ""), answer.out


def test_next_shows_zone_utc_and_words_and_stores_nothing(inside: Inside) -> None:
    words = (
        "--cron",
        "30 2 * * *",
        "--timezone",
        "America/New_York",
        "--after",
        "2027-03-13T03:00",
        "--count",
        "2",
        "--json",
    )
    answer = inside("schedules", "next", *words).document
    assert answer["words"] == "At 02:30 every day, America/New_York"
    assert [moment["utc"] for moment in answer["next"]] == ["2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"]
    assert answer["next"][0]["local"] == "Sun 2027-03-14 03:00:00 EDT"
    assert inside("schedules", "list", "--json").document["schedules"] == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("set", "j", "x", "--cron", "61 * * * *"), "field 1 (minute) is '61'"),
        (("set", "j", "x", "--cron", "* * * * *", "--every", "5"), "cron and every given"),
        (("set", "j", "x"), "nothing given"),
        (("set", "j", "--every", "5"), "nothing to run"),
        (("set", "j\nj", "x", "--every", "5"), "schedule id 'j\\nj'"),
        (("set", "j", "x", "--every", "5", "--timezone", "Mars/Base"), "Mars/Base"),
        (("set", "j", "x", "--every", "5", "--backoff", "soon"), "backoff 'soon'"),
        (("set", "j", "--every", "5", "--name", "n", "--data", "[1]"), "--data with --name"),
        (
            ("set", "j", "x", "--every", "5", "--timeout", "5x"),
            "timeout '5x': allowed are seconds above 0",
        ),
        (
            ("set", "j", "x", "--every", "5", "--expires", "0"),
            "expires 0.0: allowed are seconds above 0",
        ),
        (("set", "j", "x", "--every", "5", "--metadata", "[1]"), "metadata"),
        (("next", "--rrule", "FREQ=DAILY;BYHOUR=25"), "BYHOUR is '25'"),
        (("next", "j", "--cron", "* * * * *"), "not both"),
        (("apply", "nowhere.toml"), "nowhere.toml: cannot be read"),
    ],
)
def test_what_is_wrong_is_a_usage_error_that_names_it(inside: Inside, words: tuple[str, ...], reason: str) -> None:
    answer = inside("schedules", *words)
    assert answer.status == 2
    assert reason in answer.err
    assert inside("schedules", "list", "--json").document["schedules"] == []


@pytest.mark.parametrize("verb", ["show", "pause", "resume", "run", "remove", "next", "history"])
def test_an_unknown_id_is_an_error(inside: Inside, verb: str) -> None:
    answer = inside("schedules", verb, "nobody")
    assert answer.status == 1
    assert "no schedule nobody" in answer.err


def test_a_pause_until_a_moment_that_has_passed_is_refused(inside: Inside) -> None:
    inside("schedules", "set", "j", "x", "--every", "1h", "--timeout", "5m")
    answer = inside("schedules", "pause", "j", "--until", "2020-01-01")
    assert answer.status == 2
    assert "until 2020-01-01T00:00:00+00:00 has passed" in answer.err
    shown = inside("schedules", "show", "j", "--json").document
    assert (shown["state"], shown["spec"]["timeout"]) == ("active", "5m")


@pytest.mark.parametrize(
    "when",
    [
        ("--cron", "CRON_TZ=Europe/Paris 0 2 * * *"),
        ("--rrule", "DTSTART;TZID=Europe/Paris:20270101T020000\nFREQ=DAILY"),
    ],
)
def test_next_shows_the_clock_that_the_cadence_goes_by(inside: Inside, when: tuple[str, str]) -> None:
    inside("schedules", "set", "j", "x", *when)
    for words in (("j",), when):
        answer = inside("schedules", "next", *words, "--count", "1", "--after", "2027-01-01", "--json").document
        assert answer["timezone"] == "Europe/Paris"
        assert answer["next"] == [{"local": "Fri 2027-01-01 02:00:00 CET", "utc": "2027-01-01T01:00:00Z"}]


def test_a_file_is_applied_and_only_its_owner_s_are_pruned(inside: Inside, short_path: Path) -> None:
    file = short_path / "billing.toml"
    file.write_text('[schedules.a]\nevery = "5m"\ntext = "x"\n\n[schedules.b]\ncron = "0 * * * *"\nname = "sweep"\n')
    inside("schedules", "set", "mine", "x", "--every", "60")
    answer = inside("schedules", "diff", str(file))
    assert (answer.status, answer.out.splitlines()) == (1, ["create  a", "create  b"])
    assert inside("schedules", "apply", str(file), "--json").document["create"] == ["a", "b"]
    assert inside("schedules", "diff", str(file)).status == 0
    file.write_text('[schedules.b]\ncron = "30 * * * *"\nname = "sweep"\n')
    answer = inside("schedules", "apply", str(file), "--json").document
    assert (answer["change"], answer["prune"]) == (["b"], ["a"])
    names = {schedule["schedule"] for schedule in inside("schedules", "list", "--json").document["schedules"]}
    assert names == {"b", "mine"}


def test_nothing_of_a_file_with_one_mistake_is_written(inside: Inside, short_path: Path) -> None:
    file = short_path / "bad.toml"
    file.write_text('[schedules.a]\nevery = "5m"\ntext = "x"\n\n[schedules.b]\ncron = "0 99 * * *"\nname = "sweep"\n')
    for verb in ("diff", "apply"):
        answer = inside("schedules", verb, str(file))
        assert (answer.status, answer.out) == (2, "")
        assert f"{file}: schedules.b: cron '0 99 * * *': field 2 (hour) is '99'" in answer.err
    assert inside("schedules", "list", "--json").document["schedules"] == []


A = '[schedules.a]\nevery = "5m"\ntext = "x"\n'


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("billing.toml", "", "no [schedules.ID]"),
        ("billing.toml", 'owner = "billing"\n', "no [schedules.ID]"),
        ("billing.json", "{}", "no [schedules.ID]"),
        ("billing.json", "[" * 100_000, "cannot be read"),
        ("billing.json", '{"schedules": {"a": {"every": 5}, "a": {"every": 6}}}', "'a' appears twice"),
        ("billing.toml", "owner = 5\n" + A, "owner is 5"),
        ("billing.toml", 'owner = ""\n' + A, "owner is ''"),
        ("billing.toml", A + 'owner = "sales"\n', "its owner is 'sales', but the owner of the file is 'billing'"),
    ],
)
def test_a_file_that_is_cut_off_or_says_two_things_takes_nothing_away(
    inside: Inside, short_path: Path, name: str, content: str, reason: str
) -> None:
    whole = short_path / "billing.toml"
    whole.write_text(A)
    inside("schedules", "apply", str(whole))
    file = short_path / name
    file.write_text(content)
    for verb in ("diff", "apply"):
        answer = inside("schedules", verb, str(file))
        assert (answer.status, answer.out) == (2, "")
        assert reason in answer.err
    [kept] = inside("schedules", "list", "--json").document["schedules"]
    assert (kept["schedule"], kept["generation"]) == ("a", 1)


def test_the_owner_is_listed(inside: Inside, short_path: Path) -> None:
    file = short_path / "billing.toml"
    file.write_text(A)
    inside("schedules", "apply", str(file))
    inside("schedules", "set", "mine", "x", "--every", "60")
    listed = inside("schedules", "list", "--json").document["schedules"]
    assert {schedule["schedule"]: (schedule["owner"], schedule["declared"]) for schedule in listed} == {
        "a": ("billing", False),
        "mine": (None, False),
    }
    head, *rows = inside("schedules", "list").out.splitlines()
    place = head.index("OWNER")
    assert sorted(row[place : place + 7].rstrip() for row in rows) == ["-", "billing"]


def test_a_table_without_schedules_says_that_none_are_wanted(inside: Inside, short_path: Path) -> None:
    file = short_path / "billing.toml"
    file.write_text("\ufeff" + A, "utf-8")
    assert inside("schedules", "apply", str(file), "--json").document["create"] == ["a"]
    file.write_text("[schedules]\n")
    assert inside("schedules", "apply", str(file), "--json").document["prune"] == ["a"]
