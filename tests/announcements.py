"""The announcements of a service under test, as lines of JSON among those of its log."""

from __future__ import annotations

import json
import sys


def announce(text: str, level: str = "info") -> None:
    sys.stderr.write(json.dumps({"event": "announce", "line": text}) + "\n")  # in one piece: others write here too
    sys.stderr.flush()
