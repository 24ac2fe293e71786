"""Commands that carry out one act of an operator: made of its definition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType, NoneType
from typing import Any, TypeVar

import click
import msgspec
import rich_click

from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import operate
from holdfastd.operations.act import Act
from holdfastd.operations.reading import description_of, kinds_of

R = TypeVar("R")

NO_OWN: Mapping[str, options.Decorator[Any]] = MappingProxyType({})


def command_of(
    act: Act[Any, R],
    name: str,
    words: Callable[[R], str],
    epilog: str,
    left_out: Collection[str] = (),
    own: Mapping[str, options.Decorator[Any]] = NO_OWN,
) -> click.Command:
    """An argument without a default is one of the command; each other is an option. `words`: the answer for people;
    `left_out`: arguments that the command does not take; `own`: options that it reads in its own way."""

    @arguments_of(act, left_out, own)
    @options.store
    @options.pass_session
    def carry_out(session: Session, /, **given: Any) -> None:
        print_answer(session, operate(session, act, given_of(given)), words)

    return rich_click.command(name, help=act.help, epilog=epilog)(carry_out)


def arguments_of(
    act: Act[Any, Any], left_out: Collection[str] = (), own: Mapping[str, options.Decorator[Any]] = NO_OWN
) -> options.Decorator[Any]:
    """The arguments and options of a command that carries the act out, and does something beside it."""

    def add(command: Any) -> Any:
        for field in reversed([each for each in act.fields if each.name not in left_out]):
            command = (own.get(field.name) or _parameter(field))(command)
        return command

    return add


def given_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given."""
    return {name: value for name, value in values.items() if value not in (None, ())}


def print_answer(session: Session, answer: R, words: Callable[[R], str]) -> None:
    if session.json:
        output.document(answer)
    else:
        output.text(words(answer))


def refusals(answers: Mapping[str, object]) -> list[HoldfastError]:
    """The errors among the answers of `operate_each`."""
    return [answer for answer in answers.values() if isinstance(answer, HoldfastError)]


def print_purged(session: Session, purged: int, refused: Collection[HoldfastError]) -> int:
    """Print the refusals and the number of what was deleted; returns the exit status."""
    for each in refused:
        output.note(str(each))
    print_answer(session, {"purged": purged}, lambda answer: f"{answer['purged']} deleted")
    return Exit.FAILED if refused else Exit.OK


def _parameter(field: msgspec.structs.FieldInfo) -> options.Decorator[Any]:
    if field.required:
        return click.argument(field.name)
    names, help_ = [options.flag(field.name), field.name], description_of(field.type)
    kinds = kinds_of(field.type)
    if bool in kinds:
        return click.option(*names, is_flag=True, default=None, help=help_)
    if NoneType in kinds:
        help_ = f"{help_} `none`: no limit."
    return click.option(*names, help=help_, metavar=field.name.upper())
