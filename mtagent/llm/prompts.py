"""Prompts are data: one TOML file per request, rendered into messages with the constant part first.

A prompt file holds ``version``, the parts of the ``[[system]]`` message, few-shot ``[[examples]]`` (``values`` and
``reply``), the parts of the last ``[[user]]`` message, and optionally the JSON ``schema`` of the reply. A part is
``text``, in which ``{{name}}`` stands for a variable, or ``quote``: a variable shown between tags that its text cannot
close (``<source-482913>``, with a code that depends on the text), after an optional ``label``. ``when = "name"``
shows a part or an example only if that variable is set, ``unless`` only if it is not. A variable that is missing is an
error before anything is sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from mtagent.errors import PromptError
from mtagent.records import Message, Record, Schema, Segment
from mtagent.text import languages

Values = Mapping[str, str | None]
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")
_SPACE = re.compile(r"\s+")


class Part(Record):
    """A piece of a message: ``text`` with variables, or the variable ``quote`` between tags after its ``label``."""

    text: str = ""
    label: str = ""
    quote: str | None = None
    when: str | None = None
    unless: str | None = None


class Example(Record):
    """A few-shot turn: the user message is rendered from ``values``, the assistant's is ``reply``.

    ``lp`` (``en-de``) is the language pair that it is for. Where no example is for the segment's pair, those with
    ``default`` are shown; examples without ``lp`` are always shown.
    """

    values: dict[str, str]
    reply: str
    lp: str | None = None
    default: bool = False
    when: str | None = None
    unless: str | None = None


class Prompt(Record):
    """A request to a model, ready to be rendered."""

    name: str
    version: str
    system: tuple[Part, ...]
    user: tuple[Part, ...]
    examples: tuple[Example, ...] = ()
    schema_text: str | None = Field(default=None, alias="schema")
    digest: str

    @property
    def signature(self) -> str:
        """Name, version and content hash, as in ``postedit@1#0a1b2c3d``."""
        return f"{self.name}@{self.version}#{self.digest}"

    @cached_property
    def reply_schema(self) -> Schema | None:
        """The JSON Schema of the reply, if the prompt asks for JSON."""
        return json.loads(self.schema_text) if self.schema_text else None

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that the templates mention."""
        return frozenset(name for part in (*self.system, *self.user) for name in _names(part))

    @cached_property
    def _prefix_names(self) -> tuple[str, ...]:
        quoted = {part.quote for part in self.user}
        conditions = {x for e in self.examples for x in (e.when, e.unless) if x}
        in_system = {name for part in self.system for name in _names(part)}
        pair = {"lp"} if any(example.lp for example in self.examples) else set()
        return tuple(sorted((self.variables - quoted) | conditions | in_system | pair))

    def render(self, values: Values) -> tuple[Message, ...]:
        """System message, examples, and the user's message last. Raises :class:`PromptError` for a missing variable."""
        key = tuple(values.get(name) for name in self._prefix_names)
        if key not in self._prefixes:
            self._prefixes[key] = self._constant_part(values)
        return (*self._prefixes[key], Message(role="user", content=self._join(self.user, values)))

    @cached_property
    def _prefixes(self) -> dict[tuple[str | None, ...], tuple[Message, ...]]:
        return {}

    def _constant_part(self, values: Values) -> tuple[Message, ...]:
        """System message and examples: the same for a language pair, so that providers can cache them."""
        values = {name: values.get(name) for name in self._prefix_names}
        messages = [Message(role="system", content=self._join(self.system, values))]
        for example in self._examples_for(values.get("lp")):
            if _applies(example, values):
                content = self._join(self.user, {**values, **example.values})
                messages.append(Message(role="user", content=content))
                messages.append(Message(role="assistant", content=example.reply))
        return tuple(messages)

    def _examples_for(self, pair: str | None) -> list[Example]:
        """The examples for a language pair, or the default ones; and those for all pairs."""
        known = pair is not None and any(example.lp == pair for example in self.examples)
        return [e for e in self.examples if e.lp is None or (e.lp == pair if known else e.default)]

    def _join(self, parts: tuple[Part, ...], values: Values) -> str:
        shown = [part for part in parts if _applies(part, values)]
        codes = _codes([(part.quote, self._value(part.quote, values)) for part in shown if part.quote])
        return "\n".join(self._show(part, values, codes) for part in shown)

    def _show(self, part: Part, values: Values, codes: Mapping[str, str]) -> str:
        text = _VARIABLE.sub(lambda m: self._value(m[1], values), part.text or part.label)
        if part.quote is None:
            return text
        tag = f"{part.quote}-{codes[part.quote]}"
        return f"{text}\n<{tag}>{self._value(part.quote, values)}</{tag}>".lstrip("\n")

    def _value(self, name: str, values: Values) -> str:
        value = values.get(name)
        if value is None:
            raise PromptError(f"prompt {self.name}: no value for {{{{{name}}}}}")
        return value


