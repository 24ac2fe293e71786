"""Each error through each face: what MEANINGS says is what a command, a page, the API and the agent answer with."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from holdfast import errors
from holdfast.client.manager import TaskManager
from holdfast.errors import HoldfastError
from holdfast_config import ConfigError, RedisSettings
from holdfastd.cli.common.error_report import report
from holdfastd.control.socket_protocol import NotRunningError
from holdfastd.operations.error_statuses import BUG, MEANINGS, UnknownNameError, meaning_of
from holdfastd.operations.reading import InvalidArgumentError
from tests.web.site import site

pytestmark = pytest.mark.anyio

WHY = "as things are"
OF_HANDLERS = {errors.Retry, errors.Reject, errors.StopSchedule, errors.UnsetSchedule}


class RefusingManager(TaskManager):
    """Refuses to tell a task, and to remove a dead letter, with this error."""

    def __init__(self, *args: Any, error: Exception, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._error = error

    async def get_task(self, *_: object, **__: object) -> Any:
        raise self._error

    async def purge_dead_letters(self, *_: object, **__: object) -> Any:
        raise self._error


def kinds() -> list[type[Exception]]:
    """The errors of the table, those of the library that have no row, and one that nobody raises on purpose."""
    own = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, HoldfastError)]
    others = [UnknownNameError, InvalidArgumentError, NotRunningError, LookupError]
    plain = [each for each in own if each not in OF_HANDLERS and not issubclass(each, errors.TaskFailed)]
    return list(dict.fromkeys([*(kind for kind, _ in MEANINGS), *plain, *others]))


def made(kind: type[Exception]) -> Exception:
    return ConfigError([WHY]) if kind is ConfigError else kind(WHY)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
async def test_an_error_means_the_same_to_each_face(
    redis_settings: RedisSettings, kind: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    error, meaning = made(kind), meaning_of(made(kind))
    assert report(error, debug=False) == meaning.exit
    assert WHY in capsys.readouterr().err
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}
    async with site(redis_settings, web_a2a=True, manager_of=partial(RefusingManager, error=error)) as here:
        agent = await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"})
        assert (agent.status_code, agent.json()["error"]["code"]) == (meaning.rpc_status, meaning.code)
        if not isinstance(error, HoldfastError):  # its text stays in the log
            assert WHY not in agent.text
            return
        route = await here.program.get("/api/v1/tasks/x")
        assert (route.status_code, route.json()["detail"]) == (meaning.status, WHY)
        form = await here.change("/dead/remove", task_id="x")
        assert (form.status_code, WHY in form.text) == (meaning.status, True)


@pytest.mark.parametrize("place", range(len(MEANINGS)), ids=lambda place: MEANINGS[place][0].__name__)
def test_no_row_is_hidden_behind_one_of_its_bases(place: int) -> None:
    kind, meaning = MEANINGS[place]
    assert meaning_of(made(kind)) is meaning


def test_what_nobody_raises_on_purpose_is_a_bug() -> None:
    assert meaning_of(LookupError(WHY)) is BUG
