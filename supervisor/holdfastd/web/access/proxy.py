"""The proxy in front of the dashboard: which connections it makes, and which user it names in a request."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope

from holdfast_config import Settings
from holdfast_config.addresses import TrustedProxy, parse_proxy, peer_address
from holdfast_config.addresses import parse_listen as parse_address


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy in front of the dashboard. `trusted`: None without a proxy. `alone`: only the proxy may connect from
    another host, because without TLS other logins could be read on their way."""

    trusted: TrustedProxy | None = None
    alone: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Proxy:
        """The proxy that these settings define. The settings must have the address on which the pages are served."""
        if settings.web_trust_proxy is None:
            return cls()
        listen = parse_address(settings.web or "0")
        in_clear = settings.web_cert_file is None and listen.path is None and not listen.is_loopback
        return cls(parse_proxy(settings.web_trust_proxy), in_clear)

    def sends(self, scope: Scope) -> bool:
        """True if this request comes from the proxy."""
        return self.trusted is not None and self.trusted.is_peer(_peer(scope))

    def may_connect(self, scope: Scope) -> bool:
        """False for a connection from another host if its login could be read on the way, because the connection has no
        TLS."""
        return not self.alone or self.sends(scope) or _is_loopback(_peer(scope))

    def names(self, headers: Headers) -> str:
        """The user whom the proxy names; empty if it names none. Raises ValueError if the header is there twice or its
        value is no valid name."""
        assert self.trusted is not None
        given = headers.getlist(self.trusted.header)
        if len(given) > 1:
            raise ValueError(f"the header {self.trusted.header} is there twice")
        try:
            name = given[0].encode("latin-1").decode().strip() if given else ""
        except UnicodeDecodeError:
            raise ValueError(f"the header {self.trusted.header} is not UTF-8") from None
        if not (name.isprintable() and len(name) <= 100):
            raise ValueError(f"the header {self.trusted.header} must be a name of at most 100 printable characters")
        return name

    def see_through(self, scope: Scope, headers: Headers) -> None:
        """In the scope of a proxy's request, replace the address and the scheme by the address and the scheme of the
        proxy's client."""
        if address := self._client(headers):
            scope["client"] = (address, 0)
        if (scheme := headers.get("x-forwarded-proto")) in {"http", "https"}:
            scope["scheme"] = scheme

    def _client(self, headers: Headers) -> str:
        """The last address in X-Forwarded-For that is not the proxy's own. A client can forge earlier addresses."""
        assert self.trusted is not None
        chain = ",".join(headers.getlist("x-forwarded-for")).split(",")
        for each in reversed(chain):
            address = _without_port(each.strip())
            if not address:
                return ""
            if not self.trusted.is_peer(address):
                return address
        return ""


def _peer(scope: Scope) -> str | None:
    return scope["client"][0] if scope.get("client") else None


def _is_loopback(address: str | None) -> bool:
    try:
        return address is None or peer_address(address).is_loopback
    except ValueError:
        return False


def _without_port(text: str) -> str:
    """The IP address in `text` without its port; empty if there is no address."""
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return ""
