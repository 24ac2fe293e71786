"""Annotations of arguments are looked up once the import is over; what nobody knows is refused with its name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from holdfast.errors import HandlerError
from holdfast.handler.converters import MisfitError
from holdfast.handler.handler import Handler
from holdfast.handler.named_handler import resolve

BEGINNING = """
from typing import Annotated, Literal, Optional, TypedDict, TYPE_CHECKING
from dataclasses import dataclass
from pydantic import BaseModel
import msgspec
from holdfast import Handlers
handlers = Handlers()
"""
FUTURE = "from __future__ import annotations\n"
MODEL = "class Order(BaseModel):\n    sku: str\n"
DATACLASS = "@dataclass\nclass Order:\n    sku: str\n"
STRUCT = "class Order(msgspec.Struct):\n    sku: str\n"
TYPED = "class Order(TypedDict):\n    sku: str\n"


def ship(annotation: str) -> str:
    return f"@handlers.register('ship')\nasync def ship(order: {annotation}): return order\n"


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Any]:
    name = f"annotated_{uuid4().hex}"

    def made(source: str) -> Handler:
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
        return resolve(f"{name}:handlers", tmp_path)

    yield made
    sys.modules.pop(name, None)
    sys.path.remove(str(tmp_path))


def fit(handler: Handler, order: object) -> Any:
    return handler.named["ship"].signature.fit({"order": order})["order"]


@pytest.mark.parametrize("below", [MODEL, DATACLASS, STRUCT, TYPED], ids=["model", "dataclass", "struct", "typed"])
@pytest.mark.parametrize("written", ["Order", "'Order'"])
def test_a_class_below_its_handler_converts_and_checks(module: Any, below: str, written: str) -> None:
    handler = module(FUTURE + BEGINNING + ship(written) + below)
    made = fit(handler, {"sku": "A-7"})
    assert type(made).__name__ == ("dict" if below is TYPED else "Order")
    with pytest.raises(MisfitError, match="order"):
        fit(handler, {"nonsense": 1})


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("list['Order']", [{"sku": "A-7"}]),
        ("Optional['Order']", {"sku": "A-7"}),
        ("'dict[str, list[Order]]'", {"a": [{"sku": "A-7"}]}),
        ("Annotated['Order', 'a note']", {"sku": "A-7"}),
    ],
)
@pytest.mark.parametrize("is_above", [True, False], ids=["above", "below"])
def test_a_name_inside_an_annotation_is_looked_up(module: Any, written: str, value: object, is_above: bool) -> None:
    parts = [MODEL, ship(written)] if is_above else [ship(written), MODEL]
    handler = module(BEGINNING + "".join(parts))
    assert "Order" in repr(fit(handler, value)) or "sku='A-7'" in repr(fit(handler, value))
    with pytest.raises(MisfitError, match="order"):
        fit(handler, 7)


@pytest.mark.parametrize(
    ("source", "unknown"),
    [
        (ship("Order"), "order: Order"),
        ("if TYPE_CHECKING:\n    from orders import Order\n" + ship("list[Order] | None"), "order: list"),
        ("class Order(BaseModel):\n    lines: list[Line]\n" + ship("Order"), "a field of Order"),
        ("@dataclass\nclass Order:\n    lines: list[Line]\n" + ship("list[Order]"), "Line in Order"),
        ("class Order(msgspec.Struct):\n    line: Line\n" + ship("Order"), "Line in Order"),
        ("class Order(TypedDict):\n    line: Line\n" + ship("Order"), "Line in Order"),
    ],
    ids=["missing", "for-type-checkers", "model", "dataclass", "struct", "typed"],
)
def test_what_nobody_knows_is_refused_with_its_name(module: Any, source: str, unknown: str) -> None:
    with pytest.raises(HandlerError) as refused:
        module(FUTURE + BEGINNING + source)
    assert "'ship'" in str(refused.value)
    assert unknown in str(refused.value)


@pytest.mark.parametrize("written", ["Annotated[int, Note]", "Annotated[list[int], list[Note]]", "Order"])
def test_a_note_of_an_annotation_is_not_looked_into(module: Any, written: str) -> None:
    note = "@dataclass\nclass Note:\n    about: 'Nowhere'\n"
    order = "@dataclass\nclass Order:\n    sku: Annotated[int, Note]\n"
    assert not module(BEGINNING + note + order + ship(written)).named["ship"].signature.unknown


@pytest.mark.parametrize(
    "written", ["int", "object", "Literal['a', 'b']", "Annotated[int, 'a note']", "dict[str, object] | None"]
)
def test_a_text_that_is_no_name_is_none(module: Any, written: str) -> None:
    module(BEGINNING + ship(written))


def test_a_producer_checks_against_a_class_below_the_handler(module: Any) -> None:
    module(FUTURE + BEGINNING + ship("Order") + MODEL)
    registered = next(
        m for n, m in sys.modules.items() if n.startswith("annotated_") and hasattr(m, "handlers")
    ).handlers
    assert not registered.named()["ship"].signature.unknown
