"""Before the first fork: checks that this host can run a service with these settings, creates the service's folders,
and makes the dashboard's token.
"""

from __future__ import annotations

import errno
import secrets
import ssl
from importlib.util import find_spec
from pathlib import Path

from pydantic import SecretStr

from holdfast.exits import Exit
from holdfast_config import Settings, addresses, service_folders, web_users
from holdfast_config.addresses import parse_listen
from holdfast_config.settings import STORE_SOCKET
from holdfast_config.trust import UntrustedError
from holdfastd.control.socket_protocol import CONTROL_SOCKET
from holdfastd.core import capacity
from holdfastd.core.commands import Announce
from holdfastd.embedded.data_folder import FULL
from holdfastd.parent import host

BOTH = "with --reload each worker imports the handler itself: leave out --preload or --reload"
ELSEWHERE = "remove it, or choose another --runtime-dir"
NO_LIBRARY = "--reload needs the library watchfiles: pip install 'holdfast-supervisor[reload]'"
WEB_LIBRARIES = ("starlette", "uvicorn", "jinja2", "itsdangerous")
NO_WEB = "--web needs the extra web: pip install 'holdfast-supervisor[web]'"
OPEN = (
    "--web {address} would send the token over the network in clear: name --web-cert-file and --web-key-file, or"
    " listen on loopback or a unix socket behind a proxy that has TLS, or name that proxy: --web-trust-proxy"
)
NO_CERTIFICATE = (
    "no certificate is set for this key: name the certificate with --web-cert-file, or leave --web-key-file out"
)
NO_PAIR = "not a certificate with its key in PEM (the key may be in the file of the certificate, and has no password)"
OTHER_PEER = "if --web is a port, name the address of the proxy; if it is a unix socket, name unix"
NO_ROLE = "nobody could log in: give users roles with --web-users-file, or all users one role with --web-proxy-role"

# A queue in memory is served by one process. It forks no other process, and no other process can replace it.
_OTHERS = (
    "SCHEDULER_TYPE memory keeps the queue inside one process: {what}; leave {flag} out, or name a Redis (REDIS_URL)"
)
_NEEDS_MORE = {
    "workers": "other processes would not see it",
    "reload": "a reload would lose it",
    "web": "a dashboard would not see it",
    "burst": "it is empty at the start, and nobody else can submit",
    "max_tasks": "a successor would not see it",
    "max_memory": "a successor would not see it",
}


def _memory_queue_refusal(settings: Settings) -> str:
    """The reason why one process cannot serve a queue in memory with these settings; empty if it can."""
    if settings.storage_type != "redis":
        return f"SCHEDULER_TYPE memory keeps tasks in memory: leave STORAGE_TYPE {settings.storage_type} out"
    defaults = Settings.model_fields
    for field, what in _NEEDS_MORE.items():
        if getattr(settings, field) != defaults[field].default:
            return _OTHERS.format(what=what, flag=f"--{field.replace('_', '-')}")
    return ""


def web_refusal(settings: Settings) -> str:
    """The reason why the dashboard cannot be served with these settings; empty if it can."""
    if any(find_spec(library) is None for library in WEB_LIBRARIES):
        return NO_WEB
    if why_not := _tls_refusal(settings):
        return why_not
    listen = parse_listen(settings.web or "")
    in_clear = listen.path is None and not listen.is_loopback and settings.web_cert_file is None
    if settings.web_trust_proxy is None:
        return OPEN.format(address=listen) if in_clear else _users_refusal(settings)
    if (addresses.parse_proxy(settings.web_trust_proxy).network is None) is (listen.path is None):
        return f"--web-trust-proxy {settings.web_trust_proxy} never connects to --web {listen}: {OTHER_PEER}"
    if settings.web_users_file is None and settings.web_proxy_role == "none":
        return f"--web-trust-proxy {settings.web_trust_proxy}: {NO_ROLE}"
    return _users_refusal(settings)


