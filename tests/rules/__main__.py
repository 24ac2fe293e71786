"""Take one rule at a time out of a copy of the tree; the test that is named must notice.

`python -m tests.rules [PART OF A NAME]` says of each rule: noticed, survived, or that its text is not found once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.rules.copy import Copy
from tests.rules.rules import RULES


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    unnoticed = 0
    with TemporaryDirectory(prefix="holdfast-") as folder:
        copy = Copy(Path(folder))
        for rule in RULES:
            if wanted in rule.name:
                verdict = copy.without(rule)
                unnoticed += verdict != "noticed"
                print(f"{rule.name:60} {verdict}", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
