"""What all records have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of all records: frozen, and strict about field names."""

    model_config = ConfigDict(frozen=True, extra="forbid")
