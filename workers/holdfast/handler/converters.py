"""Checks the JSON arguments of named handlers against their annotations, and converts them.

pydantic converts the types that it knows (numbers, texts, dates, dataclasses, typed dicts, its own models); msgspec
converts its Structs. A parameter without an annotation gets the JSON value. So does a parameter whose type neither
library knows. A value that already has exactly the type of its parameter is passed unchanged if the type is in PLAIN:
pydantic would not change it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, get_args, get_origin

import msgspec

from holdfast.core.plain_json import shown
from holdfast.errors import ReturnedValueError

Convert = Callable[[Any], Any]
PLAIN = (str, int, float, bool)
_GENERATORS = (AsyncGenerator, AsyncIterator, Iterator)
SHOWN = 5  # mismatches named in one reason


class MisfitError(ValueError):
    """A handler cannot be called with these arguments; the message names them and says why, in one line."""


def converters(parameters: Iterable[inspect.Parameter]) -> dict[str, Convert]:
    """The converters of these parameters by name. A converter is slow to make, so it is made when it is first used, or
    by `prepare`."""
    home: dict[str, Convert] = {}
    for one in parameters:
        if is_converted(one.annotation):
            home[one.name] = _Unmade(home, one.name, one.annotation)
    return home


def prepare(convert: Mapping[str, Convert]) -> None:
    """Make the converters that are not made yet."""
    for unmade in [each for each in convert.values() if isinstance(each, _Unmade)]:
        unmade.make()


def returned_by(function: Callable[..., object]) -> Convert:
    """A function that converts JSON values to the type of the return annotation of `function`. It reads the annotation
    at the first call. It raises ReturnedValueError for a value that does not fit."""
    made: list[Convert] = []

    def convert(value: Any) -> Any:
        if not made:
            made.append(_return_converter(function))
        try:
            return made[0](value)
        except _MismatchError as mismatch:
            place, why = mismatch.places[0]
            name = getattr(function, "__qualname__", "the handler")
            raise ReturnedValueError(
                f"{shown(value)} does not fit the return annotation of {name}{place}: {why}"
            ) from None

    return convert


def _return_converter(function: Callable[..., object]) -> Convert:
    try:
        annotation = inspect.signature(function, eval_str=True).return_annotation
    except Exception:  # only type checkers know a name in it
        return _unchanged
    if get_origin(annotation) in _GENERATORS:
        annotation = get_args(annotation)[0]  # the last value is the result
    return _converter(annotation) if is_converted(annotation) else _unchanged


class _Unmade:
    """Stands in place of a converter, and makes it at its first use."""

    __slots__ = ("_annotation", "_home", "_name")

    def __init__(self, home: dict[str, Convert], name: str, annotation: Any) -> None:
        self._home, self._name, self._annotation = home, name, annotation

    def make(self) -> Convert:
        made = self._home[self._name] = _converter(self._annotation)
        return made

    def __call__(self, value: Any) -> Any:
        return self.make()(value)


def _converter(annotation: Any) -> Convert:
    by = _by_msgspec if has_struct(annotation) else _by_pydantic
    made = by(annotation) or _unchanged
    return _unless_plain(annotation, made) if any(annotation is plain for plain in PLAIN) else made


def _unless_plain(plain: type, convert: Convert) -> Convert:
    return lambda value: value if type(value) is plain else convert(value)


def _unchanged(value: Any) -> Any:
    return value


def convert_all(convert: Mapping[str, Convert], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """The arguments as the handler gets them. Raises MisfitError, and any error of the user's own validators."""
    fitting: dict[str, Any] = dict(kwargs)
    misfits: list[str] = []
    for name, value in kwargs.items():
        try:
            if (convert_one := convert.get(name)) is not None:
                fitting[name] = convert_one(value)
        except _MismatchError as mismatch:
            misfits += [f"{name}{place}: {why}" for place, why in mismatch.places]
    if misfits:
        more = f" and {len(misfits) - SHOWN} more" if len(misfits) > SHOWN else ""
        raise MisfitError(f"argument {'; '.join(sorted(misfits)[:SHOWN])}{more}")
    return fitting


class _MismatchError(Exception):
    def __init__(self, places: list[tuple[str, str]]) -> None:
        super().__init__(places)
        self.places = places


def is_converted(annotation: Any) -> bool:
    return not (annotation is inspect.Parameter.empty or isinstance(annotation, str) or annotation in (Any, object))


def has_struct(annotation: Any) -> bool:
    is_struct = isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)
    return is_struct or any(map(has_struct, get_args(annotation)))


def _by_msgspec(annotation: Any) -> Convert:
    def convert(value: Any) -> Any:
        try:
            return msgspec.convert(value, annotation)
        except msgspec.ValidationError as error:
            why, _, place = str(error).partition(" - at `$")
            raise _MismatchError([(place.removesuffix("`"), why)]) from None

    return convert


def _typed_dict(annotation: Any) -> Convert | None:
    """A converter by msgspec, because pydantic does not accept `typing.TypedDict` before Python 3.12. None if msgspec
    does not accept it, either."""
    try:
        msgspec.json.Decoder(annotation)
    except TypeError:
        return None
    return _by_msgspec(annotation)


def _by_pydantic(annotation: Any) -> Convert | None:
    import pydantic  # only if there is an annotation, because this import is slow
    from pydantic.errors import PydanticUserError

    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(annotation)
    except NameError:
        return None
    except PydanticUserError as error:
        return _typed_dict(annotation) if error.code == "typed-dict-version" else None

    def convert(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except pydantic.ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            raise _MismatchError(
                [("".join(f".{step}" for step in one["loc"]), one["msg"]) for one in problems]
            ) from None

    return convert
