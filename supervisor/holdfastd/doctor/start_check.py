"""What `start` would run with these settings, and everything that would keep it from starting."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.exits import Exit
from holdfast_config import Settings
from holdfastd.doctor import configuration, folders, handler_import
from holdfastd.doctor.finding import Finding, Level
from holdfastd.doctor.folders import FolderInfo
from holdfastd.doctor.handler_import import Imported, NotImported, Trial
from holdfastd.doctor.looks.embedded import embedded
from holdfastd.doctor.looks.folders import folders as see_folders
from holdfastd.doctor.looks.handler_import import attempt
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.parent.start_checks import refusal


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What would end `start` with this status; `told` is what it would print, `traceback` included."""

    status: int
    told: str


@dataclass(frozen=True, slots=True)
class StartCheck:
    """`engine`: of the embedded store, empty where none is used."""

    obstacles: tuple[Obstacle, ...]
    warnings: tuple[Finding, ...]
    folders: tuple[FolderInfo, ...]
    engine: str
    trial: Trial

    @property
    def status(self) -> int:
        """What `start` would exit with; 0: it would start."""
        return self.obstacles[0].status if self.obstacles else Exit.OK


def check(settings: Settings) -> StartCheck:
    """In the order in which `start` would meet them. Forks: this process may have one thread only."""
    trial = attempt(settings)
    seen = tuple(see_folders(settings))
    obstacles = [Obstacle(one.status, one.blocked) for one in seen if one.blocked]
    if why_not := refusal(settings):
        obstacles.append(Obstacle(Exit.CONFIG, why_not))
    engine = ""
    if settings.embedded:
        try:
            engine = embedded(settings)
        except StoreLaunchError as error:
            obstacles.append(Obstacle(error.code, str(error)))
    if isinstance(trial, NotImported):
        obstacles.append(Obstacle(Exit.CONFIG, trial.told))
    return StartCheck(tuple(obstacles), tuple(_warnings(settings, seen, trial)), seen, engine, trial)


def _warnings(settings: Settings, seen: tuple[FolderInfo, ...], trial: Trial) -> list[Finding]:
    found = list(configuration.judge(settings))
    if isinstance(trial, Imported):
        found += [*handler_import.warnings(trial), *handler_import.unserved(trial, settings.lane_names)]
    for folder in seen:
        found += [] if folder.blocked else folders.judge(folder, keeps_data=settings.embedded)
    return [finding for finding in found if finding.level is not Level.OK]
