"""Joins the submissions of several callers into one call of the script.

While a call is under way, the submissions of other callers wait; the next call takes all of them along. A thousand
callers that submit one task each then cost little more than one that submits a batch, and need one connection. Nothing
runs in the background: one of the callers that wait makes the next call for all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import anyio

from holdfast.core.tasks import Accepted, Submission
from holdfast.errors import StoreError, StoreFullError, StoreUnavailableError

MOST = 100  # submissions in one call
MOST_BYTES = 1 << 18  # of their operations, unless one alone has more

Send = Callable[[Sequence[Submission]], Awaitable[list[Accepted]]]


class Caller:
    """A caller that waits. `leads`: it makes the next call. `error`: that of the call that had its submission."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.woken = anyio.Event()
        self.leads = False
        self.answer: Accepted | None = None
        self.error: StoreError | None = None


class JoinedSubmits:
    """`send` submits a batch. Raises the errors of `send`; one that is not the same for every submission is raised only
    to the caller that it concerns."""

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
        """Wait until the caller has its answer or an error, or is to lead."""
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
        """The callers whose submissions go along with the leader's."""
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
        """After an error: raise it if it is everybody's, else find out whose it is."""
        assert caller.error is not None
        if isinstance(caller.error, StoreUnavailableError | StoreFullError):
            raise type(caller.error)(*caller.error.args) from caller.error
        return (await self._send([caller.submission]))[0]
