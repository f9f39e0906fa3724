"""How a model is asked to choose its words."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from mtagent.records import Record


class Sampling(Record):
    """Sampling settings. Only those that are set are sent, so that the server's defaults apply otherwise.

    ``extra`` holds further fields of the request body, such as ``{"cache_prompt": false}`` for llama.cpp.
    """

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    reasoning_effort: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """The settings as fields of a request body."""
        return self.model_dump(exclude_none=True, exclude={"extra"}) | self.extra


def settings_of(llm: object) -> list[str]:
    """The settings that are sent with each request to ``llm``, for a signature: ``temperature:0.0`` …"""
    sampling = getattr(llm, "sampling", None)
    return (
        [f"{name}:{value}" for name, value in sampling.parameters().items()] if isinstance(sampling, Sampling) else []
    )
