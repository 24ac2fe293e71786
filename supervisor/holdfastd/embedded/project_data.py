"""The data of each project's embedded store on this machine, and what is left of a project that was renamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast_config import Settings, projects, service_folders
from holdfast_config.projects import Project


@dataclass(frozen=True, slots=True)
class ProjectData:
    """A state folder with data, and the runtime folder of its pool."""

    state: Path
    runtime: Path
    project: Project

    @property
    def is_running(self) -> bool:
        return service_folders.listens(self.runtime / service_folders.CONTROL_SOCKET)

    @property
    def is_former(self) -> bool:
        """True if the project is no longer in the folder that the note names."""
        return not Project.at(self.project.path).is_same_folder(self.project)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.lstat().st_size for path in self.state.rglob("*") if path.is_file())


def of_all() -> Iterator[ProjectData]:
    """The data of this user's projects."""
    state, runtime = service_folders.state_base(), service_folders.runtime_base()
    if state.named:  # systemd names one folder for its service
        return
    base, sockets = Path(str(state.value)), Path(str(runtime.value))
    for folder in service_folders.folders_below(base, "*"):
        project = projects.noted(folder)
        if project is not None and service_folders.holds_data(folder):
            yield ProjectData(folder, sockets / folder.name, project)


def of(project: Project) -> ProjectData:
    """The project's own folders, which may be missing."""
    folders = service_folders.default_folders(project)
    return ProjectData(Path(str(folders.state.value)), Path(str(folders.runtime.value)), project)


def former(project: Project) -> ProjectData | None:
    """The data of this project under an earlier path. It is the same folder; or, moved between file systems, a folder
    of the same name that is gone."""
    left = [data for data in of_all() if data.is_former and data.project != project]
    same = [data for data in left if data.project.is_same_folder(project)]
    alike = [data for data in left if _is_alike(data.project, project)]
    return next(iter(same or alike), None)


def _is_alike(left: Project, project: Project) -> bool:
    return left.path.name == project.path.name and left.is_gone()


def remarks(settings: Settings) -> Iterator[str]:
    """A line on data that this pool could use: that of the project under an earlier path."""
    project, state = settings.project, settings.state_dir
    if project is None or not settings.embedded or service_folders.state_base().named:
        return
    own = of(project)
    if state == own.state and not service_folders.holds_data(state) and (left := former(project)):
        yield (
            f"this project seems to be {left.project.path}, which is gone, renamed; its data is in {left.state}: "
            f"`supervisor store move --from '{left.project.path}' --set-aside`, while no supervisor runs, adopts it"
        )
