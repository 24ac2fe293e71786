"""Results of parents: what the tasks that a task was submitted after have ended with. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.core.outcomes import Failure
from holdfast.core.result_document import failure_in, read_result
from holdfast.core.task_states import State
from holdfast.errors import ParentResultError

MOST_BYTES = 16 << 20  # of the results of one task's parents that a worker reads


@dataclass(frozen=True, slots=True)
class ParentResult:
    """The end of a parent. `state`: None if another program has deleted its record before its end was noted; `reason`:
    why it did not complete.

    `document`: its result as the store has it, of `size` bytes; None if it was not read.
    """

    task_id: str
    state: State | None
    has_ended: bool = True
    reason: str = ""
    document: bytes | None = None
    size: int = 0

    @property
    def value(self) -> Any:
        """The value that its handler returned, as `record.value` gives it; None if it did not complete and said
        nothing. Raises ParentResultError if the result cannot be had."""
        if flaw := self._flaw():
            raise ParentResultError(f"parent {self.task_id}: {flaw}")
        return read_result(self.document).value

    @property
    def error(self) -> Failure | None:
        """The exception, or the reason, that it failed or was rejected with."""
        return failure_in(self.document)

    def _flaw(self) -> str:
        if self.state is None:
            return "its record was deleted by another program"
        if not self.has_ended:
            return f"it has not ended: it is {self.state}"
        if self.size and self.document is None:
            return (
                f"its result of {self.size} bytes was not read, as the results of the parents of one task are larger "
                f"than {MOST_BYTES >> 20} MiB together: let parents keep large values elsewhere and return their "
                "address"
            )
        if self.state is State.COMPLETED and not self.size:
            return "its result was deleted by another program"
        return ""
