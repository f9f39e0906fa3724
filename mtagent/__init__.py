"""mtagent improves machine translation: Translate, Postedit, Proofread, every change checked.

The public names are imported when they are first used, so that ``import mtagent`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mtagent.agent import Agent, make_segments
    from mtagent.chain import Plan, improve
    from mtagent.config import Config
    from mtagent.errors import MtagentError
    from mtagent.protocols import LLM, Evaluator, Translator
    from mtagent.rating import rate
    from mtagent.records import (
        Call,
        Chain,
        Completion,
        Draft,
        Edit,
        ErrorSpan,
        Message,
        Rated,
        Rating,
        Segment,
        Step,
        Term,
        Usage,
    )
    from mtagent.reverting import revert
    from mtagent.store import Store

_WHERE = {
    "Agent": "agent",
    "make_segments": "agent",
    "Plan": "chain",
    "improve": "chain",
    "Config": "config",
    "MtagentError": "errors",
    "LLM": "protocols",
    "Evaluator": "protocols",
    "Translator": "protocols",
    "Call": "records",
    "Chain": "records",
    "Completion": "records",
    "Draft": "records",
    "Edit": "records",
    "ErrorSpan": "records",
    "Message": "records",
    "Rated": "records",
    "Rating": "records",
    "Segment": "records",
    "Step": "records",
    "Term": "records",
    "Usage": "records",
    "rate": "rating",
    "revert": "reverting",
    "Store": "store",
}

__all__ = [
    "LLM",
    "Agent",
    "Call",
    "Chain",
    "Completion",
    "Config",
    "Draft",
    "Edit",
    "ErrorSpan",
    "Evaluator",
    "Message",
    "MtagentError",
    "Plan",
    "Rated",
    "Rating",
    "Segment",
    "Step",
    "Store",
    "Term",
    "Translator",
    "Usage",
    "improve",
    "make_segments",
    "rate",
    "revert",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'mtagent' has no attribute {name!r}")
    return getattr(import_module(f"mtagent.{_WHERE[name]}"), name)
