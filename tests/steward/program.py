"""A steward as a program: `python -m tests.steward.program CHANNEL SETTINGS BOOT MOMENT`.

SETTINGS is JSON; BOOT is first or later; MOMENT is of `steward_deaths`, or empty for a steward that is not killed.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from holdfast_config import Settings
from holdfastd.steward import steward_process
from holdfastd.steward.steward_spec import StewardSpec
from tests.steward import deaths as steward_deaths

if __name__ == "__main__":
    descriptor, settings, boot, dies = sys.argv[1:]
    spec = StewardSpec(Settings(**json.loads(settings)), boot == "first")
    channel = socket.socket(fileno=int(descriptor))
    os._exit(steward_deaths.run(spec, channel, dies) if dies else steward_process.run(spec, channel))
