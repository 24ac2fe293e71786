"""Signatures of the reference as programs see them: methods whose keywords are those of a class show each keyword.

An extension of griffe, which mkdocs.yml names. It looks only at functions that take `**` keywords.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import griffe

KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: griffe.ParameterKind.positional_only,
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.VAR_POSITIONAL: griffe.ParameterKind.var_positional,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
    inspect.Parameter.VAR_KEYWORD: griffe.ParameterKind.var_keyword,
}
MODULES = re.compile(r"\b(?:datetime\.(?=datetime)|collections\.abc\.|typing\.)")


class WholeSignatures(griffe.Extension):
    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        if any(each.kind is griffe.ParameterKind.var_keyword for each in func.parameters):
            found = [shown(each) for each in parameters(func)]
            func.parameters = griffe.Parameters(*found) if found else func.parameters


def parameters(func: griffe.Function) -> Iterator[inspect.Parameter]:
    """Those that `help()` shows, with the keys of a typed dict in place of its `**`; none if they are as written."""
    function = loaded(func.module.path, func.path)
    is_longer = hasattr(function, "__signature__") or any("Unpack[" in str(each.annotation) for each in func.parameters)
    for each in inspect.signature(function).parameters.values() if is_longer else ():
        if named := re.search(r"Unpack\[(\w+)\]", str(each.annotation)):
            path = func.resolve(named[1])
            yield from keywords(loaded(path.rpartition(".")[0], path))
        else:
            yield each


def loaded(module: str, path: str) -> Any:
    """What has this path; None if it cannot be had, such as a function inside another one."""
    found: Any = import_module(module)
    for name in path.removeprefix(f"{module}.").split("."):
        found = getattr(found, name, None)
    return found


def keywords(kind: type) -> Iterator[inspect.Parameter]:
    """The keys of a typed dict, with their types as they are written."""
    for key, text in kind.__annotations__.items():
        written = getattr(text, "__forward_arg__", str(text))
        yield inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=written)


def shown(each: inspect.Parameter) -> griffe.Parameter:
    written = each.annotation if isinstance(each.annotation, str) else inspect.formatannotation(each.annotation)
    annotation = None if each.annotation is each.empty else MODULES.sub("", written)
    default = None if each.default is each.empty else "..." if each.default is ... else repr(each.default)
    return griffe.Parameter(each.name, annotation=annotation, kind=KINDS[each.kind], default=default)