def _names(part: Part) -> list[str]:
    return [
        *_VARIABLE.findall(part.text + part.label),
        *(name for name in (part.quote, part.when, part.unless) if name),
    ]


def _applies(part: Part | Example, values: Values) -> bool:
    return (part.when is None or values.get(part.when) is not None) and (
        part.unless is None or values.get(part.unless) is None
    )


def _codes(quotes: list[tuple[str, str]]) -> dict[str, str]:
    """The code of each tag: a hash of its own text, so that who writes a text cannot know it.

    A code that any of the texts holds, in whatever disguise, is replaced by another. The same texts have the same codes
    always, so that a request can be found again and the beginnings of requests stay alike.
    """
    held = _skeleton("\n".join(text for _, text in quotes))
    return {
        tag: next(code for n in count() if (code := _code(f"{tag}\0{n}\0{text}", 6 + n // 8 * 3)) not in held)
        for tag, text in quotes
    }


def _code(text: str, size: int) -> str:
    """A hash of ``text`` in digits, of which models count three as one token."""
    number = int.from_bytes(hashlib.sha256(text.encode(errors="surrogatepass")).digest())
    return f"{number % 10**size:0{size}}"


def _skeleton(text: str) -> str:
    """``text`` as it looks to a careless reader: without spaces, invisible characters, letter case and full width."""
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")
    return _SPACE.sub("", text).casefold()


@cache
def load(name: str, folder: Path | None = None) -> Prompt:
    """The prompt ``name`` from ``folder`` if it has a file of that name, else the one that comes with mtagent.

    A file ``NAME.examples.toml`` in ``folder`` adds few-shot ``[[examples]]`` to either.
    """
    own = _file(folder, f"{name}.toml") if folder else None
    file = own or next((found for place in _shipped() if (found := _file(place, f"{name}.toml"))), None)
    if file is None:
        raise PromptError(f"there is no prompt {name!r}; there are: {', '.join(names())}")
    text, where = file.read_text(encoding="utf-8"), str(file)
    if folder and (more := _file(folder, f"{name}.examples.toml")):
        parse(name, text, where)  # so that an error names the file that it is in
        text, where = f"{text}\n{more.read_text(encoding='utf-8')}", str(more)
    return parse(name, text, where)


def _file(place: Any, name: str) -> Any:
    """The file ``name`` in a folder or a package, if there is one."""
    file = place.joinpath(name)
    return file if file.is_file() else None


def parse(name: str, text: str, where: str) -> Prompt:
    """Read a prompt file. Raises :class:`PromptError` naming the file and the field."""
    try:
        data: dict[str, Any] = tomllib.loads(text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        prompt = Prompt.model_validate({**data, "name": name, "digest": digest})
        json.loads(prompt.schema_text or "null")
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise PromptError(f"{where}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PromptError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return prompt


def names() -> list[str]:
    """The names of the prompts that come with mtagent."""
    return sorted({file.name[:-5] for place in _shipped() for file in place.iterdir() if file.name.endswith(".toml")})


def _shipped() -> list[Any]:
    """Where the prompts are: inside the installed package, or at the top of a checkout."""
    places = [resources.files("mtagent").joinpath("prompts"), Path(__file__).parents[2] / "prompts"]
    return [place for place in places if place.is_dir()]


def segment_values(segment: Segment, **texts: str | None) -> dict[str, str | None]:
    """The variables that every prompt may use for ``segment``; ``texts`` adds others, such as the translation."""
    return {
        "lp": languages.pair_of(segment.source_lang, segment.target_lang),
        "source_language": languages.name(segment.source_lang),
        "target_language": languages.name(segment.target_lang),
        "source": segment.source,
        "reference": segment.reference,
        "context": segment.context or None,
        "domain": segment.domain or None,
        "notes": segment.notes or None,
        "glossary": _glossary(segment),
        **texts,
    }


def _glossary(segment: Segment) -> str | None:
    lines = []
    for term in segment.terms:
        if term.target is None:
            lines.append(f"{term.source} = keep as it is")
        else:
            lines.append(f"{term.source} = {'not ' if term.forbidden else ''}{term.target}")
    return "\n".join(lines) or None
