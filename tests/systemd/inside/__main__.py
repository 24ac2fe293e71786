"""Plays all scenarios and prints a line of JSON for each: `lab python -m tests.systemd.inside`."""

from __future__ import annotations

import json
import subprocess
import time
import traceback
from collections.abc import Mapping

from tests.systemd.inside import instances, scenarios
from tests.systemd.inside.scenarios import Scenario
from tests.systemd.inside.scene import Scene, prepare

SCENARIOS: Mapping[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        scenarios.installing_without_rights_is_refused_in_one_line,
        scenarios.installed_it_is_started_and_ready,
        scenarios.members_of_its_group_see_and_do_no_more,
        scenarios.handlers_can_work_and_do_no_more,
        scenarios.of_homes_and_temporary_folders_only_what_it_runs_from_is_shown,
        scenarios.a_killed_worker_is_replaced_with_all_that_it_left,
        scenarios.a_killed_main_process_is_started_again_and_its_tasks_recovered,
        scenarios.stopped_while_busy_it_is_given_the_time_it_asks_for,
        scenarios.what_a_drain_cuts_off_is_no_failure_and_runs_again,
        scenarios.a_main_process_that_hangs_is_ended_by_the_watchdog,
        scenarios.reloading_brings_new_code_while_tasks_run,
        scenarios.reloading_broken_code_fails_and_changes_nothing,
        scenarios.a_handler_that_cannot_be_imported_is_not_tried_for_ever,
        scenarios.a_folder_without_rights_is_told_in_one_line,
        instances.an_instance_gets_its_password_from_a_credential,
        scenarios.nothing_was_lost,
    )
}


def play(scene: Scene, name: str, scenario: Scenario) -> None:
    began, error = time.monotonic(), ""
    try:
        scenario(scene)
    except Exception:
        said = subprocess.run(
            ["journalctl", "-n", "60", "-o", "cat", "-u", "holdfast*"], capture_output=True, text=True
        )
        error = f"{traceback.format_exc()}\n{said.stdout}"
        scene.mended()
    print(json.dumps({"name": name, "error": error, "seconds": round(time.monotonic() - began, 1)}), flush=True)


def main() -> None:
    scene = prepare()
    for name, scenario in SCENARIOS.items():
        play(scene, name, scenario)


if __name__ == "__main__":
    main()
