"""The Redis calls about conversations and data kept beside tasks."""

from __future__ import annotations

from holdfast.core.conversations import About, Conversation, KeptNote, NotedWrite
from holdfast.core.task_states import State
from holdfast.store.redis import decode
from holdfast.store.redis.connection import RedisPart, Value

NAME = "+"  # goes before the name of a field of metadata
_NOTED: dict[str, KeptNote | State] = {str(word): word for word in (*KeptNote, *State)}


class RedisConversations(RedisPart):
    """The calls of an application that keeps its conversations in the task store. Payloads are JSON."""

    async def note(self, task_id: str, context_id: str, owner: str, message: bytes) -> KeptNote | State:
        """Keep a message of a task that is not submitted yet: its first message, or a further one. If the task has
        ended, returns its state."""
        return decode.known_word(
            _NOTED, task_id, await self._run("conversation_note", task_id, context_id, owner, message)
        )

    async def note_state(self, task_id: str, state: str, wanted: tuple[str, ...] = ()) -> NotedWrite:
        """Write the state of a task whose message the store keeps (see `note`), but that was not submitted. With
        `wanted`, the state is only written if the present state is one of these."""
        return NotedWrite(await self._word("conversation_state", task_id, state, *wanted))

    async def noted(self, limit: int, offset: int) -> tuple[dict[str, str], int]:
        """A page of tasks whose messages the store keeps, but that were not submitted: at most `limit` states by task
        id. Also the next offset, -1 at the end."""
        following, flat = await self._run("conversation_noted", offset, limit)
        return {task_id: state.decode() for task_id, state in decode.pairs(flat)}, following

    async def noted_state(self, task_id: str) -> str:
        """The state that `note_state` has written for a task. Empty if it has written none, or if the task was
        submitted."""
        state = await self._command("HGET", self._keys["about"] + task_id, "state")
        return state.decode() if state is not None else ""

    async def add(
        self,
        task_id: str,
        *,
        ran: bool = False,
        metadata: dict[str, bytes] | None = None,
        added: tuple[bytes, ...] = (),
        feedback: bytes | None = None,
        push: bytes | None = None,
    ) -> None:
        """Keep data beside a task for as long as the store keeps the task's record. `ran`: the task, which `note` kept
        before, has now been submitted."""
        fields: list[tuple[str, Value | None]] = [("ran", "" if ran else None)]
        fields += [(f"{NAME}{name}", value) for name, value in (metadata or {}).items()]
        fields += [*(("added", value) for value in added), ("feedback", feedback), ("push", push)]
        if args := [part for name, value in fields if value is not None for part in (name, value)]:
            await self._run("conversation_add", task_id, *args)

    async def about(self, task_id: str) -> About:
        """The data that is kept beside a task."""
        flat, added, earlier = await self._run("conversation_show", task_id)
        fields = dict(decode.pairs(flat))
        return About(
            context_id=fields.get("context", b"").decode(),
            owner=fields.get("owner", b"").decode(),
            at_ms=int(fields.get("at", b"0")),
            message=fields.get("message"),
            state=fields.get("state", b"").decode(),
            changed_ms=int(fields.get("changed", b"0")),
            metadata={name[1:]: value for name, value in fields.items() if name.startswith(NAME)},
            added=tuple(added),
            earlier=tuple(earlier),
        )

    async def cancel_if(self, task_id: str, states: tuple[str, ...], reason: str) -> bool:
        """Cancel a task if it is in one of these states. Returns True if this call has canceled the task."""
        return await self._number("cancel_if", task_id, reason, *states) == 1

    async def conversation(self, context_id: str) -> Conversation | None:
        """The owner, data and task ids of a conversation; None for an unknown one."""
        key = self._keys["conversation"] + context_id
        owner, data = await self._command("HMGET", key, "owner", "data")
        if owner is None:
            return None
        ids = await self._command("ZRANGE", f"{key}:tasks", 0, -1)
        return Conversation(context_id, owner.decode(), data, tuple(each.decode() for each in ids))

    async def conversations(self, owner: str | None, limit: int, offset: int) -> list[str]:
        """The ids of conversations, newest first. `owner`: only conversations of this owner; '': only conversations
        without an owner; None: all."""
        key = self._keys.conversations(owner)
        ids = await self._command("ZRANGE", key, offset, offset + limit - 1, "REV")
        return [each.decode() for each in ids]

    async def write_conversation(self, context_id: str, data: bytes) -> None:
        """Write a conversation's data. If the conversation is unknown, it is made without an owner."""
        await self._run("conversation_write", context_id, data)

    async def clear_conversation(self, context_id: str, limit: int) -> int:
        """Cancel and delete the first tasks of a conversation; returns the number of tasks left, -1 for an unknown
        conversation. When no task is left, the conversation is deleted."""
        return await self._number("conversation_clear", context_id, limit)

    async def feedback(self, task_id: str) -> list[bytes]:
        """The feedback that users gave on the task, in its order, each as JSON."""
        return list(await self._command("LRANGE", self._keys["feedback"] + task_id, 0, -1))

    async def push(self, task_id: str) -> bytes | None:
        """The notification settings of a task as JSON: how its client wants to be notified. None if the task has
        none."""
        found: bytes | None = await self._command("HGET", self._keys["pushes"], task_id)
        return found

    async def pushes(self) -> dict[str, bytes]:
        """The notification settings of all tasks, as JSON, by task id."""
        return dict(decode.pairs(await self._command("HGETALL", self._keys["pushes"])))

    async def forget_push(self, task_id: str) -> None:
        """Delete the notification settings of a task: its client gets no more notifications."""
        await self._command("HDEL", self._keys["pushes"], task_id)
