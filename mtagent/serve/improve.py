"""The service's own interface: it takes segments with details such as terms, and returns chains."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response, StreamingResponse

from mtagent.records import Chain, Segment, Term
from mtagent.serve.errors import ServiceError
from mtagent.serve.service import REQUEST_ACCOUNT, Service, is_late, with_matching_terms
from mtagent.translators.protocol import Markup
from mtagent.web import request_key

NDJSON = "application/x-ndjson"


class SegmentDetails(BaseModel):
    """Details of a segment, or of all segments. ``terms`` maps source terms to their translations."""

    model_config = ConfigDict(extra="forbid")

    source_lang: str | None = None
    target_lang: str | None = None
    document: str | None = None
    domain: str | None = Field(default=None, max_length=200)
    context: str | None = None
    notes: str | None = None
    terms: dict[str, str | None] | list[Term] = {}


class ImproveSegment(SegmentDetails):
    """A text, and its translation to improve, if it has one."""

    id: str | None = None
    source: str
    translation: str | None = None
    candidates: list[str] = Field(default=[], max_length=8)
    reference: str | None = None


class ImproveRequest(SegmentDetails):
    """Segments, and details of all of them. After ``timeout`` seconds a text is returned as it is."""

    segments: list[ImproveSegment]
    instructions: str | None = None
    markup: Markup | None = None
    timeout: float | None = Field(default=None, gt=0)


def router(service: Service) -> APIRouter:
    """The routes of this interface to ``service``."""
    routes = APIRouter(tags=["mtagent"])

    @routes.post("/v1/improve", response_model=None)
    async def improve(request: Request, body: ImproveRequest) -> Response:
        """Improve segments. ``Accept: application/x-ndjson`` streams the chains, one per line, as they are done."""
        service.admit(request_key(request))
        account = REQUEST_ACCOUNT.get()
        if body.markup:
            account.markup = (body.markup, frozenset())
        segments = _segments(service, body)
        if NDJSON in request.headers.get("accept", ""):
            # After the first line the status can't change, so the budget is checked before it.
            service.access.check_budget(account.key, sum(len(segment.source) for segment in segments))
            return StreamingResponse(_lines(service, segments, body.timeout), media_type=NDJSON)
        with service.paid(segments):
            chains = await service.agent.aimprove(segments, timeout=service.seconds(body.timeout))
        for chain in chains:
            service.count(chain)
        return JSONResponse({"chains": [plain(chain) for chain in chains]}, headers=account.headers)

    @routes.get("/v1/segments", response_model=None)
    async def kept(
        request: Request, source: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        """Return the newest texts of this key that the server stores (``--keep``), optionally with this ``source``."""
        key = service.admit(request_key(request))
        return JSONResponse({"segments": service.state.kept(key.name, source, limit)})

    return routes


async def _lines(service: Service, segments: list[Segment], timeout: float | None) -> AsyncIterator[str]:  # noqa: ASYNC109
    try:
        with service.paid(segments):
            async with aclosing(service.agent.astream(segments, timeout=service.seconds(timeout))) as chains:
                async for chain in chains:
                    service.count(chain)
                    yield json.dumps(plain(chain), ensure_ascii=False) + "\n"
    except ServiceError as error:
        yield json.dumps({"error": error.message}) + "\n"


def plain(chain: Chain) -> dict[str, Any]:
    """A chain as plain data. An error inside the service is reported by its kind only."""
    data = chain.to_dict() | {"late": is_late(chain)}
    for step in data["steps"]:
        if step["verdict"] == "failed":
            step["cause"].pop("detail", None)
            step["reason"] = step["cause"].get("error") or step["cause"]["kind"]
    return data


def _segments(service: Service, body: ImproveRequest) -> list[Segment]:
    """The segments of a request, each with the details of all segments. Raises :class:`ServiceError`."""
    shared_terms = _terms(body.terms)
    shared_notes = _joined(body.instructions, body.notes)
    service.check_size([], [body.context, shared_notes], shared_terms)
    segments: list[Segment] = []
    texts: list[str] = []
    for number, details in enumerate(body.segments, 1):
        source_lang = details.source_lang or body.source_lang
        target_lang = details.target_lang or body.target_lang
        if not source_lang or not target_lang:
            raise ServiceError(400, f"segments.{number - 1}: source_lang and target_lang are missing")
        source_lang, target_lang = service.pair(source_lang, target_lang, details.source)
        terms = _terms(details.terms)
        service.check_size(
            [details.source, details.translation or "", details.reference or "", *details.candidates],
            [details.context, details.notes],
            terms,
        )
        texts.append(details.source)
        segment = Segment(
            id=details.id or str(number),
            source=details.source,
            source_lang=source_lang,
            target_lang=target_lang,
            translation=details.translation,
            candidates=tuple(details.candidates),
            reference=details.reference,
            document=details.document or body.document,
            domain=details.domain or body.domain,
            context=details.context or body.context,
            notes=_joined(shared_notes, details.notes),
        )
        segments += with_matching_terms([segment], terms)
    service.check_size(texts, [], [])
    return with_matching_terms(segments, shared_terms)


def _joined(*notes: str | None) -> str | None:
    """The notes, one per line; ``None`` if all are empty."""
    return "\n".join(note for note in notes if note) or None


def _terms(terms: dict[str, str | None] | list[Term]) -> tuple[Term, ...]:
    if isinstance(terms, list):
        return tuple(terms)
    try:
        return tuple(Term(source=source, target=target) for source, target in terms.items())
    except ValueError:
        raise ServiceError(400, "terms: a source term is empty") from None
