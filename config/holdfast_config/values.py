"""The types of settings and their parsers. A parser raises ValueError. Its text is the end of a sentence that names the
allowed values."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr

from holdfast_config import addresses, bounds, names, redis_urls, service_folders
from holdfast_config.lanes import Lane, Rate, lanes, queue, rates

STANDARD_PREFIX = "whsec_"  # the beginning of a webhook secret in base64 (Standard Webhooks)

SHORTEST_TOKEN = 16  # characters
REDACTED = (  # names of fields; upper and lower case do not differ, and _ also stands for - or nothing
    *("*passw*", "*passphrase*", "*secret*", "*credential*", "*token", "*api_key", "*access_key", "*private_key"),
    *("*authorization", "*cookie", "*cookies", "*signature", "*account_key", "sig", "*pwd", "pass", "*_pass"),
    *("auth", "*_auth", "*jwt", "session", "*session_id", "*sess_id", "sid", "*shared_key", "*signing_key"),
    *("*encryption_key", "*master_key", "*auth_key", "*keypass"),
)

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)
_PATTERN = re.compile(r"(\w|[*-]){1,100}")
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
VERBS = ("status", "workers", "scale", "reload", "stop")
_SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def integer(low: int, high: int) -> BeforeValidator:
    """A validator that accepts a whole number from `low` to `high`."""
    return BeforeValidator(lambda value: bounds.whole(value, low, high))


def duration(low: float = 0.0) -> BeforeValidator:
    """A validator that accepts a duration of at least `low` seconds."""
    return BeforeValidator(lambda value: bounds.duration(value, low))


def one_of(*choices: str, hint: str = "") -> BeforeValidator:
    """A validator that accepts one of these words, in upper or lower case. `hint`: the end of its error text."""

    def parse(value: object) -> str:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in choices:
            return word
        raise ValueError(f"must be {' or '.join(choices)}{hint}")

    return BeforeValidator(parse)


def switch(value: object) -> bool:
    """Parse a boolean of TOML, or a word such as yes or off."""
    word = str(value).strip().lower()
    if word in _SWITCH:
        return _SWITCH[word]
    raise ValueError("must be true or false (1 or 0, yes or no, on or off)")


def size(value: object) -> int:
    """Parse a size in bytes: a whole number, or a number with a unit such as MB."""
    match = None if isinstance(value, bool) else _SIZE.fullmatch(str(value).strip())
    number = round(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")) if match else -1
    if not 1 <= number < 1 << 60:
        raise ValueError(
            "must be a size such as 500MB or 1.5GB: a number of bytes, or a number with KB (1024 bytes), MB, GB or TB"
        )
    return number


def text(value: object) -> str:
    """Accept a printable text that is not empty."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("must be a text that is not empty and has no control characters")
    return value


def name(value: object) -> str:
    """Parse a name by the rule of `names.is_name`."""
    stripped = value.strip() if isinstance(value, str) else ""
    if names.is_name(stripped):
        return stripped
    raise ValueError(f"must be {names.NAME_RULE}")


def host(value: object) -> str:
    """Parse the name or the address of a server, without a port."""
    stripped = text(value).strip().removeprefix("[").removesuffix("]")
    if re.fullmatch(r"[^\s:/@?#\[\]%]+", stripped) or _is_address(stripped):
        return stripped
    raise ValueError("must be a host name or an address alone; use REDIS_URL for more")


def webhook(value: object) -> str:
    """Parse the URL of a webhook (http or https, without a login), or `off`."""
    if value == "off":
        return "off"
    url = text(value).strip()
    try:
        addresses.parse_webhook(url)
    except ValueError as error:
        raise ValueError(f"{error}; or off") from None
    return url


def webhook_secret(value: SecretStr) -> SecretStr:
    """Accept `whsec_` followed by a key in base64 (Standard Webhooks), or any other text, whose bytes are the key."""
    try:
        key = _key_of(value.get_secret_value())
    except ValueError:
        key = b""
    if not key:
        raise ValueError(f"must be {STANDARD_PREFIX} followed by base64, or another text that is not empty")
    return value


def _key_of(secret: str) -> bytes:
    if not secret.startswith(STANDARD_PREFIX):
        return secret.encode()
    encoded = secret.removeprefix(STANDARD_PREFIX)
    return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)


def web_token(value: SecretStr) -> SecretStr:
    """Accept a token of 16 or more printable ASCII characters without spaces."""
    token = value.get_secret_value()
    if not (len(token) >= SHORTEST_TOKEN and token.isascii() and token.isprintable() and " " not in token):
        raise ValueError(f"must be {SHORTEST_TOKEN} or more letters, digits and signs, without spaces")
    return value


def host_names(value: object) -> str:
    """Accept names of hosts, separated by commas."""
    names = [name.strip().lower() for name in text(value).split(",") if name.strip()]
    if not all(_HOST.fullmatch(name) for name in names):
        raise ValueError("must be names of hosts, such as queue.example.org, separated by commas")
    return ",".join(names)


