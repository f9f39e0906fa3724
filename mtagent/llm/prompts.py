"""Prompts are data: one TOML file per request, rendered into messages with the constant part first.

A prompt file holds ``version``, the parts of the ``[[system]]`` message, few-shot ``[[examples]]`` (``values`` and
``reply``), the parts of the last ``[[user]]`` message, of each further ``[[turn]]`` of the user in a conversation, and
optionally the JSON ``schema`` of the reply.

A part is ``text``, where ``{{name}}`` is replaced by a variable, or ``quote``: a variable shown between tags that its
text cannot close (``<source-482913>``, with a code that depends on the text), after an optional ``label``. ``when =
"name"`` shows a part or an example only if that variable is set, ``unless`` only if it is not. A missing variable
raises an error before anything is sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any, Unpack

import regex
from pydantic import Field, ValidationError

from mtagent.errors import InputError, PromptError
from mtagent.llm.protocol import LLM, RequestOptions, sampling_of
from mtagent.records import Completion, Message, Record, Schema, Segment
from mtagent.text import languages, markup, scripts

Values = Mapping[str, str | None]
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")
_INVISIBLE = regex.compile(r"\p{Cf}+")  # format characters, such as zero-width spaces
FEWEST_REPEATED_WORDS = 6
"""A reply of fewer words, such as ``{"errors": []}``, may occur in the instructions and still be the answer."""
LONGEST_ANSWER = 200
"""Characters. A longer message isn't a part of an answer."""
_PLACEHOLDERS = ('"..."', '"…"')
"""The form of a reply in the instructions has these where an answer has a text."""


class PromptPart(Record):
    """A piece of a message: ``text`` with variables, or the variable ``quote`` between tags after its ``label``."""

    text: str = ""
    label: str = ""
    quote: str | None = None
    when: str | None = None
    unless: str | None = None

    @property
    def names(self) -> list[str]:
        """The variables that it mentions."""
        named = (name for name in (self.quote, self.when, self.unless) if name)
        return [*_VARIABLE.findall(self.text + self.label), *named]


class Example(Record):
    """A few-shot turn: the user message is rendered from ``values``, the assistant's is ``reply``.

    Examples without ``lp`` are always shown.
    """

    values: dict[str, str]
    reply: str
    lp: str | None = None
    """The language pair that it is for (``en-de``)."""
    default: bool = False
    """Shown if no example is for the segment's language pair."""
    when: str | None = None
    unless: str | None = None


Talk = Sequence[tuple[str, Values]]
"""How a conversation continued: the model's reply, and the values of the user's next turn."""


