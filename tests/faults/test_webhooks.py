"""Webhooks are told at least once, whoever dies, and reach no address that they must not."""

from __future__ import annotations

import os
import signal
from datetime import datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from standardwebhooks import Webhook

from holdfast.client.manager import TaskManager
from holdfast.core.acceptance import SubmitOptions
from holdfast.errors import InvalidTaskError
from holdfast.store import open_store
from holdfast_config import RedisSettings
from holdfastd.steward.receivers import AT_ONCE, UNPROVEN_AT_ONCE
from tests.faults.scene import stage
from tests.faults.webhooks import PATIENCE, receiver, silent, status
from tests.faults.work import QUEUE

pytestmark = pytest.mark.anyio

SECRET = "a secret that nobody else knows"
NEVER = 3600.0  # seconds
REACHABLE = {"webhook_allow_private": True, "retry_base": 0.1}


async def test_end_of_a_task_is_told_with_its_result_and_a_signature(short_path: Path) -> None:
    with receiver() as ear:
        async with stage(short_path, webhook_secret=SECRET, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url))
            await scene.completed("t")
            notice = ear.next_signed(SECRET)
            assert (notice["type"], notice["task_id"], notice["turn"]) == ("task.completed", "t", 1)
            assert notice["result"]["state"] == "completed"
            assert SECRET not in scene.pool.log_text()


async def test_queue_s_own_webhook_hears_of_every_task(short_path: Path) -> None:
    with receiver() as ear:
        async with stage(short_path, webhook_url=ear.url, **REACHABLE) as scene:
            scene.pool.wait_for("the webhook of the queue was set")
            await scene.submit("t", text="echo")
            assert ear.next()[1]["task_id"] == "t"


async def test_receiver_that_fails_is_told_again_under_the_same_id(short_path: Path) -> None:
    with receiver(status(500), status(302, Location="http://127.0.0.1:1/elsewhere")) as ear:
        async with stage(short_path, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url))
            ids = {ear.next()[0]["webhook-id"] for _ in range(3)}  # an error, a redirect that is not followed, success
            assert ids == {"t.1.completed"}


async def test_a_webhook_that_waits_says_why_its_last_try_has_failed(short_path: Path) -> None:
    with receiver(*[status(503)] * 50) as ear:
        async with stage(short_path, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url))
            for _ in range(2):  # the second try begins after the end of the first was stored
                ear.next()
            (waiting,) = (await scene.store.outbox(0, 10)).waiting
            assert waiting.notice.why == "the receiver answered 503"


@pytest.mark.parametrize("receivers", [1, UNPROVEN_AT_ONCE + 5])
async def test_receivers_that_never_answer_keep_no_other_waiting(short_path: Path, receivers: int) -> None:
    """A hundred webhooks of one of them, or of more of them than there are places for such."""
    with receiver() as ear, silent(receivers) as urls:
        async with stage(short_path, webhook_timeout=NEVER, **REACHABLE) as scene:
            await scene.submit_on("before", SubmitOptions(webhook=ear.url))
            assert ear.next()[1]["task_id"] == "before"
            evil = [f"evil{n}" for n in range(2 * AT_ONCE)]
            for place, task_id in enumerate(evil):
                await scene.submit_on(task_id, SubmitOptions(webhook=urls[place % receivers]))
            await scene.settled(*evil)
            await scene.submit_on("other", SubmitOptions(webhook=ear.url))
            assert ear.next()[1]["task_id"] == "other"


async def test_a_new_receiver_is_told_beside_one_that_never_answers(short_path: Path) -> None:
    with receiver() as ear, silent(1) as urls:
        async with stage(short_path, webhook_timeout=NEVER, **REACHABLE) as scene:
            evil = [f"evil{n}" for n in range(2 * AT_ONCE)]
            for task_id in evil:
                await scene.submit_on(task_id, SubmitOptions(webhook=urls[0]))
            await scene.settled(*evil)
            await scene.submit_on("other", SubmitOptions(webhook=ear.url))
            assert ear.next()[1]["task_id"] == "other"


async def test_steward_that_dies_while_it_tells_leaves_it_to_the_next(short_path: Path) -> None:
    asked, go = Event(), Event()

    def hang(request: BaseHTTPRequestHandler) -> None:
        asked.set()
        go.wait(PATIENCE)
        request.close_connection = True

    with receiver(hang) as ear:
        async with stage(short_path, webhook_timeout=0.5, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url))
            assert asked.wait(PATIENCE)
            os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
            scene.pool.until("died", slot="steward")
            go.set()
            ear.next()
            assert ear.next()[0]["webhook-id"] == "t.1.completed"


async def test_what_cannot_be_told_is_given_up_and_said(short_path: Path) -> None:
    with receiver(*[status(503)] * 2) as ear:
        async with stage(short_path, webhook_attempts=2, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url))
            assert scene.happened("webhook-dropped", "t")["detail"] == "the receiver answered 503, 2 times"
            scene.pool.until("a webhook is not delivered: no attempt is left or it was refused", task="t")
            assert (await scene.counts()).counters["webhooks-dropped"] == 1


async def test_private_address_is_refused_unless_allowed(short_path: Path) -> None:
    with receiver() as ear:
        async with stage(short_path) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url))
            assert "no public address" in scene.happened("webhook-dropped", "t")["detail"]
            assert ear.requests.empty()


