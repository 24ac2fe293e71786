"""Keeps root from running code that other users can change: the handler, modules that it imports from its folder, and
settings that name the handler.

This check imports nothing. It looks for the handler's module in the places where the import would look. It checks the
module's packages, their compiled code, and every folder on the way.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from holdfast.errors import HandlerError
from holdfast.handler.command import command_line
from holdfast.handler.named_handler import module_of
from holdfast_config import Settings
from holdfast_config.environment import search_path
from holdfast_config.file_trust import Stranger, concerns_caller, strangers

REMEDY = (
    "start Holdfast as the owner of the code, or make root its owner (chown -R root); in a container, name the folder "
    "in HOLDFAST_TRUST_FOLDERS"
)

_NAME = re.compile(r"""[^\s'"`;|&()<>$=]+""")


def foreign_code(settings: Settings) -> list[Stranger]:
    """The files and folders by which users other than root can change the code that root would run with these settings.
    Empty if the caller is not root. Raises HandlerError if the settings name no handler that could be found."""
    if not concerns_caller():
        return []
    try:
        return list(strangers([*settings.files, *_code(settings)], settings.trust_folders))
    except FileNotFoundError:  # the working folder is gone, and the handler was in it
        return []


def refusal(settings: Settings) -> str:
    """The reason why root does not run the named code, and the remedy; empty if root runs it."""
    found = next(iter(foreign_code(settings)), None)
    return f"{found}, and root would run it with all rights: {REMEDY}" if found else ""


def refuse(settings: Settings) -> None:
    """Raise HandlerError if other users can change the code. From now on, imports of modules in the handler's folder
    fail if other users can change these modules."""
    if why := refusal(settings):
        raise HandlerError(why)
    if concerns_caller() and settings.exec is None:
        finder = _OwnModules(settings.app_dir.resolve(), settings.trust_folders)
        if finder not in sys.meta_path:
            sys.meta_path.insert(0, finder)


def _code(settings: Settings) -> Iterator[Path]:
    if settings.exec is not None:
        yield from _files_of_command(command_line.find(settings.exec, search_path()))
        return
    folder = settings.app_dir.resolve()
    yield settings.app_dir
    yield from _files_of(module_of(settings.handler, settings.app_dir), folder)


def _files_of_command(command: command_line.Command) -> Iterator[Path]:
    """The files that decide what a command runs: its working folder, its program, and the files and programs on its
    line. Examples are an interpreter's script, `name=file`, and the program behind `env` or `timeout`."""
    yield Path.cwd()
    seen = set[Path]()
    yield from _files_of_program(command.path, seen)
    yield from _files_of_words(command.words[1:], seen)


def _files_of_words(words: Sequence[str], seen: set[Path]) -> Iterator[Path]:
    for name in dict.fromkeys(name for word in words for name in _names_in(word)):
        with suppress(OSError, ValueError):  # the name is too long, or no name of a file
            if Path(name).is_file():
                yield from _files_of_program(Path(name), seen)
            elif os.sep not in name and (found := shutil.which(name, path=search_path())):
                yield from _files_of_program(Path(found), seen)


def _names_in(word: str) -> Iterator[str]:
    """The parts of a word that may name a file or a program. Examples of words: `-Spython3`, `sh -c "./work.sh; true"`,
    `BASH_ENV=work.sh`."""
    yield from (name for name in (word, word.partition("=")[2], word.removeprefix("-S")) if name)
    yield from _NAME.findall(word)


def _files_of_program(path: Path, seen: set[Path]) -> Iterator[Path]:
    """The program itself. For a script also its folder, because interpreters load code from there, and all files that
    its first line names. An interpreter may be a script as well. The kernel resolves a relative path of an interpreter
    from the working folder."""
    yield path
    words = command_line.interpreter_words(path)
    if not words or path.absolute() in seen:
        return
    seen.add(path.absolute())
    yield Path(os.path.realpath(path)).parent
    yield from _files_of_program(Path(words[0]), seen)
    yield from _files_of_words(words[1:], seen)


def _files_of(module: str, folder: Path) -> Iterator[Path]:
    """The files that an import of the module runs first."""
    search: Sequence[str] | None = [str(folder), *sys.path]
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, search) or (None if "." in name else _elsewhere(name))
        if spec is None:
            return
        yield from files_of_spec(spec)
        search = spec.submodule_search_locations
        if search is None:
            return


def _elsewhere(name: str) -> ModuleSpec | None:
    """A module that only other finders know, for example of an editable installation. For a name without a dot this
    imports nothing."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def files_of_spec(spec: ModuleSpec) -> Iterator[Path]:
    """The files of a module, and the folders of its submodules."""
    if spec.has_location and spec.origin:
        yield Path(spec.origin)
        if spec.cached:
            yield Path(spec.cached)
    for folder in spec.submodule_search_locations or ():
        yield Path(folder)


@dataclass(frozen=True)
class _OwnModules(MetaPathFinder):
    """An import hook that only refuses: an import of a module in this folder fails if other users can change the
    module."""

    folder: Path
    trusted: tuple[Path, ...]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if not concerns_caller():
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        files = list(files_of_spec(spec)) if spec else []
        inside = [each for each in files if Path(os.path.realpath(each.parent), each.name).is_relative_to(self.folder)]
        for found in strangers(inside, self.trusted):
            raise ImportError(f"{found}, and root would run it with all rights: {REMEDY}")
        return None
