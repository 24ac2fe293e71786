"""Mutants that no test can notice, because they do what the product does; each with its reason.

The sampler names a mutant by its file, its function, and the line before and after the change. A reason says why no
input makes a difference. It is written by somebody who has not read the tests of the place.
"""

from __future__ import annotations

from collections.abc import Mapping

_OF_A_CLOCK = "two readings of a clock of nanoseconds never differ by exactly the bound; one look later is as good"
_OF_THE_HEAP = "the block that reaches the end of the heap is given back, be it at exactly this address or behind it"

EQUIVALENTS: Mapping[str, str] = {
    "workers/holdfast/store/ledger/replicate.py Replication._look_for_lost_requests: "
    "if monotonic() - self._looked >= LOOK: => if monotonic() - self._looked > LOOK:": _OF_A_CLOCK,
    "supervisor/holdfastd/parent/preload.py _use_up_free_memory: "
    "while (block := libc.malloc(size)) and block < end: => "
    "while (block := libc.malloc(size)) and block <= end:": _OF_THE_HEAP,
}
