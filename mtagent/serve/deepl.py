"""DeepL's interface: version 2, and version 3 of its glossaries, as the package ``deepl`` uses it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, BeforeValidator, Field
from starlette.responses import JSONResponse, PlainTextResponse, Response

from mtagent.errors import ConfigError
from mtagent.records import Term
from mtagent.serve.access import ApiKey, ServiceError
from mtagent.serve.account import REQUEST_ACCOUNT
from mtagent.serve.service import Service, fields_of, read_fields
from mtagent.serve.state import Pair, StoredGlossary
from mtagent.text import languages
from mtagent.web import request_key

UNLIMITED = 1_000_000_000_000
MOST_GLOSSARIES = 200
_FORMALITY = {
    "more": "Address the reader formally.",
    "less": "Address the reader informally.",
}
# A form may have a field once, and then it isn't a list.
Texts = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
Words = Annotated[
    list[str], BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value), Field(default=[])
]


class DeepLTranslateRequest(BaseModel):
    """A request to ``/v2/translate``. Fields for DeepL's own models are ignored."""

    text: Texts = Field(min_length=1)
    target_lang: str
    source_lang: str | None = None
    context: str | None = None
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] = "default"
    custom_instructions: Texts = Field(default=[], max_length=10)
    glossary_id: str | None = None
    glossary_ids: Words
    tag_handling: Literal["xml", "html"] | None = None
    ignore_tags: Words
    show_billed_characters: bool = False


class Dictionary(BaseModel):
    """The terms of one language pair."""

    source_lang: str
    target_lang: str
    entries: str
    entries_format: Literal["tsv", "csv"] = "tsv"


class GlossaryV2(Dictionary):
    """A glossary for one language pair."""

    name: str = Field(min_length=1, max_length=1000)

    @property
    def dictionaries(self) -> list[Dictionary]:
        """The one of its language pair."""
        return [self]


class GlossaryV3(BaseModel):
    """A glossary for several language pairs; in a change, missing fields keep their values."""

    name: str | None = Field(default=None, min_length=1, max_length=1000)
    dictionaries: list[Dictionary] = []


def router(service: Service) -> APIRouter:
    """The routes of this interface to ``service``."""
    routes = APIRouter(tags=["DeepL"])
    _add_translation(routes, service)
    _add_glossaries(routes, service)
    _add_dictionaries(routes, service)
    return routes


def _add_translation(routes: APIRouter, service: Service) -> None:
    # Clients of version 1 and old ones of version 2 send the fields in the query string, with GET.
    @routes.get("/v1/translate", include_in_schema=False)
    @routes.post("/v1/translate", include_in_schema=False)
    @routes.get("/v2/translate", include_in_schema=False)
    @routes.post("/v2/translate")
    async def translate(request: Request) -> JSONResponse:
        key, fields = await _admitted(service, request)
        body = read_fields(DeepLTranslateRequest, fields)
        terms = _terms_for(service, key, body)
        account = REQUEST_ACCOUNT.get()
        if body.tag_handling:
            account.markup = (body.tag_handling, frozenset(body.ignore_tags))
        instructions = [_FORMALITY.get(body.formality.removeprefix("prefer_"), ""), *body.custom_instructions]
        notes = "\n".join(instruction for instruction in instructions if instruction)
        chains = await service.translated(
            body.text, body.source_lang or "auto", body.target_lang, terms, context=body.context, notes=notes or None
        )
        translations: list[dict[str, Any]] = []
        for chain in chains:
            source_lang = chain.segment.source_lang
            detected = "" if source_lang == languages.UNKNOWN else _bare(source_lang).upper()
            translation: dict[str, Any] = {"detected_source_language": detected, "text": chain.text}
            if body.show_billed_characters:
                translation["billed_characters"] = len(chain.segment.source)
            translations.append(translation)
        return JSONResponse({"translations": translations}, headers=account.headers)

    @routes.get("/v2/languages")
    @routes.post("/v2/languages", include_in_schema=False)
    async def offered(request: Request) -> JSONResponse:
        _, fields = await _admitted(service, request)
        kind = fields.get("type")
        if kind not in (None, "source", "target"):
            raise ServiceError(400, "type must be source or target")
        if kind == "target":
            codes = {target for _, target in service.offered()}
        else:
            codes = {source.partition("-")[0] for source, _ in service.offered()}
        entries = []
        for code in sorted(codes):
            entry: dict[str, Any] = {"language": code.upper(), "name": languages.name(code)}
            if kind == "target":
                entry["supports_formality"] = True
            entries.append(entry)
        return JSONResponse(entries)

    @routes.get("/v2/usage")
    @routes.post("/v2/usage", include_in_schema=False)
    async def usage(request: Request) -> JSONResponse:
        key, _ = await _admitted(service, request)
        limit = UNLIMITED if key.characters is None else key.characters
        return JSONResponse({"character_count": service.state.spent_by(key.name).characters, "character_limit": limit})


