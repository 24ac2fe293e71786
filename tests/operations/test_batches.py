"""The acts on batches, through each of their faces."""

from __future__ import annotations

import pytest

from holdfast.client.task_spec import TaskSpec
from holdfast_config import RedisSettings
from holdfastd.operations.batches import CANCEL_BATCH, SEAL_BATCH
from holdfastd.web.access import forms
from tests.cli.commands import Cli
from tests.cli.test_batches import submit_half
from tests.operations.faces import FACES, Case
from tests.web.site import site

pytestmark = pytest.mark.anyio

SEAL = ("POST", "/batches/{}/seal")
CANCEL = ("POST", "/batches/{}/cancel")
HALF, WHOLE = "import-2", "import-1"
WHY = {"reason": "the wrong file"}
CANCELED = {"batch": WHOLE, "state": "canceled", "canceled_now": 120}
UNKNOWN = f"no batch impart-1; a batch that ended long ago is forgotten; did you mean {WHOLE} or {HALF}?"
CANCELING = Case(CANCEL_BATCH, WHOLE, ("batches", "cancel", WHOLE, "--yes"), CANCEL, WHY, answers=CANCELED)
SEALING = Case(SEAL_BATCH, HALF, ("batches", "seal", HALF), SEAL, answers={"sealed_now": True, "sealed_by": "operator"})
CASES = [
    SEALING,
    Case(SEAL_BATCH, HALF, SEALING.words, SEAL, before=(SEALING,), answers={"sealed_now": False}),
    Case(SEAL_BATCH, "impart-1", ("batches", "seal", "impart-1"), SEAL, refusal=UNKNOWN),
    Case(SEAL_BATCH, "a b", ("batches", "seal", "a b"), SEAL, refusal="batch 'a b': "),
    CANCELING,
    Case(CANCEL_BATCH, WHOLE, CANCELING.words, CANCEL, before=(CANCELING,), answers={**CANCELED, "canceled_now": 0}),
    Case(CANCEL_BATCH, "impart-1", ("batches", "cancel", "impart-1", "--yes"), CANCEL, refusal=UNKNOWN),
    Case(CANCEL_BATCH, "a b", ("batches", "cancel", "a b", "--yes"), CANCEL, refusal="batch 'a b': "),
    Case(
        CANCEL_BATCH,
        WHOLE,
        CANCELING.words,
        CANCEL,
        {"reason": "x" * 1001},
        refusal="use a text of at most 1000 characters",
    ),
]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_an_act_on_a_batch_is_the_same_through_each_face(
    redis_settings: RedisSettings, cli: Cli, case: Case, face: str
) -> None:
    async with site(redis_settings) as here:
        await submit_half(redis_settings, HALF)
        await here.manager.run_tasks([TaskSpec(text="x")] * 120, batch=WHOLE)
        for earlier in case.before:
            await FACES["route"](cli, here, earlier)
        said = await FACES[face](cli, here, case)
        assert case.refusal in said.refusal if case.refusal else said.refusal == ""
        if case.answers and isinstance(said.answer, dict):
            assert case.answers.items() <= said.answer.items()
        assert (said.note.change, said.note.subject) == (case.act.name, case.subject)
        assert said.note.is_refused == bool(case.refusal)
        assert case.refusal in said.note.outcome
        assert len(await here.store.activity_before("", 10)) == 1 + len(case.before)
        if case is CANCELING:
            reason = (await here.manager.get_task(f"{WHOLE}.120")).reason
            assert reason.startswith("the wrong file (its batch was canceled by ")


@pytest.mark.parametrize("face", ["form", "route"])
async def test_a_request_to_cancel_a_batch_has_an_end_and_the_next_goes_on(
    redis_settings: RedisSettings, cli: Cli, face: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "LONGEST", 0.0)
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="x")] * 120, batch=WHOLE)
        left = list[int]()
        for _ in range(3):
            assert (await FACES[face](cli, here, CANCELING)).refusal == ""
            left.append((await here.manager.batch(WHOLE).record()).counts.open)
        assert left == [70, 20, 0]