class Prompt(Record):
    """A request to a model, ready to be rendered."""

    name: str
    version: str
    system: tuple[PromptPart, ...]
    user: tuple[PromptPart, ...]
    turn: tuple[PromptPart, ...] = ()
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
        if not self.schema_text:
            return None
        schema: Schema = json.loads(self.schema_text)
        return schema

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that the templates mention."""
        names = set[str]()
        for part in (*self.system, *self.user):
            names.update(part.names)
        return frozenset(names)

    @cached_property
    def _is_values_alone(self) -> bool:
        """Whether the user's message has no words of its own, such as ``{{translation}}``."""
        return not any(part.quote or _VARIABLE.sub("", part.text).strip() for part in self.user)

    @cached_property
    def _prefix_names(self) -> tuple[str, ...]:
        """The variables that system message and examples depend on."""
        names = {"lp"}
        for part in self.system:
            names.update(part.names)
        for example in self.examples:
            names.update(filter(None, (example.when, example.unless)))
        names |= self.variables - {part.quote for part in self.user}
        return tuple(sorted(names))

    @cached_property
    def _prefixes(self) -> dict[tuple[str | None, ...], tuple[tuple[Message, ...], tuple[str, ...]]]:
        return {}

    def _prefix(self, values: Values) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        """System message and examples, and their texts with single spaces.

        They are made once for a language pair, also so that providers can cache them.
        """
        key = tuple(values.get(name) for name in self._prefix_names)
        if key not in self._prefixes:
            shared = dict(zip(self._prefix_names, key, strict=True))
            messages = [Message(role="system", content=self._join(self.system, shared))]
            pair = shared["lp"]
            has_pair = pair is not None and any(example.lp == pair for example in self.examples)
            for example in self.examples:
                if example.lp is None:
                    is_shown = True
                elif has_pair:
                    is_shown = example.lp == pair
                else:
                    is_shown = example.default
                if is_shown and _applies(example, shared):
                    content = self._join(self.user, {**shared, **example.values})
                    messages += Message(role="user", content=content), Message(role="assistant", content=example.reply)
            self._prefixes[key] = tuple(messages), tuple(_flat(message.content) for message in messages)
        return self._prefixes[key]

    def render(self, values: Values, talk: Talk = ()) -> tuple[Message, ...]:
        """System message, examples, the user's message, and the ``talk`` that followed.

        Raises :class:`PromptError` for a missing variable.
        """
        prefix, _ = self._prefix(values)
        messages = [*prefix, Message(role="user", content=self._join(self.user, values))]
        for reply, turn_values in talk:
            turn = self._join(self.turn, {**values, **turn_values})
            messages += Message(role="assistant", content=reply), Message(role="user", content=turn)
        return tuple(messages)

    def repeated_in(self, reply: str, values: Values, request: str | None = None) -> bool:
        """Whether ``reply`` repeats this request instead of answering it. ``request`` is the user's message, rendered.

        It does if it contains one of the request's messages, if it is a piece of the instructions, or if it is the
        reply of an example and mentions words of the example's texts. A text of the ``values`` may be the answer.
        """
        text = _flat(reply)
        is_form = any(placeholder in text for placeholder in _PLACEHOLDERS)
        if len(scripts.words(text)) < FEWEST_REPEATED_WORDS and not is_form:
            return False
        if any(value and text in _flat(value) for value in values.values()):
            return False
        _, prefix = self._prefix(values)
        if request is None:
            request = self._join(self.user, values)
        request = _flat(request)
        messages = prefix
        if not self._is_values_alone:
            messages = (*prefix, request)
        if any(len(message) >= LONGEST_ANSWER and message in text for message in messages):
            return True
        if text in f"{prefix[0]} {request}":
            return True
        for reply_of_example, words in self._flat_examples:
            if reply_of_example in text:
                words_of_values: set[str] = set()
                for value in values.values():
                    words_of_values.update(scripts.words(_flat(value or "")))
                return not words <= words_of_values
        return False

    @cached_property
    def _flat_examples(self) -> tuple[tuple[str, set[str]], ...]:
        """The replies of the examples that mention words of their texts, and these words."""
        examples = []
        for example in self.examples:
            reply = _flat(example.reply)
            texts = _flat(" ".join(example.values.values()))
            words = set(scripts.words(reply)).intersection(scripts.words(texts))
            if words:
                examples.append((reply, words))
        return tuple(examples)

    def _join(self, parts: tuple[PromptPart, ...], values: Values) -> str:
        """The parts that apply, each on its lines; quotes between tags that their texts cannot close."""

        def value(name: str) -> str:
            text = values.get(name)
            if text is None:
                raise PromptError(f"prompt {self.name}: no value for {{{{{name}}}}}")
            return text

        shown = [part for part in parts if _applies(part, values)]
        codes = _codes({part.quote: value(part.quote) for part in shown if part.quote})
        texts = []
        for part in shown:
            text = _VARIABLE.sub(lambda match: value(match[1]), part.text or part.label)
            if part.quote is not None:
                tag = f"{part.quote}-{codes[part.quote]}"
                text = f"{text}\n<{tag}>{value(part.quote)}</{tag}>".lstrip("\n")
            texts.append(text)
        return "\n".join(texts)


@scripts.remembered
def _flat(text: str) -> str:
    """``text`` with single spaces, in lower case."""
    return " ".join(text.split()).casefold()


def _applies(part: PromptPart | Example, values: Values) -> bool:
    if part.when is not None and values.get(part.when) is None:
        return False
    return part.unless is None or values.get(part.unless) is None


