"""Arguments of named handlers become what their annotations say, or the task is rejected with the field named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import msgspec
import pydantic
import pytest
from typing_extensions import TypedDict

from holdfast.core.outcomes import Completed, Raised, Rejected
from holdfast.handler.converters import PLAIN, MisfitError
from holdfast.handler.registry import Handlers
from holdfast.handler.signature import inspect_signature
from tests.handler.deliveries import delivery_of, document, run_handler

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]  # a name that is not there at run time

pytestmark = pytest.mark.anyio
ID = "6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d"


class Statement(pydantic.BaseModel):
    region: str
    lines: list[int] = []


class Line(msgspec.Struct):
    sku: str
    pieces: int = 1


class Place(TypedDict):
    city: str


@dataclasses.dataclass
class Amount:
    value: Decimal
    currency: Literal["EUR", "USD"] = "EUR"


class Stranger:
    """Nothing of this can be made from JSON."""


def stumble(_: object) -> object:
    raise RuntimeError("a slip")


def takes(annotation: Any) -> Callable[..., Any]:
    def handler(it: Any) -> Any:
        return it

    handler.__annotations__["it"] = annotation
    return handler


def given(annotation: Any, value: object) -> Any:
    return inspect_signature(takes(annotation), "the handler", named=True).fit({"it": value})["it"]


@pytest.mark.parametrize(
    ("annotation", "value", "got"),
    [
        (str, "eu", "eu"),
        (int, 3, 3),
        (int | None, None, None),
        (list[int], [1, 2], [1, 2]),
        (set[str], ["a", "a"], {"a"}),
        (datetime, "2030-01-31T12:00:00+00:00", datetime.fromisoformat("2030-01-31T12:00:00+00:00")),
        (date, "2030-01-31", date(2030, 1, 31)),
        (UUID, ID, UUID(ID)),
        (Statement, {"region": "eu", "lines": [1]}, Statement(region="eu", lines=[1])),
        (Amount, {"value": "1.50"}, Amount(Decimal("1.50"))),
        (Place, {"city": "Bonn"}, {"city": "Bonn"}),
        (Line, {"sku": "A-7"}, Line("A-7")),
        (list[Line], [{"sku": "A-7", "pieces": 2}], [Line("A-7", 2)]),
        (Any, {"whatever": 1}, {"whatever": 1}),
        (Stranger, "as it came", "as it came"),
    ],
)
def test_a_value_becomes_what_its_annotation_says(annotation: Any, value: object, got: object) -> None:
    made = given(annotation, value)
    assert made == got
    assert type(made) is type(got)


JSON: list[object] = [
    True,
    False,
    0,
    1,
    -1,
    2**63,
    10**30,
    0.0,
    1.0,
    2.5,
    -1e308,
    "",
    "ß",
    "3",
    "2.5",
    "true",
    None,
    [1],
]


@pytest.mark.parametrize("value", JSON, ids=repr)
@pytest.mark.parametrize("plain", PLAIN)
def test_a_plain_type_takes_what_pydantic_takes(plain: type, value: object) -> None:
    try:
        wanted: object = pydantic.TypeAdapter(plain).validate_python(value)
    except pydantic.ValidationError:
        with pytest.raises(MisfitError):
            given(plain, value)
    else:
        made = given(plain, value)
        assert (type(made), made) == (type(wanted), wanted)


@pytest.mark.parametrize(
    ("annotation", "value", "place"),
    [
        (int, "three", "it: "),
        (int, None, "it: "),
        (Annotated[int, pydantic.Field(gt=0)], 0, "it: Input should be greater than 0"),
        (Literal["eu", "us"], "fr", "it: "),
        (list[int], [1, "x"], "it.1: "),
        (Statement, {"lines": []}, "it.region: Field required"),
        (Statement, {"region": "eu", "lines": ["x"]}, "it.lines.0: "),
        (Amount, {"value": "1", "currency": "DM"}, "it.currency: "),
        (Place, {}, "it.city: Field required"),
        (Line, {"sku": 7}, "it.sku: Expected `str`, got `int`"),
        (list[Line], [{"sku": "a", "pieces": "b"}], "it[0].pieces: Expected `int`, got `str`"),
        (Line, "x", "it: Expected `object`, got `str`"),
    ],
)
def test_a_mismatch_names_the_field(annotation: Any, value: object, place: str) -> None:
    with pytest.raises(MisfitError) as misfit:
        given(annotation, value)
    assert str(misfit.value).startswith(f"argument {place}")
    assert "\n" not in str(misfit.value)


def test_several_mismatches_are_named_up_to_a_bound() -> None:
    with pytest.raises(MisfitError, match=r"it\.0.*it\.1.*; it.* and 35 more$"):
        given(list[int], ["x"] * 40)


def test_what_cannot_be_looked_up_is_passed_as_it_came() -> None:
    def handler(known: int, unknown: Unknown) -> None: ...

    signature = inspect_signature(handler, "the handler", named=True)
    assert signature.fit({"known": "2", "unknown": "as it came"}) == {"known": 2, "unknown": "as it came"}
    with pytest.raises(MisfitError, match="known"):
        signature.fit({"known": "x", "unknown": 1})


def call_of(**kwargs: object) -> list[dict[str, Any]]:
    return [{"kind": "data", "data": {"name": "bill", "kwargs": kwargs}}]


async def test_a_mismatch_rejects_the_task_and_nothing_runs() -> None:
    handlers, ran = Handlers(), list[object]()

    @handlers.register("bill")
    async def bill(region: str, lines: list[Line], at: datetime | None = None) -> str:
        ran.append(lines)
        return f"{region} {lines[0].sku} {at and at.year}"

    handler = handlers.frozen("tests:handlers")
    misfit = await run_handler(handler, delivery_of(call_of(region=7, lines=[{"pieces": 1}])))
    assert isinstance(misfit, Rejected)
    assert misfit.reason.startswith("argument lines[0]: Object missing required field `sku`; region: ") or (
        "lines" in misfit.reason and "region: " in misfit.reason
    )
    assert document(misfit)["error"]["type"] == "BadArguments"
    assert not ran
    fitting = call_of(region="eu", lines=[{"sku": "A-7"}], at="2030-01-31T12:00:00Z")
    answered = await run_handler(handler, delivery_of(fitting))
    assert isinstance(answered, Completed)
    assert document(answered)["parts"][0]["text"] == "eu A-7 2030"


async def test_what_a_validator_of_the_users_raises_is_an_error_of_its_task() -> None:
    handlers = Handlers()

    @handlers.register("bill")
    async def bill(it: Annotated[str, pydantic.BeforeValidator(stumble)]) -> None: ...

    outcome = await run_handler(handlers.frozen("tests:handlers"), delivery_of(call_of(it="x")))
    assert isinstance(outcome, Raised)
    assert (outcome.failure.type, outcome.failure.message) == ("RuntimeError", "a slip")
