"""The connections of a namespace (operations by name, plain commands, blocking commands), and the base of the parts of
the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, cast

import anyio
from redis.exceptions import ConnectionError, MovedError, NoScriptError, RedisError, ResponseError  # noqa: A004 - the library's name

from holdfast.core.store_info import ServerAddress
from holdfast.errors import StoreError, StoreRefusedError, UnreadableRecordError
from holdfast.store.redis.clients import Clients, clients_of
from holdfast.store.redis.error_mapping import Explained, is_passing
from holdfast.store.redis.fast_client import FastClient, Offer
from holdfast.store.redis.keys import Keys
from holdfast.store.redis.notifications import Notifications
from holdfast.store.redis.scripts import SHIPPED, Script, Scripts, build, operations
from holdfast_config import redis_urls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from holdfast_config import RedisSettings


# Follows redirections where servers change places, and looks for the server anew if one cannot serve now.

MOST = 5  # redirections of one command: the node that is named is the right one, unless the slot moves again meanwhile

Execute = Callable[..., Awaitable[Any]]


class Redirecting:
    """Wraps the clients of one namespace, and follows redirects of a Cluster. A node that redirects a command has not
    executed it, so sending the command to the other node is no retry."""

    def __init__(self, clients: Clients) -> None:
        assert clients.locator is not None
        self._locator = clients.locator
        self._clients = (clients.commands, clients.blocking, clients.peeking)
        self._locator.changed = self._leave

    def over(self, execute: Execute) -> Execute:
        """Wrap `execute` so that it follows MOVED. ASK is not followed, because only some of a script's keys may have
        moved yet."""

        async def following(*command: Any) -> Any:
            for _ in range(MOST):
                try:
                    return await execute(*command)
                except MovedError as moved:
                    target: Any = moved  # the library types none of it
                    self._locator.prefer((target.host, target.port))
                    await self._let_go()
                except ResponseError as error:
                    if is_passing(error):
                        await self._let_go()
                    raise
            raise ConnectionError("every node redirects to another one, and none serves the queue")

        return following

    async def _let_go(self) -> None:
        """Close idle connections, so that the next calls look up the server again."""
        for client in self._clients:
            await client.give_back_idle()
            await client.connection_pool.disconnect(inuse_connections=False)
            await client.connection_pool.update_active_connections_for_reconnect()

    async def _leave(self) -> None:
        """Close all connections, also those with blocked calls. Another server has taken over, and the old one may be
        frozen and never answer."""
        commands, *blocking = self._clients
        await commands.give_back_idle()
        await commands.connection_pool.disconnect(inuse_connections=False)
        for client in blocking:
            await client.connection_pool.disconnect()


Value = str | bytes | int | float

DAMAGED = "damaged"  # an operation's answer: the key of the task's record has another type


class Connection:
    """The connections of one store to one namespace. Calls raise only Holdfast's errors. `replaced`: tests pass other
    texts for parts of the scripts here. `clients`: by default made from the settings."""

    def __init__(
        self, settings: RedisSettings, replaced: Mapping[str, str] | None = None, clients: Clients | None = None
    ) -> None:
        self.in_cluster = redis_urls.is_cluster(settings.url)
        self.keys = Keys(settings.queue, in_cluster=self.in_cluster)
        self.url = settings.masked_url
        self._named = redis_urls.server_of(settings.url)
        self._explained = Explained(self.url)
        self._declared = self.keys.declared
        self._answer_timeout = settings.answer_timeout
        pools = clients or clients_of(settings)
        self.client, self.blocking, self._locator = pools.commands, pools.blocking, pools.locator
        self._peeking = pools.peeking
        executes: list[Execute] = [each.execute_command for each in (pools.commands, pools.blocking, pools.peeking)]
        if pools.locator is not None:
            executes = [*map(Redirecting(pools).over, executes)]
        self._execute, self._execute_blocking, self._execute_peeking = executes
        self._replaced = replaced
        self._scripts = Scripts(replaced) if replaced else SHIPPED
        self._guarded: dict[str, Script] = {}
        self.notices = Notifications(self.blocking, self.keys["done"], self._explained)

    def run(self, name: str, *args: Value) -> Awaitable[Any]:
        """Run one Lua operation; load it first if the server does not know it."""
        return self._evaluated(self._scripts[name], *args)

    async def run_behind(self, guard: str, name: str, *args: Value) -> Any:
        """Run `guard`, a shared part of the scripts, and after it an operation, in one script. The guard takes the last
        arguments. If the guard answers, the operation does not run, and the guard's answer is returned."""
        if name not in self._guarded:
            self._guarded[name] = build(name, self._replaced, guard)
        return await self._evaluated(self._guarded[name], *args)

    async def _evaluated(self, script: Script, *args: Value) -> Any:
        try:
            return await self._evaluate(script, *args)
        except StoreRefusedError as error:
            if "WRONGTYPE" not in str(error):
                raise
            if not await self._has_mended():
                await self.check_types()
                await self._check_types_of(str(args[0]) if args else "")
                raise
        return await self._evaluate(script, *args)  # a script may be called again after an error, so this is safe

    async def _evaluate(self, script: Script, *args: Value) -> Any:
        with self._explained:
            try:
                return await self._execute("EVALSHA", script.sha, *self._declared, *args)
            except NoScriptError:
                await self._execute("SCRIPT", "LOAD", script.source)
                return await self._execute("EVALSHA", script.sha, *self._declared, *args)

    async def _has_mended(self) -> bool:
        """True if a key of the queue held a value of the wrong type, and this call has removed it (see mend.lua)."""
        with suppress(StoreError):
            removed, _ = await self._evaluate(self._scripts["mend"], 0)
            return bool(removed)
        return False

    async def load(self) -> None:
        """Have the server compile and keep every operation."""
        for name in operations():
            await self.command("SCRIPT", "LOAD", self._scripts[name].source)

    async def check_types(self) -> None:
        """Raise StoreRefusedError for the first key of this queue that has another type than Holdfast expects. Keys
        that the user of the connection may not read are not checked."""
        await self._check(self.keys.types, f"queue {self.keys.queue} keeps", ", or use another queue name")

    async def _check_types_of(self, task_id: str) -> None:
        """Check the types of one task's keys, like `check_types` does for the queue."""
        await self._check(self.keys.types_of(task_id), "a task has")

    async def _check(self, types: Mapping[str, str], who_has: str, or_else: str = "") -> None:
        for key, wanted in types.items():
            kind = await self._type_of(key)
            if kind not in {wanted, "none"}:
                raise StoreRefusedError(
                    f"Redis at {self.url}: key {key} is a {kind}, and {who_has} a {wanted} there; "
                    f"rename it (RENAME {key} …){or_else}"
                )

    async def refuse_damaged(self, task_id: str, reason: str = "") -> NoReturn:
        """Raise an error for a task whose record could not be read. It is StoreRefusedError if a key of the task has a
        wrong type, else UnreadableRecordError."""
        await self._check_types_of(task_id)
        flaw = reason.encode() or await self.command("HGET", self.keys["task"] + task_id, "aside")
        why = flaw.decode(errors="backslashreplace") if flaw else "another program has just changed it; ask again"
        raise UnreadableRecordError(f"the record of task {task_id!a} cannot be read: {why}")

    async def _type_of(self, key: str) -> str:
        try:
            return str((await self.command("TYPE", key)).decode())
        except StoreRefusedError:
            return "none"

    @property
    def found_by(self) -> str:
        """The way in which the server is found: url, sentinel or cluster."""
        return "url" if self._locator is None else self._locator.form

    @property
    def address(self) -> str:
        """The address of the server that was found last. Empty if the URL itself names the server."""
        return "" if self._locator is None else self._locator.address

    @property
    def server(self) -> ServerAddress | None:
        """The server in the URL, or the one found last; None if there is none yet."""
        found = self._named if self._locator is None else self._locator.found
        return None if found is None else ServerAddress(*found)

    @property
    def database(self) -> int:
        """The number of the database that the URL names."""
        return int(self.client.connection_pool.connection_kwargs.get("db", 0))

    async def command(self, *args: Value) -> Any:
        """Run one plain command."""
        with self._explained:
            return await self._execute(*args)

    async def block(self, seconds: float, *args: Value) -> Any:
        """Run a command that blocks at most `seconds`. If no answer comes even long after this time, the connection
        counts as dead."""
        with self._explained, self._within(seconds):
            return await self._execute_blocking(*args)

    def _within(self, seconds: float) -> AbstractContextManager[anyio.CancelScope]:
        """A time limit for a wait. With asyncio's own limit, an answer would be lost if it arrived while this process
        was frozen."""
        return anyio.fail_after(seconds + self._answer_timeout)

    @property
    def sends_behind_waits(self) -> bool:
        """True if an operation can be sent behind a blocking command on the same connection. False with Sentinel or
        Cluster: there a redirected command is sent again, and the operation behind it would run alone. False in memory,
        where there is no connection."""
        return self._locator is None and isinstance(self.blocking, FastClient)

    async def wait(self, seconds: float, offer: Offer, *args: Value) -> tuple[Any, Any]:
        """Run a blocking command like `block`. Returns its answer, and the answer of the operation that was sent behind
        it (see `FastClient.execute_waiting`)."""
        with self._explained, self._within(seconds):
            return await cast("FastClient", self.blocking).execute_waiting(args, offer, self._answer_timeout)

    def operation(self, name: str, *args: Value) -> tuple[Value, ...]:
        """The command that runs an operation by its SHA. The server refuses the command if it does not have the
        script."""
        return "EVALSHA", self._scripts[name].sha, *self._declared, *args

    async def peek(self, seconds: float, *args: Value) -> Any:
        """Run a command that blocks on a lane, over the connections for peeks."""
        with self._explained, self._within(seconds):
            return await self._execute_peeking(*args)

    async def aclose(self) -> None:
        # Ignore errors while closing: the server may be gone.
        for client in (self.client, self.blocking, self._peeking):
            with suppress(RedisError, OSError):
                await client.aclose()
                await client.connection_pool.disconnect()


Run = Callable[..., Awaitable[Any]]  # the name of a Lua operation, its arguments


class RedisPart:
    """The base class of the parts of the store: Lua operations and plain commands over one connection. The store is one
    class that inherits from all parts (see store.py), so no two parts have a method of the same name.

    `_run` runs an operation. `_change_setting` runs an operation that changes a schedule, a lane or a host.
    `_run_whole` runs an operation that must not run in a Redis that has lost data. The store with PostgreSQL overrides
    the last two.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._keys = connection.keys
        self._run: Run = connection.run
        self._change_setting: Run = connection.run
        self._run_whole: Run = connection.run
        self._command = connection.command
        self._block = connection.block

    async def clock_ms(self) -> int:
        """The store's clock."""
        return await self._number("now")

    async def _word(self, name: str, *args: Value) -> str:
        """Run an operation that answers with one word."""
        answer: bytes = await self._run(name, *args)
        return answer.decode()

    async def _number(self, name: str, *args: Value) -> int:
        """Run an operation that answers with one number."""
        answer: int = await self._run(name, *args)
        return answer


def given(value: int | None) -> Value:
    """A number in the form of a script's argument; an empty text in place of None."""
    return "" if value is None else value
