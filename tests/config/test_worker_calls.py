"""A handler can be a call with literals; nothing is evaluated."""

from __future__ import annotations

import pytest

from holdfast_config.handler_call import WorkerCall, read_call


def test_arguments_are_literals() -> None:
    assert read_call("pkg.mod:Worker('A:A:B', 3, retries=[1, -2], names={'a': None})") == WorkerCall(
        "pkg.mod:Worker", ("A:A:B", 3), {"retries": [1, -2], "names": {"a": None}}
    )
    assert read_call("m:Worker()") == WorkerCall("m:Worker")


@pytest.mark.parametrize(
    "text",
    [
        "m:Worker(open('/etc/passwd'))",
        "m:Worker(__import__('os').system('id'))",
        "m:Worker(f'{1 + 1}')",
        "m:Worker(A)",
        "m:Worker(*'AB')",
        "m:Worker(**{'a': 1})",
        "m:Worker('A')('B')",
        "m:Worker('A').run()",
        "m:Worker('A'), exit()",
        "m:Worker('A'",
        "m:Worker('A'))",
        "m:Worker(" + "(" * 1000 + ")" * 1000 + ")",
        "m:Worker('\\0')".replace("\\0", "\0"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_call(text)
