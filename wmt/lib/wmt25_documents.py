"""The documents of WMT's general translation task, their paragraphs as segments, and what becomes of these.

Fields are those of WMT25's files, of WMT26's blind set and of files made from them. The task's paragraphs stand
between blank lines (``\\n\\n``), and a submission must have as many of them as the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mtagent import Chain, Config, Segment
from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.formats.files import parsed_lines
from mtagent.text import languages

BREAK = "\n\n"
By = Literal["paragraph", "document"]
FIELDS = {
    "id": ("doc_id", "doc"),
    "source": ("src_text", "source_doc", "src", "source"),
    "source_lang": ("src_lang", "source_lang"),
    "target_lang": ("tgt_lang", "target_lang"),
    "pair": ("lp", "language_pair"),
    "domain": ("domain",),
    "notes": ("prompt_instruction", "instruction"),
    "text": ("hypothesis", "translation"),
    "dataset": ("dataset_id",),
}
"""What we need, and what it is called in the files of WMT25, of WMT26, and in those made from them."""

OTHERS = ("tgt_text", "hyps")
"""Where the released files have the translations of the systems, by name."""


class Document(NamedTuple):
    """A text of the test set; ``where``: its file and line, ``tgt_lang``: its target language as the task writes it."""

    where: str
    id: str
    source: str
    source_lang: str
    target_lang: str
    domain: str | None = None
    notes: str | None = None
    translation: str | None = None
    dataset: str | None = None
    tgt_lang: str = ""


class Settled(NamedTuple):
    """The text that goes into the submission, and what went wrong on the way to it."""

    text: str
    trouble: str | None


# --- documents


def documents(path: Path, config: Config, system: str | None = None) -> Iterator[Document]:
    """The source documents, each id once; with the translations of ``system``, if they stand in the same file."""
    seen = set()
    for number, values in parsed_lines(path):
        where = f"{path}:{number}"
        name, source = (_text(values, field, where) for field in ("id", "source"))
        if name is None or source is None:
            lacking = " or ".join(FIELDS["id" if name is None else "source"])
            raise InputError(f"{where}: there is no field {lacking}; there are: {', '.join(values)}")
        if name in seen:
            raise InputError(f"{where}: the document {name!r} was there before")
        seen.add(name)
        pair, domain = _languages(values, name, where, config), _text(values, "domain", where) or _told(name)[1]
        yield Document(
            where, name, source, *pair, domain,
            notes=_text(values, "notes", where),
            translation=_of_system(values, system, where) if system else None,
            dataset=_text(values, "dataset", where),
            tgt_lang=_text(values, "target_lang", where) or pair[1].replace("-", "_"),
        )  # fmt: skip


def submission(path: Path) -> dict[str, str]:
    """The texts of a submission by document."""
    found: dict[str, str] = {}
    for number, values in parsed_lines(path):
        where = f"{path}:{number}"
        name, text = (_text(values, field, where) for field in ("id", "text"))
        if name is None or text is None:
            raise InputError(f"{where}: a submission has the fields doc_id and hypothesis; there are: {[*values]}")
        if name in found:
            raise InputError(f"{where}: the document {name!r} was there before")
        found[name] = text
    return found


def _text(values: Mapping[str, Any], field: str, where: str) -> str | None:
    name = next((name for name in FIELDS[field] if values.get(name) is not None), None)
    if name is not None and not isinstance(values[name], str):
        raise InputError(f"{where}: {name} is no text but {values[name]!r:.60}")
    return None if name is None else values[name]


def _languages(values: Mapping[str, Any], name: str, where: str, config: Config) -> tuple[str, str]:
    """What the fields say, else the id, else the command line."""
    pair = _text(values, "pair", where) or _told(name)[0]
    try:
        of_pair = languages.parse_pair(pair) if pair else (None, None)
        source = _text(values, "source_lang", where) or of_pair[0] or config.source_lang
        target = _text(values, "target_lang", where) or of_pair[1] or config.target_lang
        if source is None or target is None:
            raise ConfigError("languages are not said: give --source-lang and --target-lang")
        return languages.normalise(source), languages.normalise(target)
    except ConfigError as error:
        raise InputError(f"{where}: {error}") from None


def _told(name: str) -> tuple[str | None, str | None]:
    """Language pair and domain in ids such as ``en-is_IS_#_news_#_x`` (2025) and ``s_###_news_###_en_###_is_###_x``."""
    match name.split("_#_"), name.split("_###_"):
        case [pair, domain, _, *_], _:
            return pair, domain
        case _, [_, domain, source, target, _, *_]:
            return f"{source}->{target}", domain
    return None, None


