"""The text of a kind of errors: failures that differ only in variable parts have the same."""

from __future__ import annotations

import random
import string
import time
from uuid import UUID

import pytest

from holdfast.core.error_kinds import LONGEST, ErrorKind, kind_text, place_of, without_variables
from holdfast.core.outcomes import Failure

MESSAGES = {
    "customer 17 not found": "customer # not found",
    "customer -5 not found": "customer # not found",
    "order 'a-17' of \"bob's\" failed": "order … of … failed",
    "order 'a\\'b' failed": "order … failed",
    "don't do 3, can't do 4": "don't do #, can't do #",
    "<Order object at 0x7f3a2b1c>": "<Order object at #>",
    "550e8400-e29b-41d4-a716-446655440000 is gone": "# is gone",
    "abcdabcd-abcd-abcd-abcd-abcdabcdabcd is gone": "# is gone",
    "it took longer than 1.5 s": "it took longer than # s",
    "1e-7 is too small": "# is too small",
    "[1, 2, 3] is not ['a', 'b']": "[#] is not […]",
    "node3 is down": "node# is down",
    "customer cus_Nf8aKb3 is gone": "customer cus_# is gone",
    "no commit abc123def4": "no commit #",
    "HTTP 503 for https://shop/api/orders/17?page=9": "HTTP # for …",
    "550 mailbox alice@bounce.example unavailable": "# mailbox … unavailable",
    "cannot write to <o'neil+x@a.b>, <bob@c>": "cannot write to <…>, <…>",
    "redis://user:secret@cache:6379/0: timed out": "…: timed out",
    "[Errno 2] no such file: /srv/app/4711/in.csv": "[Errno #] no such file: …",
    "no ../in.csv, ~/in.csv, a/b/c, uploads/in.csv, C:\\in\\a.csv or \\\\host\\in": "no … or …",
    "connect to db-3.shop.internal:5432 refused": "connect to … refused",
    "connect to localhost:80, cache:6379, 10.0.0.7:80, [::1]:6379": "connect to localhost:#",
    "no route to 10.0.0.7": "no route to #",
    "no route to fe80::8a2e:370:7334 or ::1": "no route to … or …",
    "read and/or write: 3 km/h, </div> at 17:30 or 2 / 3": "read and/or write: # km/h, </div> at #:# or # / #",
    "std::bad_alloc in tasks.run: 404": "std::bad_alloc in tasks.run: #",
    "2026-11-27T22:50:00.123Z": "#-#-#:#:#.#",
    "cut in 'the middle of": "cut in …",
    "no such file: invoice.pdf": "no such file: invoice.pdf",
    "Größe 12 ≠ 13": "Größe # ≠ #",
    "": "",
}


@pytest.mark.parametrize("message", MESSAGES)
def test_numbers_ids_and_quoted_values_are_no_part_of_a_kind(message: str) -> None:
    assert without_variables(message) == MESSAGES[message]


TRACEBACK = """Traceback (most recent call last):
  File "/srv/app/releases/20261127/shop/tasks.py", line {}, in charge
    pay(order)
  File "/srv/app/releases/20261127/shop/billing/sums.py", line {}, in <lambda>
    json.loads(text)
  File "/usr/lib/python3.11/json/decoder.py", line 3, in decode
    raise ValueError
ValueError: x
"""


def test_the_place_is_the_innermost_function_of_the_users_code() -> None:
    assert place_of(TRACEBACK.format(7, 9)) == place_of(TRACEBACK.format(8, 12)) == "billing.sums:<lambda>"
    assert place_of('  File "/usr/lib/python3.11/json/decoder.py", line 3, in x') == "json.decoder:x"
    assert place_of('  | File "/srv/4711/tasks.py", line 3, in x') == "#.tasks:x"
    assert place_of("no frames") == ""


def test_a_text_has_three_short_lines() -> None:
    text = kind_text(Failure("A\nB" + "t" * 300, "line one\nline two " + "m" * 900, TRACEBACK.format(1, 2)))
    lines = text.split("\n")
    assert lines[0].startswith("A B")
    assert lines[1] == "billing.sums:<lambda>"
    assert lines[2].startswith("line one line")
    assert all(len(line) <= LONGEST for line in lines)
    assert len(lines) == 3


def test_whatever_stands_in_the_variable_parts_the_kind_is_the_same() -> None:
    dice = random.Random(1)
    word = string.ascii_letters + string.digits + " -_.:/#äß\\"

    def value() -> str:
        number = str(dice.choice([dice.randrange(10**6), -dice.randrange(10**3), dice.random(), 1e-9 * dice.random()]))
        quoted = repr("".join(dice.choices(word, k=dice.randrange(30))))
        name = "".join(dice.choices(string.ascii_letters + "-_+", k=dice.randrange(1, 9)))
        addresses = [f"{name}@{name}.example", f"https://{name}/a?b={number}", f"/srv/{name}", f"{name}.example:80"]
        return dice.choice(
            [number, quoted, *addresses, str(UUID(int=dice.getrandbits(128))), hex(dice.getrandbits(40))]
        )

    def message(values: int) -> str:
        return " and ".join(f"the thing {value()} was refused" for _ in range(values))

    for _ in range(2000):
        number = dice.randrange(4)
        one, other = (without_variables(message(number)).replace("…", "#") for _ in range(2))
        assert one == other


@pytest.mark.parametrize(("course", "is_spread"), [((0, 9), False), ((1, 0, 2), True), ((), False)])
def test_a_course_says_something_only_with_several_steps(course: tuple[int, ...], is_spread: bool) -> None:
    assert ErrorKind("k", "mail", "E", "", "", 1, 0, 0, 1, 1, "t", course).is_spread is is_spread


def test_no_message_takes_long_or_fails() -> None:
    dice = random.Random(2)
    hard = ["@", "/", ":", "://", *"'\"`\\1a_-.,e #…\né\ud800", "f0"]
    for _ in range(300):
        piece = "".join(dice.choices(hard, k=dice.randrange(1, 6)))
        begun = time.process_time()
        kind_text(Failure("E", (piece * 1024)[:1024], f'  File "{piece}", line 1, in x\n' * 40))
        assert time.process_time() - begun < 0.5  # usually a thousandth of it
