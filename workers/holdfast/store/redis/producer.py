"""The Redis calls of producers."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

import anyio
import msgspec

from holdfast.core.acceptance import Accepted, Receipt, Submission, SubmitOptions
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskObstacle
from holdfast.errors import StoreError, StoreFullError, StoreUnavailableError
from holdfast.store.redis import decode
from holdfast.store.redis.connection import Connection, RedisPart, Value, given
from holdfast.store.redis.keys import Keys

# Joins the submissions of several callers into one call of the script.
#
# While a call is under way, the submissions of other callers wait; the next call takes all of them along. A thousand
# callers that submit one task each then cost little more than one that submits a batch, and need one connection.
# Nothing runs in the background: one of the callers that wait makes the next call for all of them.

MOST = 100  # submissions in one call
MOST_BYTES = 1 << 18  # of their operations, unless one alone has more

Send = Callable[[Sequence[Submission]], Awaitable[list[Accepted]]]


class Caller:
    """A caller that waits for the answer to its submission. `leads`: this caller makes the next call of the store, for
    itself and the others. `error`: the error of the call in which its submission was sent."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.woken = anyio.Event()
        self.leads = False
        self.answer: Accepted | None = None
        self.error: StoreError | None = None


class JoinedSubmits:
    """Joins the submissions of several callers into one call of `send`. Every caller gets the errors of `send`, but an
    error about one submission is raised only to the caller that made this submission."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting = deque[Caller]()
        self._is_sending = False

    async def submit(self, submission: Submission) -> Accepted:
        if self._is_sending:
            return await self._submit_with_others(submission)
        self._is_sending = True
        try:
            return (await self._send((submission,)))[0]
        finally:
            self._pass_on()

    async def _submit_with_others(self, submission: Submission) -> Accepted:
        caller = Caller(submission)
        self._waiting.append(caller)
        await self._wait(caller)
        if caller.leads:
            await self._lead(caller)
        return caller.answer or await self._alone(caller)

    async def _wait(self, caller: Caller) -> None:
        """Wait until the caller has its answer or an error, or until it is this caller's turn to make the next call."""
        try:
            await caller.woken.wait()
        except BaseException:  # cancelled
            if caller.leads:
                self._pass_on()
            elif caller in self._waiting:
                self._waiting.remove(caller)
            raise

    async def _lead(self, caller: Caller) -> None:
        group = [caller, *self._gathered(caller)]
        try:
            answers = await self._send([each.submission for each in group])
        except StoreError as error:
            if len(group) == 1:
                raise
            for each in group:
                each.error = error
        except BaseException:  # cancelled: the next call takes the others along
            self._waiting.extendleft(reversed(group[1:]))
            group = []
            raise
        else:
            for each, answer in zip(group, answers, strict=True):
                each.answer = answer
        finally:
            for each in group:
                each.woken.set()
            self._pass_on()

    def _gathered(self, leader: Caller) -> list[Caller]:
        """The callers whose submissions go into the leader's call."""
        found, size = list[Caller](), len(leader.submission.operation)
        while self._waiting and len(found) < MOST - 1:
            size += len(self._waiting[0].submission.operation)
            if size > MOST_BYTES:
                break
            found.append(self._waiting.popleft())
        return found

    def _pass_on(self) -> None:
        """Have the caller that has waited longest make the next call."""
        self._is_sending = bool(self._waiting)
        if self._waiting:
            following = self._waiting.popleft()
            following.leads = True
            following.woken.set()

    async def _alone(self, caller: Caller) -> Accepted:
        """Answer a caller after an error of the call in which its submission was joined with others. An error that
        concerns every caller is raised. Otherwise the submission is sent alone, to find out whether the caller's
        submission caused the error."""
        assert caller.error is not None
        if isinstance(caller.error, StoreUnavailableError | StoreFullError):
            raise type(caller.error)(*caller.error.args) from caller.error
        return (await self._send([caller.submission]))[0]


TASK_WORDS: dict[str, State | TaskObstacle] = {str(word): word for word in (*State, *TaskObstacle)}
_ACCEPTED = {str(word).encode(): word for word in Accepted}
_pack = msgspec.msgpack.Encoder().encode


