"""An editor that is wrong about as often as right, judges with errors of their own, and a teacher that knows better.

What a text is worth is known: :func:`tests.simulator.evaluators.score` of its marks. The same model says the same of
the same text.
"""

from __future__ import annotations

import random

from tests.simulator import evaluators
from tests.simulator.asked import Asked, asked
from tests.simulator.marks import as_json, marks
from tests.simulator.settings import Body, Fault

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
    if question.prompt == "proofread":
        return _proofread(question.translation)
    return _review(question)


def failing_half_of_comparisons(body: Body) -> str | Body | Fault:
    """Every second comparison is answered with a server's error, the same ones each time."""
    question = asked(body)
    if question is not None and question.prompt == "compare":
        texts = question.values["translation_a"] + question.values["translation_b"]
        if sum(map(ord, texts)) % 2:
            return Fault("status", 400, message="This text is too odd.")
    return answer(body)


def talking_about_half_of_comparisons(body: Body) -> str | Body | Fault:
    """Every second comparison is answered with a remark, the same ones each time."""
    answered = failing_half_of_comparisons(body)
    return "I cannot help with that." if isinstance(answered, Fault) else answered


def undecided(body: Body) -> str | Body:
    """A judge that sees a tie in every comparison."""
    question = asked(body)
    if question is not None and question.prompt == "compare":
        return as_json({"better": "tie"})
    return answer(body)


def worth(text: str) -> int:
    """What a text is worth."""
    return evaluators.score(marks(text))


def seen(model: str, text: str, task: str = "rate") -> float:
    """The score that ``model`` gives a text in a ``task``: the right one, and its error."""
    return min(
        100.0,
        max(
            0.0,
            random.Random(f"{model} {task} {text}").gauss(
                worth(text), SPREAD["strong" if model == "strong" else "small", task]
            ),
        ),
    )


def _proofread(text: str) -> str:
    """The text with an error less or, where it has none of that kind, with one more."""
    if "errado" in text:
        return text.replace("errado", "bueno", 1)
    for word, suggestion in HARM:
        if word in text:
            return text.replace(word, suggestion, 1)
    return text


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
