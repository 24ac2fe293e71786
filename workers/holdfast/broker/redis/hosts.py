"""What operators ask of Redis about hosts: have them be quiet, let them go on, who is quiet."""

from __future__ import annotations

from holdfast.broker.redis.connection import Role
from holdfast.broker.redis.rows import pairs
from holdfast.core.hosts import Quiet, Told


class HostsRole(Role):
    async def quiet_host(self, host: str, by: str, reason: str) -> Told:
        word, workers = await self._run("quiet_host", host, _line(by), _line(reason))
        return Told(word == b"quiet", workers)

    async def resume_host(self, host: str, by: str) -> Told:
        word, workers = await self._run("resume_host", host, _line(by))
        return Told(word == b"resumed", workers)

    async def quiet_hosts(self) -> tuple[Quiet, ...]:
        found = pairs(await self._command("HGETALL", self._keys.quiet))
        quiet = [_quiet(host, said.decode(errors="replace")) for host, said in found]
        return tuple(sorted(quiet, key=lambda one: (not one.is_all, one.host)))


def _quiet(host: str, said: str) -> Quiet:
    since, by, reason = said.split("\n", 2)
    return Quiet(host, int(since), by, reason)


def _line(text: str) -> str:
    return " ".join(text.split())