def _packed(options: SubmitOptions | None, *, promised: bool) -> Value:
    if options is None and not promised:
        return ""
    options = options or SubmitOptions()
    expiry = (given(options.expires_ms), given(options.expires_in_ms))
    keys = (options.debounce, options.unique, given(options.unique_ms), options.webhook)
    batch = options.batch.text if options.batch else ""
    return _pack((options.after, options.if_parent_fails, *expiry, *keys, batch, int(promised)))


def submitted(keys: Keys, s: Submission) -> tuple[Value, ...]:
    """A submission as arguments of `submit`."""
    return (
        s.task_id,
        s.message_id,
        f"o{s.digest}",
        s.operation,
        keys.name(s.lane),
        "" if s.due_ms is None else s.due_ms,  # not `given`: a call for each value takes time
        "" if s.delay_ms is None else s.delay_ms,
        s.name,
        "" if s.max_attempts is None else s.max_attempts,
        "" if s.timeout_ms is None else s.timeout_ms,
        s.concurrency_key,
    )


def submitted_with_options(keys: Keys, s: Submission, *, promised: bool = False) -> tuple[Value, ...]:
    """A submission as arguments of `submit_with_options`. `promised`: the producer was already told that its submission
    is accepted."""
    return (*submitted(keys, s), _packed(s.options, promised=promised))


class RedisProducer(RedisPart):
    """The calls of producers."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._joined = JoinedSubmits(self._submit)

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        """Submit tasks without options (dependencies, expiry …); `submit_with_options` takes those with options."""
        for one in submissions:
            if one.options:
                raise ValueError("a submission has options: use submit_with_options")
        return [await self._joined.submit(*submissions)] if len(submissions) == 1 else await self._submit(submissions)

    async def _submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        args = [value for one in submissions for value in submitted(self._keys, one)]
        answers: list[bytes] = await self._run("submit", *args) if args else []
        return [_ACCEPTED[answer] for answer in answers]

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        """Submit tasks, with or without options, in their order. A task may wait for an earlier one of the same
        call."""
        args = [value for one in submissions for value in submitted_with_options(self._keys, one)]
        answers: list[list[bytes]] = await self._run("submit_with_options", *args) if args else []
        return [Receipt(Accepted(word.decode()), task_id.decode()) for word, task_id in answers]

    async def message(self, submission: Submission) -> Accepted:
        """Add a message to a task; answers `unknown` if there is no such task. Lane, due time and limits of the task
        stay the same."""
        s = submission
        return Accepted(await self._word("message", s.task_id, s.message_id, f"o{s.digest}", s.operation))

    async def cancel(self, task_id: str, reason: str) -> State | TaskObstacle:
        """Cancel a task; returns its state afterwards, or UNKNOWN. An unknown task is canceled when it is submitted
        within ten minutes."""
        return await self.change_task("cancel", task_id, reason)

    async def pause(self, task_id: str, reason: str) -> State | TaskObstacle:
        """Pause a task; returns its state afterwards, or UNKNOWN."""
        return await self.change_task("pause", task_id, reason)

    async def resume(self, task_id: str, reason: str) -> State | TaskObstacle:
        """Resume a task; returns its state afterwards, or UNKNOWN."""
        return await self.change_task("resume", task_id, reason)

    async def change_task(self, verb: str, task_id: str, reason: str) -> State | TaskObstacle:
        """Cancel, pause or resume a task. `verb`: the name of the order."""
        word = decode.known_word(TASK_WORDS, task_id, await self._run(verb, task_id, reason))
        if word is TaskObstacle.DAMAGED:
            await self.connection.refuse_damaged(task_id)
        return word

    def settled(self, task_ids: Sequence[str]) -> AsyncIterator[str]:
        """Yield '' when the subscription is complete, then the ids of these tasks as their turns settle."""
        return self.connection.notices.settled(task_ids)

    def emitted(self, task_id: str) -> AsyncGenerator[str]:
        """Like `settled` for this task; also yields the id when new parts are stored. One notice may stand for several
        changes."""
        return self.connection.notices.emitted(task_id)
