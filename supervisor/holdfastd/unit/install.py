"""Plans a systemd service from an operator's options, and writes its files. A file that somebody has changed is not
overwritten."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from holdfast.errors import HandlerError, HoldfastError
from holdfast.handler.command import command_line
from holdfast.handler.named_handler import target_of
from holdfast_config import ConfigError, Settings, load
from holdfast_config.environment import search_path
from holdfast_config.redis_urls import mask
from holdfastd.unit import access
from holdfastd.unit.access import ETC, USER, Sandbox, Site
from holdfastd.unit.unit_files import File, InstalledService, earlier, is_intact


class Action(StrEnum):
    """The action of an installation on a file."""

    WRITTEN = "written"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    KEPT = "kept"  # another program wrote the file, or somebody has changed it


@dataclass(frozen=True, slots=True)
class InstallStep:
    """One file of an installation. `path`: where it is written, below the given root folder."""

    action: Action
    path: Path
    file: File

    @property
    def writes(self) -> bool:
        return self.action in {Action.WRITTEN, Action.REPLACED}


def steps(files: Iterable[File], root: Path, *, force: bool) -> Iterator[InstallStep]:
    """The steps of an installation. Raises OSError or UnicodeDecodeError if an existing file cannot be read."""
    for file in files:
        path = root / file.path.relative_to("/")
        yield InstallStep(_action(file, path, force=force), path, file)


def _action(file: File, path: Path, *, force: bool) -> Action:
    try:
        there = path.read_text("utf-8")
    except FileNotFoundError:
        return Action.WRITTEN
    if there == file.text:
        return Action.UNCHANGED
    return Action.REPLACED if force or is_intact(there) else Action.KEPT


def _make(folder: Path) -> None:
    """Create the folder so that everybody may enter it, whatever the umask is. The service's user must read the
    settings in it."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)


def write(step: InstallStep) -> None:
    """Write the file atomically. Raises OSError."""
    _make(step.path.parent)
    fresh = step.path.with_name(f".{step.path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, step.file.mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        os.fchmod(descriptor, step.file.mode)  # sets the mode whatever the umask is
        stream.write(step.file.text)
        stream.flush()
        os.fsync(descriptor)
    fresh.replace(step.path)


# The commands that make systemd use the new files. The operator types them, or `supervisor service` runs them.

Command = tuple[str, ...]


class SystemdError(HoldfastError):
    """A systemd command has failed."""


def systemctl_commands(site: Site) -> list[Command]:
    """The commands that start the service now and after each boot."""
    users: list[Command] = [("systemd-sysusers", "holdfast.conf")] if site.user == USER else []
    return [
        *users,
        ("systemd-tmpfiles", "--create", "holdfast.conf"),
        ("systemctl", "daemon-reload"),
        ("systemctl", "enable", "--now", site.unit),
    ]


def start_service(site: Site) -> None:
    """Run all commands that start the service. Raises SystemdError with the output of the first one that fails."""
    for command in systemctl_commands(site):
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        except FileNotFoundError as error:
            raise SystemdError(f"{command[0]}: not found: is this machine run by systemd?") from error
        if done.returncode != 0:
            raise SystemdError(f"{' '.join(command)}: {done.stderr.strip() or f'exit status {done.returncode}'}")


# Builds a Site from an operator's options, after checking names, paths, settings and the handler.

SETTINGS = ("handler", "exec", "app_dir", "workers", "concurrency", "redis_url", "queue_name")
RESERVED = "supervisor"  # no instance name: the environment file of this name is that of the single service

_INSTANCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,30}")
_UNSAFE = re.compile(r"[^\w/.+@~-]")  # a character at which systemd may split, expand or unquote a path
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
    """The service that the options describe. The files of an earlier installation below `root` give the defaults.

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
    """Check the given settings. Returns them as they are written to the settings file: without defaults, and with the
    folder from which the handler is imported."""
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
    """The command with its full path, because the service has another PATH. Also the command's folder, which must be
    visible to the service."""
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
