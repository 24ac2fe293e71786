"""Builds a Site from an operator's options, after checking names, paths, settings and the handler."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import HandlerError, HoldfastError
from holdfast.handler.command import command_line
from holdfast.handler.named_handler import target_of
from holdfast_config import ConfigError, Settings, load
from holdfast_config.environment import search_path
from holdfast_config.redis_urls import mask
from holdfastd.unit import access
from holdfastd.unit.access import ETC, USER, Sandbox, Site
from holdfastd.unit.unit_files import InstalledService, earlier

SETTINGS = ("handler", "exec", "app_dir", "workers", "concurrency", "redis_url", "queue_name")
RESERVED = "supervisor"  # this environment file belongs to the service without an instance name

_INSTANCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,30}")
_UNSAFE = re.compile(r"[^\w/.+@~-]")  # what systemd would split, expand or unquote
_NOWHERE = Path(os.devnull)


class SiteError(HoldfastError):
    """These options do not describe a valid service."""


def site(
    supervisor: Path | None,
    user: str | None,
    instance: str | None,
    settings: Mapping[str, object],
    root: Path | None = None,
) -> Site:
    """The service that the options describe; an earlier installation below `root` provides defaults.

    Raises SiteError, ConfigError, HandlerError.
    """
    _check_names(user, instance)
    program = supervisor or access.own_command()
    checked = _checked(settings)
    before = earlier(root, instance) if root is not None else InstalledService()
    read = [path for path in (checked.get("app_dir"), before.app_dir) if isinstance(path, Path)]
    folders = access.needed(program, read)
    for path in (program, *folders):
        _check_path(path)
    return Site(program, user or before.user or USER, instance, Sandbox(folders), checked)


def _check_names(user: str | None, instance: str | None) -> None:
    if instance is not None and (instance == RESERVED or not _INSTANCE.fullmatch(instance)):
        raise SiteError(f"instance {instance!a}: write 1 to 64 letters, digits, _ . - (and not {RESERVED!r})")
    if user is not None and not _USER.fullmatch(user):
        raise SiteError(f"user {user!a}: write the name of a user")


def _checked(settings: Mapping[str, object]) -> dict[str, object]:
    """The given settings as they will be written: the handler with the folder it is imported from, and no defaults."""
    checked = load(settings, environ={}, folder=_NOWHERE)
    given: dict[str, object] = {name: getattr(checked, name) for name in SETTINGS if settings.get(name) is not None}
    _keep_secrets(checked)
    if checked.exec is not None:
        return given | _command(checked.exec)
    app_dir = checked.app_dir.absolute().resolve()
    try:
        target = target_of(checked.handler, app_dir)
    except HandlerError:
        if checked.handler is not None:
            raise
        return {**given, "app_dir": app_dir} if "app_dir" in given else given
    return {**given, "handler": target, "app_dir": app_dir}


def _command(line: str) -> dict[str, object]:
    """The command with its full path, as the service has another PATH, and its folder, which must be visible to the
    service."""
    command = command_line.find(line, search_path())
    return {"exec": shlex.join([str(command.path), *command.words[1:]]), "app_dir": command.path.parent}


def _keep_secrets(settings: Settings) -> None:
    if settings.redis_url is not None and mask(settings.redis_url) != settings.redis_url:
        raise ConfigError(
            [f"--redis-url: {mask(settings.redis_url)}: everybody can read the settings file; leave the password out, "
             f"and put it into {ETC}/credentials/redis_password"]
        )  # fmt: skip


def _check_path(path: Path) -> None:
    unsafe = _UNSAFE.search(str(path))
    if unsafe is not None:
        raise SiteError(
            f"{str(path)!a}: a unit file cannot carry {unsafe[0]!a} safely; use a folder with a plainer name"
        )