def _codes(quotes: Mapping[str, str]) -> dict[str, str]:
    """The code of each tag: a hash of its own text, in digits, since models count three digits as one token.

    The writer of a text cannot know its code. A code that occurs in any of the texts, in any disguise, is replaced by
    another. The same texts always have the same codes, so a stored request is found again and requests begin alike.
    """

    undisguised = "".join(map(_undisguised, quotes.values()))
    codes = {}
    for tag, text in quotes.items():
        candidates = (_code(tag, text, draw=draw) for draw in count())
        codes[tag] = next(code for code in candidates if code not in undisguised)
    return codes


@scripts.remembered
def _code(tag: str, text: str, *, draw: int) -> str:
    hashed = hashlib.sha256(f"{tag}\0{draw}\0{text}".encode(errors="surrogatepass"))
    number = int.from_bytes(hashed.digest())
    size = 6 + draw // 8 * 3  # longer codes, in case a text holds many of the short ones
    return f"{number % 10**size:0{size}}"


@scripts.remembered
def _undisguised(text: str) -> str:
    """``text`` as it looks to a careless reader: without spaces, invisible characters, letter case and full width."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return _flat(text).replace(" ", "")


@cache
def load(name: str, folder: Path | None = None) -> Prompt:
    """The prompt ``name`` from ``folder`` if it has a file of that name, else the one that comes with mtagent.

    A file ``NAME.examples.toml`` in ``folder`` adds few-shot ``[[examples]]`` to either.
    """
    places = _shipped()
    if folder:
        places.insert(0, folder)
    files = [place.joinpath(f"{name}.toml") for place in places]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise PromptError(f"unknown prompt {name!r}; choose one of: {', '.join(names())}")
    text, where = file.read_text(encoding="utf-8"), str(file)
    if folder:
        examples = folder / f"{name}.examples.toml"
        if examples.is_file():
            parse(name, text, where)  # so that an error in this file is reported with its name
            text, where = f"{text}\n{examples.read_text(encoding='utf-8')}", str(examples)
    return parse(name, text, where)


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
    prompt_names: set[str] = set()
    for place in _shipped():
        for file in place.iterdir():
            if file.name.endswith(".toml"):
                prompt_names.add(file.name.removesuffix(".toml"))
    return sorted(prompt_names)


def _shipped() -> list[Any]:
    """Where the prompts are: inside the installed package, or at the top of a checkout."""
    places = [resources.files("mtagent").joinpath("prompts"), Path(__file__).parents[2] / "prompts"]
    return [place for place in places if place.is_dir()]


_MATCHES = (
    "Approved translations of similar texts, for wording only; numbers, tags and placeholders always come from the "
    "source below:"
)


def segment_values(segment: Segment, *, show_reference: bool = True, **texts: str | None) -> dict[str, str | None]:
    """The variables that every prompt may use for ``segment``; ``texts`` adds others, such as the translation."""
    notes = []
    if segment.notes:
        notes.append(segment.notes)
    if segment.max_length:
        notes.append(f"The translation must have at most {segment.max_length} characters.")
    numbered_tag = markup.NUMBERED_TAG.search(segment.source)
    if numbered_tag:
        notes.append(f"Numbered marks such as {numbered_tag[0]} are tags: keep each one, around the same words.")
    if segment.matches:
        notes.append(_MATCHES)
        for match in segment.matches:
            notes.append(f"- {' '.join(match.source.split())} = {' '.join(match.target.split())}")
    reference = segment.reference
    if not show_reference:
        reference = None
    return {
        "lp": languages.pair_of(segment.source_lang, segment.target_lang),
        "source_language": languages.name(segment.source_lang),
        "target_language": languages.name(segment.target_lang),
        "source": segment.source,
        "reference": reference,
        "context": segment.context or None,
        "domain": segment.domain or None,
        "notes": "\n".join(notes) or None,
        "glossary": "\n".join(term.shown for term in segment.terms) or None,
        **texts,
    }


PUBLISHED_IN_TRANSLATE = ("domain", "notes")
"""The preset ``paper`` shows the translator these besides the source: the organizers' prompt has instructions."""
PUBLISHED_IN_PROOFREAD = ("domain",)


def published(segment: Segment, fields: Collection[str] = ()) -> Segment:
    """``segment`` as the papers' requests show it: source, languages and reference, and these ``fields``.

    The preset ``paper`` sends this to the model. The guards still read the whole segment.
    """
    empty = {"domain": None, "context": None, "notes": None, "terms": (), "matches": (), "max_length": None}
    for name in fields:
        empty.pop(name, None)
    return segment.model_copy(update=empty)


