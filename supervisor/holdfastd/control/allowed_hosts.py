"""The names that the Host header of a request may have. Any other name may be an attack by DNS rebinding: a foreign
site points its own name at this server's address, so that a browser reads this server's pages for the site."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass

from holdfast_config import Settings

LOOPBACK = "localhost"
_FORM = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@\[\]%]+)(:[0-9]{0,5})?")  # of which addresses of pages can be made


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The allowed names: `names`, localhost, and all numeric addresses. A foreign site cannot choose localhost or a
    number as its name."""

    names: Collection[str] = ()

    @classmethod
    def of(cls, settings: Settings) -> AllowedHosts:
        return cls(frozenset(filter(None, (settings.web_hosts or "").split(","))))

    def allows(self, host: str) -> bool:
        """True if this Host header is allowed, with or without a port."""
        name = _without_port(host).lower() if _FORM.fullmatch(host) else ""
        return name == LOOPBACK or name in self.names or _is_numeric(name)

    def is_named(self, host: str) -> bool:
        """True if the Host header is a name of the settings. A proxy serves the pages under such a name."""
        return _without_port(host).lower() in self.names


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _is_numeric(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
