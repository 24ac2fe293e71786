"""The report of `supervisor check`: what `start` would run with these settings, and which errors would end it."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.exits import Exit
from holdfast_config import Settings
from holdfastd.doctor import configuration, folders, handler_import, handler_trial
from holdfastd.doctor.finding import Finding, Level
from holdfastd.doctor.folders import FolderInfo
from holdfastd.doctor.handler_import import Imported, NotImported, Trial
from holdfastd.embedded.data_folder import StoreLaunchError
from holdfastd.parent.start_checks import refusal


@dataclass(frozen=True, slots=True)
class Obstacle:
    """An error that would end `start` with this exit status. `told`: its message, with the traceback if it has one.

    `check --json` prints the fields under these names.
    """

    status: int
    told: str


@dataclass(frozen=True, slots=True)
class StartCheck:
    """The result of the check. `trial`: the result of the handler's import. `engine`: the server program of the
    embedded store; empty if none is used."""

    obstacles: tuple[Obstacle, ...]
    warnings: tuple[Finding, ...]
    folders: tuple[FolderInfo, ...]
    engine: str
    trial: Trial

    @property
    def status(self) -> int:
        """The exit status of `start`; 0 if it would start."""
        return self.obstacles[0].status if self.obstacles else Exit.OK


def check(settings: Settings) -> StartCheck:
    """Check these settings. The obstacles stand in the order in which `start` would meet them. This forks, so this
    process may have only one thread."""
    trial = handler_trial.look(settings)
    places = tuple(folders.look(settings))
    engine = folders.look_for_program(settings) if settings.embedded else ""
    obstacles = [Obstacle(Exit.PERMISSION, why)] if (why := handler_trial.owner_refusal(settings)) else []
    obstacles += [Obstacle(folder.status, folder.blocked) for folder in places if folder.blocked]
    if why_not := refusal(settings):
        obstacles.append(Obstacle(Exit.CONFIG, why_not))
    if isinstance(engine, StoreLaunchError):
        obstacles.append(Obstacle(engine.code, str(engine)))
        engine = ""
    if isinstance(trial, NotImported):
        obstacles.append(Obstacle(Exit.CONFIG, trial.message))
    return StartCheck(tuple(obstacles), tuple(_warnings(settings, places, trial)), places, engine, trial)


def _warnings(settings: Settings, places: tuple[FolderInfo, ...], trial: Trial) -> list[Finding]:
    findings = list(configuration.judge(settings))
    if isinstance(trial, Imported):
        findings += handler_import.judge_side_effects(trial)
        findings += handler_import.judge_lanes(trial, settings.lane_names)
    for folder in places:
        findings += [] if folder.blocked else folders.judge(folder, keeps_data=settings.embedded)
    return [finding for finding in findings if finding.level is not Level.OK]