# Neighbouring text: a line for each, under a label, so that no text can pass for another's label

TRANSLATION = "Its translation so far:"
NAMES, TERMS = "Names left as they are so far:", "Terms so far:"


def described(
    before: Iterable[tuple[str, str]],
    following: str | None,
    *,
    names: Iterable[str] = (),
    terms: Iterable[tuple[str, str]] = (),
    paragraphs: bool = False,
) -> str | None:
    """Sources ``before`` with their translations, the ``following`` source, and the names and terms used so far.

    Empty texts are left out; ``None`` if all are empty. ``paragraphs``: they are parts of one text.
    """
    if paragraphs:
        label_before, label_next = "Paragraph before:", "Next paragraph:"
    else:
        label_before, label_next = "Source before:", "Next source:"
    labelled = []
    for source, translation in before:
        labelled += [(label_before, source), (TRANSLATION, translation)]
    labelled.append((label_next, following or ""))
    labelled.append((NAMES, ", ".join(names)))
    labelled.append((TERMS, ", ".join(f"{source} = {target}" for source, target in terms)))
    lines = []
    for label, text in labelled:
        on_one_line = " ".join(text.split())
        if on_one_line:
            lines.append(f"{label} {on_one_line}")
    return "\n".join(lines) or None


# The user's instructions, such as a style guide, in every request

LONGEST = 20_000
"""Characters. They are sent with every request."""
_BEFORE = """\


Instructions of the client for this work: register, audience, terms, style. Write by them and judge by them, as far as \
the rules above allow, and reply in the form that was asked for above:"""


def read_instructions(path: Path) -> str:
    """The text of ``path``. Raises :class:`InputError` if it isn't text, is empty, or is too long for every request."""
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8; save it in that encoding") from None
    if not text:
        raise InputError(f"{path}: is empty: write the instructions into it, or leave instructions out")
    for char in text:
        if ord(char) < 32 and char not in "\n\r\t":
            raise InputError(f"{path}: holds the control character U+{ord(char):04X}: save it as plain text")
    if len(text) > LONGEST:
        raise InputError(
            f"{path}: has {len(text):,} characters, and instructions are sent with every request: "
            f"shorten them to {LONGEST:,}"
        )
    return text


InstructionsFor = Callable[[str], str | None]
"""The instructions for texts in a target language."""


def read_instructions_by_language(files: Mapping[str, Path]) -> InstructionsFor:
    """The texts of ``files``, which are by language: ``de`` is also for ``de-AT``, unless that has a file of its own.

    Raises :class:`InputError` as :func:`read_instructions` does.
    """
    texts = {lang: read_instructions(path) for lang, path in files.items()}

    def instructions_for(lang: str) -> str | None:
        parts = lang.split("-")
        while parts and "-".join(parts) not in texts:
            parts.pop()
        return texts.get("-".join(parts))

    return instructions_for


def with_instructions(segments: Iterable[Segment], instructions_for: InstructionsFor) -> Iterator[Segment]:
    """``segments``, each with the instructions for its target language at the end of its notes."""
    for segment in segments:
        text = instructions_for(segment.target_lang)
        if text is not None:
            notes = f"{segment.notes}\n{text}" if segment.notes else text
            segment = segment.model_copy(update={"notes": notes})
        yield segment


class Instructed:
    """A model that gets the user's instructions at the end of the system message of each request."""

    def __init__(self, llm: LLM, instructions: str) -> None:
        self.model = llm.model
        self.sampling = sampling_of(llm)
        self.instructions = hashlib.sha256(instructions.encode()).hexdigest()[:8]
        """Their hash, for signatures."""
        self._llm = llm
        self._addition = f"{_BEFORE}\n{instructions}"

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Ask for one reply."""
        return await self._llm.complete(self.instructed(messages), **options)

    def instructed(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """``messages`` with the instructions, once."""
        if not messages or messages[0].role != "system":
            return (Message(role="system", content=self._addition.strip()), *messages)
        first = messages[0]
        if first.content.endswith(self._addition):
            return tuple(messages)
        return (first.model_copy(update={"content": first.content + self._addition}), *messages[1:])