def _add_glossaries(routes: APIRouter, service: Service) -> None:
    """Add the routes that create, list and delete glossaries, in both versions; one of version 2 has one pair."""
    state = service.state

    @routes.get("/v2/glossary-language-pairs")
    async def pairs(request: Request) -> JSONResponse:
        await _admitted(service, request)
        bare = dict.fromkeys(_bare_pair(*pair) for pair in service.offered())
        return JSONResponse({"supported_languages": [_pair_of(pair) for pair in bare]})

    def add_version(version: str, plain: Callable[[StoredGlossary], dict[str, Any]]) -> None:
        @routes.post(f"/{version}/glossaries")
        async def create(request: Request) -> JSONResponse:
            key, fields = await _admitted(service, request)
            glossary: GlossaryV2 | GlossaryV3
            glossary = read_fields(GlossaryV2, fields) if version == "v2" else read_fields(GlossaryV3, fields)
            if not glossary.name or not glossary.dictionaries:
                raise ServiceError(400, "a glossary needs a name and entries")
            if len(state.glossaries(key.name)) >= MOST_GLOSSARIES:
                raise ServiceError(400, f"this key has {MOST_GLOSSARIES} glossaries, the maximum; delete some")
            entries = dict(map(_entries, glossary.dictionaries))
            return JSONResponse(plain(state.add_glossary(key.name, glossary.name, entries)), 201)

        @routes.get(f"/{version}/glossaries")
        async def list_all(request: Request) -> JSONResponse:
            key, _ = await _admitted(service, request)
            return JSONResponse({"glossaries": [plain(glossary) for glossary in state.glossaries(key.name)]})

        @routes.get(f"/{version}/glossaries/{{number}}")
        async def describe(request: Request, number: str) -> JSONResponse:
            key, _ = await _admitted(service, request)
            return JSONResponse(plain(_glossary(service, key, number)))

        @routes.delete(f"/{version}/glossaries/{{number}}")
        async def delete(request: Request, number: str) -> Response:
            key, _ = await _admitted(service, request)
            if not state.delete_glossary(key.name, number):
                raise _not_found()
            return Response(status_code=204)

    add_version("v2", _as_v2)
    add_version("v3", _as_v3)


def _add_dictionaries(routes: APIRouter, service: Service) -> None:
    """Add the routes that read the entries of a glossary, in both versions, and change them, in version 3."""
    state = service.state

    @routes.get("/v2/glossaries/{number}/entries")
    async def entries(request: Request, number: str) -> PlainTextResponse:
        key, _ = await _admitted(service, request)
        glossary = _glossary(service, key, number)
        text = "\n".join(_tsv(terms) for terms in glossary.dictionaries.values())
        return PlainTextResponse(text, media_type="text/tab-separated-values")

    @routes.get("/v3/glossaries/{number}/entries")
    async def entries_of(request: Request, number: str, source_lang: str, target_lang: str) -> JSONResponse:
        key, _ = await _admitted(service, request)
        glossary = _glossary(service, key, number)
        pair = _bare_pair(source_lang, target_lang)
        if pair not in glossary.dictionaries:
            raise _not_found()
        entry = _pair_of(pair) | {"entries": _tsv(glossary.dictionaries[pair]), "entries_format": "tsv"}
        return JSONResponse({"dictionaries": [entry]})

    @routes.patch("/v3/glossaries/{number}")
    async def change(request: Request, number: str) -> JSONResponse:
        key, fields = await _admitted(service, request)
        glossary = _glossary(service, key, number)
        changes = read_fields(GlossaryV3, fields)
        dictionaries = dict(glossary.dictionaries)
        for dictionary in changes.dictionaries:
            pair, terms = _entries(dictionary)
            dictionaries[pair] = dictionaries.get(pair, {}) | terms
        changed = replace(glossary, name=changes.name or glossary.name, dictionaries=dictionaries)
        state.put_glossary(key.name, changed)
        return JSONResponse(_as_v3(changed))

    @routes.put("/v3/glossaries/{number}/dictionaries")
    async def put(request: Request, number: str) -> JSONResponse:
        key, fields = await _admitted(service, request)
        glossary = _glossary(service, key, number)
        pair, terms = _entries(read_fields(Dictionary, fields))
        state.put_glossary(key.name, replace(glossary, dictionaries=glossary.dictionaries | {pair: terms}))
        return JSONResponse(_pair_of(pair) | {"entry_count": len(terms)})

    @routes.delete("/v3/glossaries/{number}/dictionaries")
    async def delete_one(request: Request, number: str, source_lang: str, target_lang: str) -> Response:
        key, _ = await _admitted(service, request)
        glossary = _glossary(service, key, number)
        dictionaries = dict(glossary.dictionaries)
        if dictionaries.pop(_bare_pair(source_lang, target_lang), None) is None:
            raise _not_found()
        state.put_glossary(key.name, replace(glossary, dictionaries=dictionaries))
        return Response(status_code=204)