def _tls_refusal(settings: Settings) -> str:
    certificate, key = settings.web_cert_file, settings.web_key_file
    if certificate is None:
        return f"--web-key-file {key}: {NO_CERTIFICATE}" if key else ""
    for flag, file in (("--web-cert-file", certificate), ("--web-key-file", key)):
        try:
            if file is not None:
                file.open("rb").close()
        except OSError as error:
            return f"{flag} {file}: cannot be read: {error.strerror}"
    try:  # password="": otherwise the library would ask for a password on the terminal
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError):
        named = f"--web-cert-file {certificate}" + (f" and --web-key-file {key}" if key else "")
        return f"{named}: {NO_PAIR}"
    return ""


def _users_refusal(settings: Settings) -> str:
    try:
        if settings.web_users_file is not None:
            web_users.read(settings.web_users_file)
    except ValueError as error:
        return f"--web-users-file {error}"
    return ""


def refusal(settings: Settings) -> str:
    """One line that says why the service cannot start on this host; empty if it can. It also raises this process's
    limit on open files."""
    if settings.scheduler_type == "memory" and (why_not := _memory_queue_refusal(settings)):
        return why_not
    for name in (CONTROL_SOCKET, STORE_SOCKET):
        if (place := settings.runtime_dir / name).is_dir():
            return f"{place} is a folder, and the supervisor needs a socket there: {ELSEWHERE}"
    host.raise_descriptors()
    if settings.reload and settings.preload and "preload" in settings.model_fields_set:
        return BOTH
    if settings.reload and find_spec("watchfiles") is None:
        return NO_LIBRARY
    if settings.web and (why_not := web_refusal(settings)):
        return why_not
    return capacity.refusal(host.measure(), 0, settings.workers)


# Creates the folders of the service. The owner's group may use the sockets; everything else is for the owner alone.

INCARNATIONS = "incarnations"
ELSEWHERE_OR_STATE = "or choose another --runtime-dir or --state-dir"
ADVICE = f"make it writable for this user, {ELSEWHERE_OR_STATE}"
NO_FOLDER = frozenset({errno.EEXIST, errno.ENOTDIR})


def folder_status(error: OSError) -> Exit:
    """The exit status if a folder cannot be used. EROFS counts as a missing permission, because systemd makes most of
    the disk read-only."""
    if error.errno in FULL:
        return Exit.UNAVAILABLE
    return Exit.PERMISSION if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP} else Exit.CONFIG


def folder_error_line(error: OSError) -> str:
    """One line that says why a folder cannot be used, and what to do."""
    if error.errno in NO_FOLDER:
        place = Path(error.filename)
        there = next((path for path in (place, *place.parents) if path.exists()), place)
        return f"{there} is no folder, and the supervisor needs one there: remove it, {ELSEWHERE_OR_STATE}"
    why = f"{error.filename}: {error.strerror}"
    return why if isinstance(error, UntrustedError) else f"{why}: {ADVICE}"


def make_folders(settings: Settings) -> None:
    """Create the missing folders, and write a note with the project into folders that belong to a project.

    Raises OSError; UntrustedError if another user has made a folder or could replace it.
    """
    for folder, mode in ((settings.runtime_folder, 0o750), (settings.state_folder, 0o700)):
        service_folders.make_checked(folder, mode)
        if settings.project is not None and folder.base is not None:
            settings.project.write_note(folder.path)
    incarnations = settings.runtime_dir / INCARNATIONS
    service_folders.make(incarnations, 0o700)
    incarnations.chmod(0o700)  # also if the folder exists and somebody has opened it to others


# The token to log in to the dashboard: the token of the settings, or one that is made at the start.

TOKEN_BYTES = 24


def with_dashboard_token(settings: Settings, announce: Announce) -> Settings:
    """The settings with a token for the dashboard. If they have none, a token is made for all web processes of this
    start, and announced once. If users log in by name or at a proxy, the token only signs sessions, and is not
    announced."""
    if settings.web_token is not None:
        return settings
    token = secrets.token_urlsafe(TOKEN_BYTES)
    if settings.web_users_file is None and settings.web_trust_proxy is None:
        announce(f"token of the dashboard: {token} (HOLDFAST_WEB_TOKEN or a credential sets one that lasts)")
    return settings.model_copy(update={"web_token": SecretStr(token)})
