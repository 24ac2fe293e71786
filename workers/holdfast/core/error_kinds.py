"""Kinds of errors. Failures are of the same kind if handler, type of the error, place in the code, and message are the
same. Numbers, ids, addresses, paths and quoted values in the message are not compared.

Theory of operation. A worker makes the text of a kind when it settles a run that failed; a run that succeeds makes
none. The script that settles adds the handler and takes a digest of both (`kinds_of_errors.lua`). The digest is the
kind's id, which lists, searches and bulk changes take as a filter.

Warning. Two failures that differ only in such a variable part must give the same text. So the place names no line: an
edit above the place must not make a new kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.core.outcomes import Failure

LONGEST = 120  # characters of each part of a text
KINDS = 200  # kinds of one handler; further failures of the handler count as the kind `other` (see kinds_of_errors.lua)

_FRAME = re.compile(r'^[ |]*File "([^"\n]+)", line \d+, in (.+)$', re.MULTILINE)
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen", "/holdfast/handler/", "/holdfast/worker/")
_SUFFIX = re.compile(r"\.pyc?$")

# A name is a part of an address. An address ends at a space, a quote or a bracket, and before a mark of punctuation.
_NAME = r"""[^\s'"`<>()\[\]{},;:=@/\\]"""
_ADDRESS = r"""(?P<address> (?<!NAME) (?:
        NAME++ (?: (?: ' NAME++ )*+ @ NAME | :// )               # an e-mail address, a URL
        | (?<!<) (?: ~ | \.\.? | NAME++ / NAME++ )? / (?= NAME)  # a path from a root, or of three parts and more
        | NAME++ / NAME* \. (?= [a-z] )                          # a folder, and a file with a suffix
        | (?: [a-z]: | \\ ) \\                                   # a path of Windows
        | (?= [^\s:.]++ \. ) NAME++ : (?= \d++ (?!\w) )          # a host with its domain, or an IP address; a port
        | (?: NAME++ | \[ [0-9a-f:.]++ \] ) : (?= \d{4,5} (?!\w) )
        | (?= [0-9a-f]*+ : [0-9a-f]*+ : ) (?: [0-9a-f]{0,4}+ : ){2,7} (?= [0-9a-f]{0,4} (?!\w) )  # an address of IPv6
    ) (?: [^\s'"`<>,;]* [^\s'"`<>,;.:!?()\[\]{}] )? ) |""".replace("NAME", _NAME)
_SIGN = re.compile(r"[@/\\]|:[:\w]")  # each address has one; most messages have none, and are searched faster


def _variable(address: str) -> re.Pattern[str]:
    parts = r"""
    (?<!\w) (?P<quote>['"`]) (?: \\. | (?!(?P=quote)). )* (?: (?P=quote)(?!\w) | $ )
    | ADDRESS (?P<uuid> \b [0-9a-f]{8} (?: -[0-9a-f]{4} ){3} - [0-9a-f]{12} \b )
    | (?<![\w.]) -? (?P<number> \d+ (?: [.,]\d+ )* (?: e[+-]?\d+ )? ) (?!\w)
    | (?<!\w) (?= [a-z_]* \d ) (?P<word> \w+ )
    """.replace("ADDRESS", address)
    return re.compile(parts, re.VERBOSE | re.IGNORECASE | re.DOTALL | re.ASCII)


_VARIABLE, _VARIABLE_OR_ADDRESS = _variable("(?P<address>(?!)) |"), _variable(_ADDRESS)
_SEVERAL = re.compile(r"(?P<one>[#…])(?:, ?[#…])+")
_HEX = re.compile(r"(?:0x)?[0-9a-f]{6,}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """A kind of errors, as a store has counted it. `kind_id`: the value for the filter `error`. `place`: module and
    function of the user's code; empty if unknown. `message`: with `#` for each number or id, and `…` for each address,
    path or quoted value.

    `runs`: the runs that failed with it since `first_ms`. `failed`: the tasks that failed with it and were not retried.
    `dead`: the dead letters among these tasks. `latest`: the id of one of the tasks that failed last. `course`: how
    many tasks last failed with it, in equal steps of the period asked for.
    """

    kind_id: str
    handler: str
    type: str
    place: str
    message: str
    runs: int
    first_ms: int
    last_ms: int
    failed: int
    dead: int
    latest: str
    course: tuple[int, ...] = ()

    @property
    def is_spread(self) -> bool:
        """True if tasks failed in more than one step of the course."""
        return sum(1 for each in self.course if each) > 1


def kind_text(failure: Failure) -> str:
    """The text of the failure's kind: its type, its place and its message without variable parts, each on a line."""
    return "\n".join((_line(failure.type), place_of(failure.traceback), _line(without_variables(failure.message))))


def place_of(traceback: str) -> str:
    """The innermost frame of the user's code, as `module:function`. If there is none, the innermost frame in a library
    or in Holdfast; empty without frames."""
    innermost = ""
    for path, function in reversed(_FRAME.findall(traceback)):
        is_own = not any(part in path for part in _FOREIGN)
        if is_own or not innermost:
            innermost = _line(f"{_module(path)}:{function}")
        if is_own:
            break
    return innermost


def without_variables(message: str) -> str:
    """The message without its variable parts: `#` stands for a number or an id, `…` for an address, a path or a quoted
    value. A list of such parts becomes a single `#` or `…`."""
    variable = _VARIABLE_OR_ADDRESS if _SIGN.search(message) else _VARIABLE
    return _SEVERAL.sub(r"\g<one>", variable.sub(_mark, message))


def _module(path: str) -> str:
    """The last two parts of the file's path, which are the same on hosts with different folders."""
    return without_variables(".".join(_SUFFIX.sub("", path).rsplit("/", 2)[-2:]))


def _mark(found: re.Match[str]) -> str:
    if found["quote"] or found["address"]:
        return "…"
    return _name_in(found["word"]) if found["word"] else "#"


def _name_in(word: str) -> str:
    """The word with `#` for its variable part: `node3` → `node#`, `cus_9fA31` → `cus_#`, `9fa31` → `#`."""
    name = word.rstrip("0123456789")
    if name.isalpha() and not _HEX.fullmatch(word):
        return f"{name}#"
    return f"{word[: word.rfind('_') + 1].rstrip('0123456789')}#" if word[0].isalpha() and "_" in word else "#"


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST]
