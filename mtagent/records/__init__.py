"""The records that travel through mtagent. Their field names are the public API.

All are frozen: a change is a copy (``record.model_copy(update={...})``). Unknown fields are refused. Offsets are
Unicode code points into the text that was rated, end exclusive.
"""

from __future__ import annotations

from mtagent.records.chains import Chain, Edit, Outcome, Stage, Step, Verdict
from mtagent.records.conversation import Call, Completion, Message, Schema, TokenLogprob, Tool, ToolCall, Usage
from mtagent.records.ratings import ErrorSpan, Rated, Rating, Score, Severity, Side
from mtagent.records.record import Record
from mtagent.records.segments import Draft, Found, Segment, Term

__all__ = [
    "Call",
    "Chain",
    "Completion",
    "Draft",
    "Edit",
    "ErrorSpan",
    "Found",
    "Message",
    "Outcome",
    "Rated",
    "Rating",
    "Record",
    "Schema",
    "Score",
    "Segment",
    "Severity",
    "Side",
    "Stage",
    "Step",
    "Term",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "Usage",
    "Verdict",
]
