"""LibreTranslate's interface, which Weblate, browser extensions and many other tools use."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

from mtagent.records import Chain, Segment
from mtagent.serve.access import ServiceError
from mtagent.serve.account import REQUEST_ACCOUNT
from mtagent.serve.service import Service, fields_of, read_fields
from mtagent.text import languages

_ALIASES = {"pb": ("pt-BR",), "zt": ("zh-TW", "zh-Hant")}
"""LibreTranslate's own codes, and the codes that they may stand for. The first one that is offered is used."""


class LibreTranslateRequest(BaseModel):
    """A request to ``/translate``. LibreTranslate's other fields are ignored."""

    q: str | list[str]
    source: str
    target: str
    alternatives: int = Field(default=0, ge=0)
    format: Literal["text", "html"] = "text"
    api_key: str | None = None


class Suggestion(BaseModel):
    """A request to ``/suggest``: a person's translation ``s`` of the text ``q``."""

    q: str
    s: str
    source: str
    target: str
    api_key: str | None = None


def router(service: Service) -> APIRouter:
    """The routes of this interface to ``service``."""
    routes = APIRouter(tags=["LibreTranslate"])

    @routes.post("/translate", openapi_extra=_body_of(LibreTranslateRequest))
    async def translate(request: Request) -> JSONResponse:
        fields = await fields_of(request)
        service.admit(request, fields.get("api_key"))
        _refuse_missing(fields, "q", "source", "target")
        body = read_fields(LibreTranslateRequest, fields)
        has_one_text = isinstance(body.q, str)
        texts = [body.q] if isinstance(body.q, str) else body.q
        account = REQUEST_ACCOUNT.get()
        if body.format == "html":
            account.markup = ("html", frozenset())
        source, target = _code(service, body.source), _code(service, body.target)
        chains = await service.translated(texts, source, target)
        translations = [chain.text for chain in chains]
        answer: dict[str, object] = {"translatedText": translations[0] if has_one_text else translations}
        if body.source == "auto":
            detected = [_detected(service, chain.segment.source, chain.segment.source_lang) for chain in chains]
            answer["detectedLanguage"] = detected[0] if has_one_text else detected
        if body.alternatives:
            alternatives = [_alternatives(chain, body.alternatives) for chain in chains]
            answer["alternatives"] = alternatives[0] if has_one_text else alternatives
        return JSONResponse(answer, headers=account.headers)

    @routes.post("/detect")
    async def detect(request: Request) -> JSONResponse:
        fields = await fields_of(request)
        service.admit(request, fields.get("api_key"))
        _refuse_missing(fields, "q")
        text = fields["q"]
        if not isinstance(text, str):
            raise ServiceError(400, "q: Input should be a valid string")
        service.check_size([text], [], [])
        code, _ = service.detected(text)
        if code == languages.UNKNOWN:
            raise ServiceError(501, "this server can't detect the language of the text")
        return JSONResponse([_detected(service, text, code)])

    @routes.post("/suggest", openapi_extra=_body_of(Suggestion))
    async def suggest(request: Request) -> JSONResponse:
        """Store a person's translation, if the server stores texts (``--keep texts``)."""
        fields = await fields_of(request)
        key = service.admit(request, fields.get("api_key"))
        if not service.state.keeps_texts:
            raise ServiceError(403, "Suggestions are disabled on this server.")
        _refuse_missing(fields, "q", "s", "source", "target")
        body = read_fields(Suggestion, fields)
        service.check_size([body.q, body.s], [], [])
        source_lang, target_lang = service.pair(_code(service, body.source), _code(service, body.target), body.q)
        segment = Segment(id="1", source=body.q, translation=body.s, source_lang=source_lang, target_lang=target_lang)
        service.state.keep(key.name, [Chain(segment=segment)], "suggested")
        return JSONResponse({"success": True})

    _add_description(routes, service)
    return routes


def _body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The description of a request whose body is JSON or a form with the fields of ``model``."""
    schema = model.model_json_schema()
    content = {kind: {"schema": schema} for kind in ("application/json", "application/x-www-form-urlencoded")}
    return {"requestBody": {"required": True, "content": content}}


def _refuse_missing(fields: dict[str, Any], *names: str) -> None:
    for name in names:
        if not fields.get(name):
            raise ServiceError(400, f"Invalid request: missing {name} parameter")


def _code(service: Service, code: str) -> str:
    """The code that LibreTranslate's ``code`` means."""
    meanings = _ALIASES.get(code.lower())
    if meanings is None:
        return code
    offered = {language for pair in service.offered() for language in pair}
    for meaning in meanings:
        if meaning in offered:
            return meaning
    return meanings[0]


def _alternatives(chain: Chain, most: int) -> list[str]:
    """Other translations in ``chain``, at most ``most``: texts before later steps, the last first, and candidates."""
    earlier_texts = [step.text for step in reversed(chain.steps)]
    texts = dict.fromkeys([*earlier_texts, chain.given, *chain.segment.candidates])
    return [text for text in texts if text and text != chain.text][:most]


def _add_description(routes: APIRouter, service: Service) -> None:
    @routes.get("/languages")
    async def offered() -> JSONResponse:
        pairs = service.offered()
        targets: dict[str, list[str]] = {}
        for source, target in pairs:
            targets.setdefault(source, []).append(target)
        codes = dict.fromkeys(code for pair in pairs for code in pair)
        return JSONResponse(
            [{"code": code, "name": languages.name(code), "targets": targets.get(code, [])} for code in codes]
        )

    @routes.get("/spec", include_in_schema=False)
    async def spec(request: Request) -> JSONResponse:
        return JSONResponse(request.app.openapi())

    @routes.get("/frontend/settings")
    async def settings() -> JSONResponse:
        source, target = service.offered()[0]
        return JSONResponse(
            {
                "apiKeys": not service.access.is_open,
                "keyRequired": not service.access.is_open,
                "charLimit": service.limits.text,
                "filesTranslation": False,
                "frontendTimeout": 500,
                "language": {
                    "source": {"code": source, "name": languages.name(source)},
                    "target": {"code": target, "name": languages.name(target)},
                },
                "suggestions": service.state.keeps_texts,
                "supportedFilesFormat": [],
            }
        )


def _detected(service: Service, text: str, code: str) -> dict[str, object]:
    """The language ``code`` of ``text`` with its probability in percent; 0 if it isn't the likeliest language."""
    likeliest, probability = service.detected(text)
    confidence = round(100 * probability, 1) if likeliest == code else 0.0
    return {"confidence": confidence, "language": code}
