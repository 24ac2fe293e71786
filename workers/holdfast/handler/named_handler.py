"""Finds the handler that an operator named."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from holdfast.errors import HandlerError
from holdfast.handler.failures import message_of, summary, user_traceback
from holdfast.handler.handler import Handler, Provider, callee
from holdfast.handler.registry import Handlers
from holdfast_config import ConfigError, Settings
from holdfast_config.found_files import is_file
from holdfast_config.handler_call import WorkerCall, is_call, read_call

DEFAULT_MODULE = "agent"
DEFAULT_TARGET = "agent:handle"

# Standard functions that gevent and eventlet replace, whichever parts of the library they are asked to patch.
_REPLACED = (
    ("socket", "socket"),
    ("select", "select"),
    ("time", "sleep"),
    ("_thread", "start_new_thread"),
    ("os", "fork"),
)
_REPLACED_BY = frozenset({"gevent", "eventlet"})

_TARGET = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def resolve(handler: str | None, app_dir: Path, settings: Settings | None = None) -> Handler:
    """The handler named `handler` ("module:attribute"). If the settings name no handler, and `app_dir` has an agent.py,
    the handler is `agent:handle`.

    `app_dir` is put first on the import path. A class may be called with literals: module:Worker("A:A:B"). Raises
    HandlerError if no handler is named or found, or if the import or the call of the class raises.
    """
    target, folder = target_of(handler, app_dir), app_dir.resolve()
    call = _call(target) if is_call(target) else None
    module, _, attribute = (call.target if call else target).partition(":")
    _put_first(str(folder))
    imported = _module(module, folder)
    _refuse_green_threads(module)
    target_value = _attribute(imported, attribute, target)
    return handler_from(_called(target_value, call) if call else target_value, target, settings)


def handler_from(target_value: object, target: str, settings: Settings | None = None) -> Handler:
    """Make a Handler from a function, a registry or a provider. Raises HandlerError for anything else."""
    if isinstance(target_value, Provider):
        return target_value.__handler__(target, settings)
    if isinstance(target_value, Handlers):
        return target_value.frozen(target)
    return Handler(target, callee(target_value, target, named=False))


def target_of(handler: str | None, app_dir: Path) -> str:
    """The handler's full name, found without an import. Raises HandlerError if no handler is named, or the name has a
    wrong form."""
    target = handler or _default_target(app_dir.resolve())
    if is_call(target) and _TARGET.fullmatch(_call(target).target):
        return target
    if _TARGET.fullmatch(target) is None:
        raise HandlerError(f"handler {target!a}: write it as module:attribute, as in {_suggestion(target)}")
    return target


def module_of(handler: str | None, app_dir: Path) -> str:
    """The name of the module that `resolve` imports. Raises HandlerError."""
    target = target_of(handler, app_dir)
    return (_call(target).target if is_call(target) else target).partition(":")[0]


def _call(target: str) -> WorkerCall:
    try:
        return read_call(target)
    except ValueError as error:
        raise HandlerError(f"handler {target!a}: {error}") from None


def _called(target_value: object, call: WorkerCall) -> object:
    """Call a worker class. Any other class is refused: an operator's text would decide its arguments."""
    if not isinstance(target_value, type) or not issubclass(target_value, Provider):
        raise HandlerError(f"{call.target} is no worker class of holdfast.timeline: name it without parentheses")
    try:
        return target_value(*call.arguments, **call.named)
    except BaseException as error:  # border to the user's code
        raise HandlerError(f"{call.target} cannot be made: {message_of(error)}", user_traceback(error)) from error


def _default_target(folder: Path) -> str:
    try:
        if is_file(folder / f"{DEFAULT_MODULE}.py"):
            return DEFAULT_TARGET
    except ConfigError as error:
        raise HandlerError(str(error)) from None
    raise HandlerError(
        "no handler: name one as module:attribute, as in `supervisor start agent:handlers`, or in HOLDFAST_HANDLER, "
        f"or as handler in supervisor.toml, or write {DEFAULT_MODULE}.py with a function handle in {folder}"
    )


def _suggestion(target: str) -> str:
    """The name that was probably meant. Most often the user gave a path, or left out the attribute."""
    module, _, attribute = target.partition(":")
    dotted = re.sub(r"\W+", ".", module.removesuffix(".py")).strip(".")
    return f"{dotted or DEFAULT_MODULE}:{attribute if attribute.isidentifier() else 'handle'}"


def _put_first(folder: str) -> None:
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
        # The finder of this folder may have seen it empty before. Other finders stay: forked workers share them.
        sys.path_importer_cache.pop(folder, None)


def _module(name: str, folder: Path) -> object:
    try:
        return importlib.import_module(name)
    except HandlerError as error:
        raise HandlerError(f"importing {name}: {error}", user_traceback(error)) from None
    except ModuleNotFoundError as error:
        if type(error.name) is str and f"{name}.".startswith(f"{error.name}."):
            raise HandlerError(f"no module {name} in {folder}, and none is installed") from None
        raise HandlerError(f"importing {name} failed: {message_of(error)}", user_traceback(error)) from error
    except BaseException as error:  # border to the user's code
        raise HandlerError(f"importing {name} failed: {summary(error)}", user_traceback(error)) from error


def _refuse_green_threads(name: str) -> None:
    """Raise HandlerError if the handler's import has patched the standard library (gevent, eventlet): event loops,
    threads and forks of a worker would fail."""
    for module, function in _REPLACED:
        origin = str(getattr(getattr(sys.modules.get(module), function, None), "__module__", ""))
        library = origin.partition(".")[0]
        if library in _REPLACED_BY:
            raise HandlerError(
                f"importing {name} monkey-patched the standard library with {library} ({module}.{function} is "
                "replaced), and workers need it unpatched: leave the patching out, and write coroutines, or "
                "plain functions, which run in threads"
            )


def _attribute(module: object, path: str, target: str) -> object:
    target_value = module
    for name in path.split("."):
        try:
            target_value = getattr(target_value, name)
        except AttributeError:
            file = getattr(module, "__file__", None)  # the import may have found another module of this name
            where = f" from {file}" if file else ""
            missing = f"{target}: the module was imported{where}, but it has no {name}"
            raise HandlerError(missing + _advice(module, target)) from None
        except BaseException as error:  # border to the user's code
            raise HandlerError(f"{target}: {name} failed: {summary(error)}", user_traceback(error)) from error
    return target_value


def _advice(module: object, target: str) -> str:
    """The words that name the first registry of the module; empty if it has none."""
    names = (name for name, value in getattr(module, "__dict__", {}).items() if isinstance(value, Handlers))
    return next((f": name {target.partition(':')[0]}:{name}" for name in names), "")