def field_patterns(value: object) -> tuple[str, ...]:
    """Parse names of fields, joined by commas. In a name, * stands for any letters."""
    words = tuple(word.lower() for word in _words(value))
    if words == ("none",) or words == ():
        return ()
    if all(_PATTERN.fullmatch(word) and word.strip("*") for word in words):
        return tuple(dict.fromkeys(words))
    raise ValueError("must be names of fields, joined by commas, with * for any letters, as in *passw*,pin; or none")


def http_url(value: object) -> str:
    """Parse an http or https URL."""
    url = text(value).strip()
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number, or a bracket is unbalanced
        fits = False
    if not fits or " " in url:
        raise ValueError("must be http://host:port or https://host:port")
    return url


def trace_url(value: object) -> str:
    """Parse the template of a trace's URL, with {trace_id} in it."""
    url = text(value).strip()
    plain = url.replace("{trace_id}", "0" * 32).replace("{span_id}", "0" * 16)
    try:
        fits = "{trace_id}" in url and plain.isprintable() and http_url(plain) == plain
    except ValueError:
        fits = False
    fits = fits and not {"{", "}"} & set(plain)
    if not fits:
        raise ValueError(
            "must be a URL with {trace_id}, and {span_id} if wanted, as in http://host:16686/trace/{trace_id}"
        )
    return url


def listen(value: object) -> str:
    """Parse an address to listen on. A port alone means this port on loopback."""
    given = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return str(addresses.parse_listen(text(given).strip()))


def place(value: object) -> Path:
    """Parse the path of a file or folder; `~` stands for the home folder."""
    return service_folders.expanded(text(str(value) if isinstance(value, Path) else value))


def folder(value: object) -> Path:
    """Parse a path and make it absolute, because child processes may change their working directory."""
    return place(value).absolute()


def folders(value: object) -> tuple[Path, ...]:
    """Parse paths of folders, joined by commas, or `none`."""
    words = _words(value)
    return () if words == ("none",) else tuple(folder(word) for word in words)


def _is_address(address: str) -> bool:
    try:
        return bool(ipaddress.ip_address(address))
    except ValueError:
        return False


def _words(value: object) -> tuple[str, ...]:
    """The items of a list, or the parts of a text between commas. For any other value, one empty text; every parser
    refuses an empty text."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    return (
        tuple(str(part).strip() for part in cast("Iterable[object]", value))
        if isinstance(value, list | tuple)
        else ("",)
    )


def verbs(value: object) -> tuple[str, ...]:
    """Parse verbs of the control socket, joined by commas, or `none`."""
    words = tuple(word.lower() for word in _words(value))
    if words == ("none",):
        return ()
    if all(word in VERBS for word in words):
        return tuple(dict.fromkeys(words))
    raise ValueError(f"must be some of {', '.join(VERBS)}, joined by commas, or none")


def variables(value: object) -> tuple[str, ...]:
    """Parse names of environment variables, joined by commas."""
    words = _words(value)
    if all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word, re.ASCII) for word in words):
        return tuple(dict.fromkeys(words))
    raise ValueError("must be names of variables, joined by commas, as in PGPASSWORD,REDIS_URL")


Switch = Annotated[bool, BeforeValidator(switch)]
Text = Annotated[str, BeforeValidator(text)]
Name = Annotated[str, BeforeValidator(name)]
Size = Annotated[int, BeforeValidator(size)]
Variables = Annotated[tuple[str, ...], BeforeValidator(variables)]
Verbs = Annotated[tuple[str, ...], BeforeValidator(verbs)]
Queue = Annotated[str, BeforeValidator(queue)]
Lanes = Annotated[tuple[Lane, ...], BeforeValidator(lanes)]
Rates = Annotated[tuple[tuple[str, Rate], ...], BeforeValidator(rates)]
Host = Annotated[str, BeforeValidator(host)]
RedisUrl = Annotated[str, BeforeValidator(lambda value: redis_urls.check(text(value).strip()))]
Webhook = Annotated[str, BeforeValidator(webhook)]
WebhookSecret = Annotated[SecretStr, AfterValidator(webhook_secret)]
WebToken = Annotated[SecretStr, AfterValidator(web_token)]
HostNames = Annotated[str, BeforeValidator(host_names)]
Proxy = Annotated[str, BeforeValidator(lambda value: str(addresses.parse_proxy(text(value))))]
FieldPatterns = Annotated[tuple[str, ...], BeforeValidator(field_patterns)]
Listen = Annotated[str, BeforeValidator(listen)]
HttpUrl = Annotated[str, BeforeValidator(http_url)]
TraceUrl = Annotated[str, BeforeValidator(trace_url)]
Place = Annotated[Path, BeforeValidator(place)]
Folder = Annotated[Path, BeforeValidator(folder)]
Folders = Annotated[tuple[Path, ...], BeforeValidator(folders)]
RuntimeFolder = Annotated[Path, AfterValidator(service_folders.check_runtime_dir), BeforeValidator(folder)]
