"""The data of projects' embedded stores on this machine: finds the data of a renamed project, and moves it."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfast.os import locks
from holdfast_config import Settings, service_folders
from holdfast_config.service_folders import NOTE, Project
from holdfast_config.trust import ServiceFolder


@dataclass(frozen=True, slots=True)
class ProjectData:
    """The state folder of a project, which may hold data, and the runtime folder of its pool."""

    state: Path
    runtime: Path
    project: Project

    @property
    def is_running(self) -> bool:
        return service_folders.listens(self.runtime / service_folders.CONTROL_SOCKET)

    @property
    def is_former(self) -> bool:
        """True if the project is no longer in the folder that the note in the state folder names."""
        return not Project.at(self.project.path).is_same_folder(self.project)

    @property
    def size(self) -> int:
        """The size of all files in the state folder, in bytes."""
        return sum(path.lstat().st_size for path in self.state.rglob("*") if path.is_file())


def of_all() -> Iterator[ProjectData]:
    """Yield the folders of all projects of this user."""
    state, runtime = service_folders.state_base(), service_folders.runtime_base()
    if state.named:  # systemd has named one folder for the service, so there are no folders by project
        return
    base, sockets = Path(str(state.value)), Path(str(runtime.value))
    for folder in service_folders.folders_below(base, "*"):
        project = service_folders.noted(folder)
        if project is not None and service_folders.holds_data(folder):
            yield ProjectData(folder, sockets / folder.name, project)


def of(project: Project) -> ProjectData:
    """The state folder and the runtime folder of this project; both may be missing."""
    state, sockets = (Path(str(folder.value)) for folder in service_folders.default_folders(project).values())
    return ProjectData(state, sockets, project)


def former(project: Project) -> ProjectData | None:
    """The data of this project from the time when its folder had another path; None if there is none. The earlier
    folder is the same one (renamed), or a folder of the same name that is gone (moved to another file system)."""
    left = [data for data in of_all() if data.is_former and data.project != project]
    same = [data for data in left if data.project.is_same_folder(project)]
    alike = [data for data in left if data.project.path.name == project.path.name and data.project.is_gone()]
    return next(iter(same or alike), None)


def remarks(settings: Settings) -> Iterator[str]:
    """A line for people if this pool has no data, but the project has data under an earlier path."""
    project, state = settings.project, settings.state_dir
    if project is None or not settings.embedded or service_folders.state_base().named:
        return
    own = of(project)
    if state == own.state and not service_folders.holds_data(state) and (left := former(project)):
        yield (
            f"this project seems to be the renamed {left.project.path}, whose data is in {left.state}: "
            f"`supervisor store move --from '{left.project.path}' --set-aside`, while no supervisor runs, moves it here"
        )


# Moves the data of a stopped pool to the folder of a project.
#
# A step is one rename, or removes something that is not needed. So the data is in one of the two folders at any time.
# If a move is killed, the next one goes on.

STOP = "stop it first: supervisor stop --runtime-dir"
STORE_LOCK = "lock"
ASIDE = "store.aside"


class DataMoveError(HoldfastError):
    """The data cannot be moved. The message says what to do. `code`: the exit status of the command."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def steps(source: ProjectData, target: ProjectData, *, set_aside: bool) -> Iterator[str]:
    """Move the data, one step after the other. Yields a line for people after each step.

    `set_aside`: if the target has data, rename that data; without this it is an error. Raises DataMoveError and
    OSError.
    """
    there, here = source.state / service_folders.STORE, target.state / service_folders.STORE
    if not service_folders.holds_data(source.state):
        yield _nothing(source, target)
        _forget(source)
        return
    with _stopped(source), _stopped(target):
        folder = ServiceFolder(target.state, named=False, flag="--state-dir", base=target.state.parent)
        service_folders.make_checked(folder, 0o700)
        target.project.write_note(target.state)
        if service_folders.holds_data(target.state):
            if not set_aside:
                raise DataMoveError(
                    f"{target.project.path} has data of its own in {here}: with --set-aside that data is renamed",
                    Exit.FAILED,
                )
            aside = _free_name(target.state)
            _rename(here, aside)
            yield f"the data in {here} is now in {aside}"
        _make_room(here)
        _rename(there, here)
        yield f"the data in {there} is now in {here}, of {target.project.path}"
    _forget(source)


def _nothing(source: ProjectData, target: ProjectData) -> str:
    if service_folders.holds_data(target.state):
        return f"nothing to move: {target.state} has the data, {source.state} has none"
    raise DataMoveError(f"nothing to move: there is no data in {source.state}", Exit.FAILED)


@contextmanager
def _stopped(data: ProjectData) -> Generator[None]:
    """A context manager: while its block runs, no supervisor can start with this data. Raises DataMoveError (73) if one
    runs."""
    with ExitStack() as held:
        store = data.state / service_folders.STORE
        for folder, name in ((data.runtime, service_folders.SUPERVISOR_LOCK), (store, STORE_LOCK)):
            if not folder.is_dir():
                continue
            lock = locks.hold(folder / name)
            if lock is None:
                raise DataMoveError(f"a supervisor uses {data.state}: {STOP} '{data.runtime}'", Exit.RUNNING)
            held.callback(os.close, lock)
        yield


def _rename(old: Path, new: Path) -> None:
    """Rename a folder. A power cut after this call does not undo it."""
    try:
        old.rename(new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        raise DataMoveError(
            f"{old} and {new} are on different file systems: `cp -a` the one to the other and remove the first, or "
            "name the folder by --state-dir",
            Exit.CONFIG,
        ) from error
    for parent in {old.parent, new.parent}:
        descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _free_name(folder: Path) -> Path:
    """A path in this folder, beside the store, that does not exist yet."""
    number = 1
    while (path := folder / f"{ASIDE}-{number}").exists():
        number += 1
    return path


def _make_room(store: Path) -> None:
    """Remove the folder of a store without data. It usually contains only a lock file."""
    if store.is_dir():
        (store / STORE_LOCK).unlink(missing_ok=True)
        try:
            store.rmdir()
        except OSError:
            _rename(store, _free_name(store.parent))


def _forget(source: ProjectData) -> None:
    """Remove the former state folder of a project, unless it contains anything besides the note."""
    with suppress(OSError):
        if [path.name for path in source.state.iterdir()] == [NOTE]:
            (source.state / NOTE).unlink()
            source.state.rmdir()
