"""An editor that is wrong about as often as right, judges with errors of their own, and a teacher that knows better.

What a text is worth is known: :func:`tests.simulator.evaluators.score` of its marks. The same model says the same of
the same text.
"""

from __future__ import annotations

import random

from tests.simulator import evaluators
from tests.simulator.asked import Asked, asked
from tests.simulator.marks import as_json, marks
from tests.simulator.settings import Body

SPREAD = {("small", "rate"): 8.0, ("small", "compare"): 20.0, ("strong", "rate"): 1.0, ("strong", "compare"): 1.0}
"""By how much a model's scores are off in a task, as a standard deviation."""
HARM = (("bueno", "errado"), ("claro", "tosco"))
"""Words that are good as they are, and what a mistaken editor makes of them."""


def answer(body: Body) -> str | Body:
    """What the model that is asked says."""
    question = asked(body)
    assert question is not None, body["messages"][0]["content"][:200]
    if question.prompt == "gemba-da":
        return as_json({"score": round(seen(body["model"], question.translation), 2)})
    if question.prompt == "compare":
        a, b = (seen(body["model"], question.values[side], "compare") for side in ("translation_a", "translation_b"))
        return as_json({"better": "tie" if a == b else "A" if a > b else "B"})
    return _review(question)


def worth(text: str) -> int:
    """What a text is worth."""
    return evaluators.score(marks(text))


def seen(model: str, text: str, task: str = "rate") -> float:
    """The score that ``model`` gives a text in a ``task``: the right one, and its error."""
    return min(100.0, max(0.0, random.Random(f"{model} {task} {text}").gauss(worth(text), SPREAD[model, task])))


def _review(question: Asked) -> str:
    """The editor's: what is wrong with a text or, in every second one, something that is right."""
    text = question.translation
    if random.Random(text).random() < 0.5 or all(word not in text for word, _ in HARM):
        return str(evaluators.answer(question.body))
    word, suggestion = next(pair for pair in HARM[len(text) % len(HARM) :] + HARM if pair[0] in text)
    start = text.index(word)
    context = {"before": text[max(0, start - 8) : start], "after": text[start + len(word) :][:8]}
    error = {"span": word, **context, "category": "mistranslation", "severity": 3, "suggestion": suggestion}
    return as_json({"errors": [error]})
