"""The service's own interface: segments in, with all that is known about them, and chains out."""

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
from mtagent.serve.service import REQUEST_ACCOUNT, Service, is_late, marked
from mtagent.translators.tags import Markup
from mtagent.web import request_key

NDJSON = "application/x-ndjson"


class SegmentDetails(BaseModel):
    """What may be known about a segment, or about all of them. ``terms``: a source term and how it is translated."""

    model_config = ConfigDict(extra="forbid")

    source_lang: str | None = None
    target_lang: str | None = None
    document: str | None = None
    domain: str | None = Field(default=None, max_length=200)
    context: str | None = None
    notes: str | None = None
    terms: dict[str, str | None] | list[Term] = {}


class ImproveSegment(SegmentDetails):
    """A text and, where there is one, its translation, which is then improved."""

    id: str | None = None
    source: str
    translation: str | None = None
    candidates: list[str] = Field(default=[], max_length=8)
    reference: str | None = None


class ImproveRequest(SegmentDetails):
    """Segments, and what is known about all of them. ``timeout``: seconds, after which a text is what it is by then."""

    segments: list[ImproveSegment]
    instructions: str | None = None
    markup: Markup | None = None
    timeout: float | None = Field(default=None, gt=0)


def router(service: Service) -> APIRouter:
    """The routes, in front of ``service``."""
    routes = APIRouter(tags=["mtagent"])

    @routes.post("/v1/improve", response_model=None)
    async def improve(request: Request, wanted: ImproveRequest) -> Response:
        """Improve segments. ``Accept: application/x-ndjson`` streams the chains, one a line, as they are done."""
        service.admit(request_key(request))
        exchange = REQUEST_ACCOUNT.get()
        exchange.markup = (wanted.markup, frozenset()) if wanted.markup else None
        segments = _segments(service, wanted)
        if NDJSON in request.headers.get("accept", ""):
            # What can be refused is refused before the first line, with a status.
            service.access.check_budget(exchange.key, sum(len(segment.source) for segment in segments))
            return StreamingResponse(_lines(service, segments, wanted.timeout), media_type=NDJSON)
        with service.paid(segments):
            chains = await service.agent.aimprove(segments, timeout=service.seconds(wanted.timeout))
        for chain in chains:
            service.count(chain)
        return JSONResponse({"chains": [plain(chain) for chain in chains]}, headers=exchange.headers)

    @routes.get("/v1/segments", response_model=None)
    async def kept(
        request: Request, source: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        """The newest texts of this key that the operator keeps (``--keep``), or those with this ``source``."""
        return JSONResponse({"segments": service.state.kept(service.admit(request_key(request)).name, source, limit)})

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
    """A chain as plain data. What went wrong inside the service is told by its kind alone."""
    data = chain.to_dict() | {"late": is_late(chain)}
    for step in data["steps"]:
        if step["verdict"] == "failed":
            step["cause"].pop("detail", None)
            step["reason"] = step["cause"].get("error") or step["cause"]["kind"]
    return data


def _segments(service: Service, wanted: ImproveRequest) -> list[Segment]:
    """The segments of a request, with what is said of all of them. Raises :class:`ServiceError`."""
    general = _terms(wanted.terms)
    notes = "\n".join(filter(None, (wanted.instructions, wanted.notes))) or None
    service.check_size([], [wanted.context, notes], general)
    segments: list[Segment] = []
    texts: list[str] = []
    for number, one in enumerate(wanted.segments, 1):
        source_lang, target_lang = one.source_lang or wanted.source_lang, one.target_lang or wanted.target_lang
        if not source_lang or not target_lang:
            raise ServiceError(400, f"segments.{number - 1}: source_lang and target_lang are missing")
        pair = service.pair(source_lang, target_lang, one.source)
        service.check_size(
            [one.source, one.translation or "", one.reference or "", *one.candidates],
            [one.context, one.notes],
            own := _terms(one.terms),
        )
        texts.append(one.source)
        segment = Segment(
            id=one.id or str(number),
            source=one.source,
            source_lang=pair[0],
            target_lang=pair[1],
            translation=one.translation,
            candidates=tuple(one.candidates),
            reference=one.reference,
            document=one.document or wanted.document,
            domain=one.domain or wanted.domain,
            context=one.context or wanted.context,
            notes="\n".join(filter(None, (notes, one.notes))) or None,
        )
        segments += marked([segment], own)
    service.check_size(texts, [], [])
    return marked(segments, general)


def _terms(terms: dict[str, str | None] | list[Term]) -> tuple[Term, ...]:
    if isinstance(terms, list):
        return tuple(terms)
    try:
        return tuple(Term(source=source, target=target) for source, target in terms.items())
    except ValueError:
        raise ServiceError(400, "terms: a source term is empty") from None