async def test_question_is_told_too(short_path: Path) -> None:
    with receiver() as ear:
        async with stage(short_path, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url), text="ask")
            assert ear.next()[1]["type"] == "task.input-required"
            await scene.store.cancel("t", "enough")
            assert ear.next()[1]["type"] == "task.canceled"


IMPOSSIBLE = ("http://h:x/", "http://[::1", "http://0177.0.0.1/", "http://a/\x00", f"http://{'a' * 64}.org/")


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "http://", "https://user:pw@example.org/", "file:///etc/passwd", 5, *IMPOSSIBLE]
)
async def test_what_is_no_url_is_refused_before_anything_is_written(redis_settings: RedisSettings, url: Any) -> None:
    async with open_store(redis_settings) as store:
        with pytest.raises(InvalidTaskError, match="webhook"):
            await TaskManager(store, queue=redis_settings.queue).run_task("x", webhook=url)
        assert await store.snapshot() == {}


async def test_url_that_cannot_be_is_given_up_alone(short_path: Path) -> None:
    """Scripts take any URL: older producers did not check it as the steward that sends to it does."""
    with receiver() as ear:
        async with stage(short_path, **REACHABLE) as scene:
            for number, url in enumerate(IMPOSSIBLE):
                await scene.submit_on(f"bad-{number}", SubmitOptions(webhook=url))
            for number, _ in enumerate(IMPOSSIBLE):
                assert "must be http" in scene.happened("webhook-dropped", f"bad-{number}")["detail"]
            await scene.submit_on("good", SubmitOptions(webhook=ear.url))
            assert ear.next()[1]["task_id"] == "good"
            assert "Traceback" not in scene.pool.log_text()


@pytest.mark.parametrize("spoilt", ["gone", "half", "other"])
async def test_record_that_cannot_be_read_does_not_stop_the_others(short_path: Path, spoilt: str) -> None:
    with receiver(status(503)) as ear:
        async with stage(short_path, **REACHABLE) as scene:
            await scene.submit_on("good", SubmitOptions(webhook=ear.url))
            ear.next()  # the steward knows of it: what is spoilt now is taken together with it
            index, name = f"{{{QUEUE}}}:webhooks", "bad|1|completed"
            if spoilt == "half":
                scene.client.hset(f"{{{QUEUE}}}:webhook:{name}", mapping={"task": "bad", "turn": "x"})
            if spoilt == "other":
                scene.client.set(f"{{{QUEUE}}}:webhook:{name}", "no hash")
            scene.client.zadd(index, {name: 0})
            assert ear.next()[1]["task_id"] == "good"
            scene.pool.until("a webhook notice cannot be decoded: it is not delivered", notice=name)
            assert scene.client.zscore(index, name) is None


async def test_result_that_is_no_json_does_not_stop_the_others(short_path: Path) -> None:
    with receiver(status(503)) as ear:
        async with stage(short_path, **REACHABLE) as scene:
            await scene.submit_on("bad", SubmitOptions(webhook=ear.url))
            ear.next()
            scene.client.set(f"{{{QUEUE}}}:result:bad:1", "{")
            await scene.submit_on("good", SubmitOptions(webhook=ear.url))
            assert ear.next()[1]["task_id"] == "good"
            assert scene.happened("webhook-dropped", "bad")


OURS = "bm90aGluZyBidXQgYSB0ZXN0IG9mIHNpZ25hdHVyZXM="


@pytest.mark.parametrize(("secret", "key"), [(f"whsec_{OURS}", OURS), (SECRET, SECRET.encode())])
async def test_receiver_with_the_official_library_accepts_it(short_path: Path, secret: str, key: str | bytes) -> None:
    with receiver() as ear:
        async with stage(short_path, webhook_secret=secret, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url))
            headers, content = ear.requests.get(timeout=PATIENCE)
            notice = Webhook(key).verify(content, headers)
            assert (notice["type"], notice["task_id"]) == ("task.completed", "t")
            ended = (await scene.record("t")).finished_ms
            assert ended is not None
            assert abs(datetime.fromisoformat(notice["timestamp"]).timestamp() * 1000 - ended) < 1
            assert notice["timestamp"].endswith("Z")


async def test_traceback_stays_here(short_path: Path) -> None:
    """It names paths of this server, and the URL may be a stranger's."""
    with receiver() as ear:
        async with stage(short_path, max_attempts=1, **REACHABLE) as scene:
            await scene.submit_on("t", SubmitOptions(webhook=ear.url), text="fail")
            notice = ear.next()[1]
            assert notice["type"] == "task.failed"
            assert set(notice["result"]["error"]) == {"type", "message"}
            result = (await scene.record("t")).result
            assert result is not None
            assert b"Traceback" in result  # whoever may ask the store may read it


HIDDEN = (
    "127.0.0.1",
    "224.0.0.1",
    "[::ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[fec0::1]",
    "[ff0e::1]",
)


async def test_no_spelling_of_a_private_address_is_taken_for_public(short_path: Path) -> None:
    async with stage(short_path, webhook_attempts=1) as scene:
        for number, host in enumerate(HIDDEN):
            await scene.submit_on(f"t{number}", SubmitOptions(webhook=f"http://{host}:9/"))
        for number, _ in enumerate(HIDDEN):
            assert "no public address" in scene.happened("webhook-dropped", f"t{number}")["detail"]
