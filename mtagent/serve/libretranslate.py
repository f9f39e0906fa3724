"""LibreTranslate's interface, which Weblate, browser extensions and many other tools use."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse

from mtagent.serve.access import ServiceError
from mtagent.serve.service import REQUEST_ACCOUNT, Service, fields_of, read_fields
from mtagent.text import languages


class LibreTranslateRequest(BaseModel):
    """A request to ``/translate``. LibreTranslate's other fields are ignored."""

    q: str | list[str]
    source: str
    target: str
    format: Literal["text", "html"] = "text"
    api_key: str | None = None


def router(service: Service) -> APIRouter:
    """The routes of this interface to ``service``."""
    routes = APIRouter(tags=["LibreTranslate"])
    schema = LibreTranslateRequest.model_json_schema()
    content = {kind: {"schema": schema} for kind in ("application/json", "application/x-www-form-urlencoded")}

    @routes.post("/translate", openapi_extra={"requestBody": {"required": True, "content": content}})
    async def translate(request: Request) -> JSONResponse:
        fields = await fields_of(request)
        service.admit(request, fields.get("api_key"))
        for name in ("q", "source", "target"):
            if not fields.get(name):
                raise ServiceError(400, f"Invalid request: missing {name} parameter")
        body = read_fields(LibreTranslateRequest, fields)
        has_one_text = isinstance(body.q, str)
        texts = [body.q] if isinstance(body.q, str) else body.q
        account = REQUEST_ACCOUNT.get()
        if body.format == "html":
            account.markup = ("html", frozenset())
        chains = await service.translated(texts, body.source, body.target)
        translations = [chain.text for chain in chains]
        answer: dict[str, object] = {"translatedText": translations[0] if has_one_text else translations}
        if body.source == "auto":
            detected = [_detected(service, chain.segment.source, chain.segment.source_lang) for chain in chains]
            answer["detectedLanguage"] = detected[0] if has_one_text else detected
        return JSONResponse(answer, headers=account.headers)

    @routes.post("/detect")
    async def detect(request: Request) -> JSONResponse:
        fields = await fields_of(request)
        service.admit(request, fields.get("api_key"))
        text = fields.get("q")
        if not isinstance(text, str) or not text:
            raise ServiceError(400, "Invalid request: missing q parameter")
        service.check_size([text], [], [])
        code, _ = service.detected(text)
        if code == languages.UNKNOWN:
            raise ServiceError(501, "this server cannot tell the language of the text")
        return JSONResponse([_detected(service, text, code)])

    _add_description(routes, service)
    return routes


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
    """The language ``code`` of ``text`` with its probability in percent; 0 if it isn't the likeliest language."""
    likeliest, probability = service.detected(text)
    confidence = round(100 * probability, 1) if likeliest == code else 0.0
    return {"confidence": confidence, "language": code}
