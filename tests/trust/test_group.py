"""Members of the service's group may send the listed requests to its control socket, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_config import ConfigError, load
from tests.trust.serving import serving
from tests.users import MEMBER, SERVICE, User, needs_users

ADA, MEMBER_OF_HERS, ROOT = User(SERVICE), User(MEMBER, groups=[SERVICE]), User(0)


@pytest.fixture
def home(short_path: Path) -> Path:
    needs_users()
    short_path.chmod(0o755)
    return ADA.folder(short_path / "ada", 0o755)


def places(home: Path) -> tuple[str, ...]:
    return "--runtime-dir", str(home / "run"), "--state-dir", str(home / "state")


def test_a_member_of_the_group_sees_and_changes_nothing(home: Path) -> None:
    here, log = places(home)[:2], list[str]()
    with serving(ADA, *places(home), cwd=home, log=log) as process:
        assert MEMBER_OF_HERS.supervisor("status", *here, cwd=home).status == 0
        assert MEMBER_OF_HERS.supervisor("workers", "--deaths", *here, cwd=home).status == 0
        for words in (["scale", "2"], ["reload"], ["stop"]):
            answer = MEMBER_OF_HERS.supervisor(*words, *here, cwd=home)
            assert (answer.status, answer.out) == (77, "")
            assert answer.err == (
                f"supervisor: {words[0]} is for root and the service's user; the service's group may: status, workers "
                "(--control-group-verbs)\n"
            )
        assert process.poll() is None
        assert '"target": 1' in ROOT.supervisor("status", "--json", *here, cwd=home).out
        assert ROOT.supervisor("scale", "2", *here, cwd=home).status == 0
        assert ADA.supervisor("reload", "--wait", *here, cwd=home).status == 0
        assert ADA.supervisor("stop", *here, cwd=home).status == 0
    refused = [line for line in log if "request on the control socket is refused" in line]
    assert len(refused) == 3
    assert all(f'"uid": {MEMBER}' in line for line in refused), refused


def test_a_member_of_the_group_may_do_what_is_listed(home: Path) -> None:
    here = places(home)[:2]
    with serving(ADA, *places(home), "--control-group-verbs", "scale,stop", cwd=home):
        assert MEMBER_OF_HERS.supervisor("reload", *here, cwd=home).status == 77
        assert MEMBER_OF_HERS.supervisor("scale", "2", *here, cwd=home).status == 0
        assert MEMBER_OF_HERS.supervisor("stop", *here, cwd=home).status == 0


def test_none_bars_the_group(home: Path) -> None:
    with serving(ADA, *places(home), "--control-group-verbs", "none", cwd=home):
        answer = MEMBER_OF_HERS.supervisor("status", *places(home)[:2], cwd=home)
        assert (answer.status, answer.out) == (77, "")
        assert "group may: nothing" in answer.err


@pytest.mark.parametrize(
    ("value", "verbs"),
    [("status", ("status",)), (" Scale, stop,scale", ("scale", "stop")), ("none", ()), (["reload"], ("reload",))],
)
def test_the_verbs_that_are_listed(value: object, verbs: tuple[str, ...]) -> None:
    assert load({"control_group_verbs": value}, environ={}).control_group_verbs == verbs


@pytest.mark.parametrize("value", ["halt", "status,", "status none", ",", 7])
def test_a_verb_that_does_not_exist_is_refused(value: object) -> None:
    with pytest.raises(
        ConfigError, match="must be some of status, workers, scale, reload, stop, joined by commas, or none"
    ):
        load({"control_group_verbs": value}, environ={})
