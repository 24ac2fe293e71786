"""Operations as producers build them, from their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.core import envelope
from holdfast.core.envelope import Built, encode_message
from holdfast.core.messages import Part


def build_run(
    task_id: str, parts: Sequence[Part], *, metadata: Mapping[str, object] | None = None, **options: Any
) -> Built:
    """The operation of a run with these parts; `options` of `envelope.build_run`."""
    return envelope.build_run(task_id, encode_message(parts, metadata), **options)