def _of_system(values: Mapping[str, Any], system: str, where: str) -> str | None:
    found = next((values[name] for name in OTHERS if isinstance(values.get(name), dict)), None)
    if found is None:
        raise InputError(f"{where}: there are no translations of other systems in {' or '.join(OTHERS)}")
    text = found.get(system)
    if text is not None and not isinstance(text, str):
        raise InputError(f"{where}: what {system} has is no text but {text!r:.60}")
    return text


def chosen(found: Sequence[Document], only: Sequence[str]) -> list[Document]:
    """The documents of the language pairs ``only``; none named = all."""
    pairs = [languages.parse_pair(pair) for pair in only]
    for pair, name in zip(pairs, only, strict=True):
        if all((one.source_lang, one.target_lang) != pair for one in found):
            raise ConfigError(f"--only {name}: there is no document of this language pair")
    return [one for one in found if not pairs or (one.source_lang, one.target_lang) in pairs]


def with_translations(found: Sequence[Document], texts: Mapping[str, str], path: Path) -> list[Document]:
    """The documents with the ``texts`` of another system. Raises :class:`InputError` where it has none of them."""
    if not any(one.id in texts for one in found):
        raise InputError(f"{path}: it has none of these documents; the first is {found[0].id!r}")
    return [one._replace(translation=texts.get(one.id)) for one in found]


def refuse_misaligned(found: Sequence[Document]) -> None:
    """Raise :class:`InputError` where a given translation has not as many paragraphs as its source."""
    unlike = [one for one in found if one.translation is not None and size(one.translation) != size(one.source)]
    if unlike:
        first = unlike[0]
        counts = f"{size(first.translation or '')} paragraphs instead of {size(first.source)}"
        more = f"; {len(unlike) - 1} more are unlike their sources" if unlike[1:] else ""
        raise InputError(
            f"{first.where}: the given translation of {first.id!r} has {counts}{more}; leave them out of the given "
            "translations, and they are translated anew"
        )


# --- paragraphs


def size(text: str) -> int:
    """How many paragraphs the task sees."""
    return text.count(BREAK) + 1


def segments(document: Document, by: By) -> list[Segment]:
    """A segment for each paragraph, or one for the whole document."""
    whole = by == "document"
    sources = [document.source] if whole else document.source.split(BREAK)
    given: list[str | None] = [None] * len(sources)
    if document.translation is not None:
        given = [document.translation] if whole else [*document.translation.split(BREAK)]
    return [
        Segment(
            id=document.id if whole else f"{document.id}:{number}",
            source=source,
            translation=text,
            source_lang=document.source_lang,
            target_lang=document.target_lang,
            document=document.id,
            domain=document.domain,
            notes=document.notes,
        )
        for number, (source, text) in enumerate(zip(sources, given, strict=True), start=1)
    ]


def settled(chain: Chain) -> Settled:
    """The last accepted text of ``chain`` that has as many paragraphs as its source."""
    given, wanted = chain.segment.translation, size(chain.segment.source)
    like = chain.segment.source if given is None else given
    trouble = f"{chain.failed.stage} failed: {chain.failed.reason}" if chain.failed else None
    texts = [*([] if given is None else [("given", given)]), *((step.stage, step.text) for step in chain.steps)]
    for stage, text in reversed(texts):
        framed = _framed(text, like)
        if size(framed) == wanted:
            return Settled(framed, trouble)
        trouble = trouble or f"{stage} made {size(framed)} paragraphs of {wanted}, which is refused"
    return Settled(BREAK * (wanted - 1), trouble)


def _framed(text: str, like: str) -> str:
    """``text`` between the line breaks that ``like`` has at its ends: others would shift the paragraphs around it."""
    body = like.strip("\n")
    return like.replace(body, text.strip("\n")) if body else text.strip("\n") or like


def joined(document: Document, texts: Sequence[str]) -> str:
    """The document's text. Raises :class:`OutputError` where it has not as many paragraphs as the source."""
    text = BREAK.join(texts)
    if size(text) != size(document.source):
        raise OutputError(f"{document.id}: {size(text)} paragraphs instead of {size(document.source)}: nothing written")
    return text
