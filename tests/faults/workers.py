"""The workers of a scene, as the parent knows them."""

from __future__ import annotations

from holdfastd.control.socket_protocol import ProcessStatus
from tests.faults.process import PATIENCE
from tests.faults.scene import Scene


def workers_of(scene: Scene) -> list[ProcessStatus]:
    """The workers that the parent has now, the one that runs fewest tasks first."""
    found = [process for process in scene.pool.status().processes if process.kind == "worker"]
    return sorted(found, key=lambda process: len(process.running))


def workers_once(scene: Scene, running: list[int]) -> list[ProcessStatus]:
    """The workers, the one that goes first at first, once they are known to run so many tasks."""
    for _ in range(round(PATIENCE / 0.05)):
        found = workers_of(scene)
        if [len(process.running) for process in found] == running:
            return found
        scene.news(0.05)
    raise AssertionError(f"{scene.pool.status()}\n{scene.pool.log_text()}")