async def _admitted(service: Service, request: Request) -> tuple[ApiKey, dict[str, Any]]:
    """Find the client's key, in the header or in the field ``auth_key``, and read the fields of the request."""
    if request_key(request) is not None:
        return service.admit(request), await fields_of(request)
    fields = await fields_of(request)
    return service.admit(request, fields.get("auth_key")), fields


def _not_found() -> ServiceError:
    return ServiceError(404, "Glossary not found")


def _glossary(service: Service, key: ApiKey, number: str) -> StoredGlossary:
    """The glossary with this id if it belongs to ``key``. Raises :class:`ServiceError` for others."""
    glossaries = service.state.glossaries(key.name, number)
    if not glossaries:
        raise _not_found()
    return glossaries[0]


def _terms_for(service: Service, key: ApiKey, body: DeepLTranslateRequest) -> list[Term]:
    """The terms of the glossaries that a request names. Raises :class:`ServiceError`."""
    terms: list[Term] = []
    for glossary_id in [body.glossary_id, *body.glossary_ids]:
        if not glossary_id:
            continue
        if not body.source_lang:
            raise ServiceError(400, "source_lang is needed with a glossary")
        pair = service.pair(body.source_lang, body.target_lang)
        entries = _glossary(service, key, glossary_id).dictionaries.get(_bare_pair(*pair))
        if entries is None:
            raise ServiceError(400, "the glossary has no entries for these languages")
        terms += [Term(source=source, target=target) for source, target in entries.items()]
    return terms


def _bare(code: str) -> str:
    """The language without its variety, since a glossary is for all of them. Raises :class:`ServiceError`."""
    try:
        return languages.normalise(code).partition("-")[0]
    except ConfigError as error:
        raise ServiceError(400, str(error)) from None


def _bare_pair(source_lang: str, target_lang: str) -> Pair:
    return _bare(source_lang), _bare(target_lang)


def _entries(dictionary: Dictionary) -> tuple[Pair, dict[str, str]]:
    """Read the language pair and the terms of a dictionary. Raises :class:`ServiceError`, which names the line."""
    dialect: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    if dictionary.entries_format == "csv":
        dialect = {"delimiter": ","}
    terms: dict[str, str] = {}
    rows = csv.reader(io.StringIO(dictionary.entries, newline=""), **dialect)
    try:
        for number, row in enumerate(rows, 1):
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if len(cells) < 2 or not cells[0] or not cells[1]:
                raise ServiceError(400, f"entries, line {number}: a source term and a target term are needed")
            source, target = cells[:2]
            if terms.setdefault(source, target) != target:
                raise ServiceError(400, f"entries, line {number}: {source!r:.80} has two target terms")
    except csv.Error as error:
        raise ServiceError(400, f"entries: {error}") from None
    if not terms:
        raise ServiceError(400, "the glossary has no entries")
    return _bare_pair(dictionary.source_lang, dictionary.target_lang), terms


def _tsv(terms: dict[str, str]) -> str:
    return "\n".join(f"{source}\t{target}" for source, target in terms.items())


def _pair_of(pair: Pair) -> dict[str, Any]:
    return {"source_lang": pair[0], "target_lang": pair[1]}


def _as_v2(glossary: StoredGlossary) -> dict[str, Any]:
    pair, terms = next(iter(glossary.dictionaries.items()), (("", ""), {}))
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        **_pair_of(pair),
        "creation_time": glossary.created,
        "entry_count": len(terms),
    }


def _as_v3(glossary: StoredGlossary) -> dict[str, Any]:
    dictionaries = [_pair_of(pair) | {"entry_count": len(terms)} for pair, terms in glossary.dictionaries.items()]
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "creation_time": glossary.created,
        "dictionaries": dictionaries,
    }
