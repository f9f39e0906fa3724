"""mtagent improves machine translation: Translate, Postedit, Proofread, every change checked.

The public names are imported when they are first used, so that ``import mtagent`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mtagent.version import __version__ as __version__

if TYPE_CHECKING:
    from mtagent.chain.chain import Plan, improve
    from mtagent.chain.decided_text import decided
    from mtagent.config import Config
    from mtagent.errors import MtagentError
    from mtagent.evaluators.protocol import Evaluator
    from mtagent.jobs.agent import Agent
    from mtagent.jobs.python_inputs import make_segments
    from mtagent.jobs.rate import rate
    from mtagent.llm.protocol import LLM
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
    from mtagent.records.decisions import Decision
    from mtagent.store.store import Store
    from mtagent.translators.protocol import Translator


_WHERE = {
    "Agent": "jobs.agent",
    "make_segments": "jobs.python_inputs",
    "Plan": "chain.chain",
    "improve": "chain.chain",
    "Config": "config",
    "MtagentError": "errors",
    "LLM": "llm.protocol",
    "Evaluator": "evaluators.protocol",
    "Translator": "translators.protocol",
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
    "rate": "jobs.rate",
    "Decision": "records.decisions",
    "decided": "chain.decided_text",
    "Store": "store.store",
}

__all__ = [
    "LLM",
    "Agent",
    "Call",
    "Chain",
    "Completion",
    "Config",
    "Decision",
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
    "decided",
    "improve",
    "make_segments",
    "rate",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'mtagent' has no attribute {name!r}")
    return getattr(import_module(f"mtagent.{_WHERE[name]}"), name)
