"""How the models of the drivers' tests answer, for ``python -m tests.simulator --behaviour``."""

from __future__ import annotations

import json

from tests.simulator import chain, evaluators
from tests.simulator.asked import Asked, asked
from tests.simulator.settings import Body


def same(body: Body) -> str:
    """Finds nothing, and gives every text back as it is: the source, where there is no translation yet."""
    prompted = _asked(body)
    return (
        '{"errors": []}'
        if prompted.prompt == "rubric-mqm"
        else prompted.values.get("translation", prompted.values["source"])
    )


def stripped(body: Body) -> str:
    """As :func:`same`, without white space at either end, as models answer."""
    return same(body).strip()


def speechless(body: Body) -> str:
    """As :func:`tests.simulator.chain.improving`; but what holds "mute" is neither reviewed nor translated."""
    prompted = _asked(body)
    if "mute" in prompted.values["source"] and prompted.prompt in ("rubric-mqm", "translate"):
        return "I would rather\n\nnot say."
    return chain.improving(body)


def unreadable(body: Body) -> str | Body:
    """Rates as the simulator's evaluators; but nothing can be read from what is said about "mute"."""
    return "I would rather not say." if "mute" in str(body["messages"]) else evaluators.answer(body)


def talkative(body: Body) -> str:
    """As :func:`same`; but the proofreader makes two paragraphs of a line that holds "split"."""
    text = same(body)
    return text.replace(" ", "\n\n", 1) if _asked(body).prompt.startswith("proofread") and "split" in text else text


def reworded(body: Body) -> str:
    """The reviewer wants "omega" as the first word, the proofreader puts a full stop behind the text."""
    prompted = _asked(body)
    if prompted.prompt != "rubric-mqm":
        return f"{prompted.values['translation']} ."
    word = prompted.values["translation"].split()[0]
    error = {"span": word, "before": "", "after": "", "category": "style", "severity": 1, "suggestion": "omega"}
    return json.dumps({"errors": [error]})


def _asked(body: Body) -> Asked:
    prompted = asked(body)
    assert prompted is not None, body
    return prompted
