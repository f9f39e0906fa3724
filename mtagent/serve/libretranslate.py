"""LibreTranslate's interface: what Weblate, browser extensions and many other tools speak."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse

from mtagent.serve.errors import ServiceError
from mtagent.serve.service import REQUEST_ACCOUNT, Service, fields_of, read_fields
from mtagent.text import languages
from mtagent.web import request_key


class LibreTranslateRequest(BaseModel):
    """What ``/translate`` takes. Whatever else LibreTranslate knows is left aside."""

    q: str | list[str]
    source: str
    target: str
    format: Literal["text", "html"] = "text"
    api_key: str | None = None


def router(service: Service) -> APIRouter:
    """The routes, in front of ``service``."""
    routes = APIRouter(tags=["LibreTranslate"])
    _add_translation(routes, service)
    _add_description(routes, service)
    return routes


def _add_translation(routes: APIRouter, service: Service) -> None:
    @routes.post("/translate", openapi_extra=_body_of(LibreTranslateRequest))
    async def translate(request: Request) -> JSONResponse:
        fields = await fields_of(request)
        given = fields.get("api_key")
        service.admit(given if isinstance(given, str) else request_key(request))
        for name in ("q", "source", "target"):
            if not fields.get(name):
                raise ServiceError(400, f"Invalid request: missing {name} parameter")
        wanted = read_fields(LibreTranslateRequest, fields)
        texts = [wanted.q] if isinstance(wanted.q, str) else wanted.q
        exchange = REQUEST_ACCOUNT.get()
        exchange.markup = ("html", frozenset()) if wanted.format == "html" else None
        chains = await service.improved(service.segments(texts, wanted.source, wanted.target))
        translated = [chain.text for chain in chains]
        answer: dict[str, object] = {"translatedText": translated[0] if isinstance(wanted.q, str) else translated}
        if wanted.source == "auto":
            found = [_detected(service, chain.segment.source, chain.segment.source_lang) for chain in chains]
            answer["detectedLanguage"] = found[0] if isinstance(wanted.q, str) else found
        return JSONResponse(answer, headers=exchange.headers)

    @routes.post("/detect")
    async def detect(request: Request) -> JSONResponse:
        fields = await fields_of(request)
        given, text = fields.get("api_key"), fields.get("q")
        service.admit(given if isinstance(given, str) else request_key(request))
        if not isinstance(text, str) or not text:
            raise ServiceError(400, "Invalid request: missing q parameter")
        service.check_size([text], [], [])
        code, _ = service.detected(text)
        if code == languages.UNKNOWN:
            raise ServiceError(501, "this server cannot tell the language of the text")
        return JSONResponse([_detected(service, text, code)])


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
                "suggestions": False,
                "supportedFilesFormat": [],
            }
        )


def _detected(service: Service, text: str, code: str) -> dict[str, object]:
    """The language of ``text`` with the trust in it in percent: 0 where it is the only one that is offered."""
    found, share = service.detected(text)
    return {"confidence": round(100 * share, 1) if found == code else 0.0, "language": code}


def _body_of(kind: type[BaseModel]) -> dict[str, object]:
    schema = kind.model_json_schema()
    kinds = ("application/json", "application/x-www-form-urlencoded")
    return {"requestBody": {"required": True, "content": {name: {"schema": schema} for name in kinds}}}
