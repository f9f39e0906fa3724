"""Answers to the prompts of all evaluators, so that each can rate thousands of texts whose right score is known.

:data:`ANSWERS` says what each prompt is answered with; ``tests/simulator/marks.py`` what is wrong with the texts.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.simulator import chain
from tests.simulator.asked import Asked, asked
from tests.simulator.marks import BY_WORD, Mark, around, as_json, corrected, marks
from tests.simulator.replies import calling
from tests.simulator.settings import Body

Answer = Callable[[Asked], str | Body]
RUBRIC = {"minor": 1, "major": 3, "critical": 4}
UNSURE = 0.8


def answer(body: Body) -> str | Body:
    """The reply to any of the project's prompts; for an unknown one a text that nothing can be read from."""
    question = asked(body)
    if question is None:
        return f"I do not know this prompt: {body['messages'][0]['content'][:200]}"
    return ANSWERS[question.prompt](question) if question.prompt in ANSWERS else chain.improving(body)


def score(marked: Sequence[Mark]) -> int:
    """A score from 0 to 100 by the marks."""
    weights = {"critical": 25, "major": 10, "minor": 4}
    return max(0, 100 - sum(weights[mark.severity] for mark in marked))


def grade(marked: Sequence[Mark]) -> int:
    """A score from 0 to 4 by the marks: 4 without any, 3 with minor ones, 0 from three others on."""
    worse = sum(mark.severity != "minor" for mark in marked)
    return 4 if not marked else max(0, 3 - worse)


def _dressed(question: Asked, data: object) -> str:
    """JSON as models give it: bare, in a fence, or after a sentence; the same way for the same text."""
    text = as_json(data)
    form = zlib.crc32(question.values.get("translation", text).encode()) % 3
    return (text, f"```json\n{text}\n```", f"Here is what I found:\n\n{text}")[form]


# One request each


def _rubric(question: Asked) -> str:
    scale = {"rubric-mqm-8": 2, "rubric-mqm-100": 25}.get(question.prompt, 1)
    errors = [
        {"span": mark.word, **around(question.translation, mark), "why": "The source says otherwise."}
        | {"category": mark.category.partition("/")[2], "severity": RUBRIC[mark.severity] * scale}
        | {"suggestion": mark.suggestion}
        for mark in question.marks
    ]
    return _dressed(question, {"errors": errors})


def _single_agent(question: Asked) -> str:
    errors = [
        {"span": mark.word, **around(question.translation, mark), "category": mark.category}
        | {"severity": mark.plain, "explanation": "The source says otherwise."}
        for mark in question.marks
    ]
    return _dressed(question, {"errors": errors})


def _headings(question: Asked) -> str:
    """GEMBA-MQM's three headings, or the two of GEMBA-ESA."""
    ends_at_major = question.prompt == "gemba-esa"
    lines: list[str] = []
    for name in ("major", "minor") if ends_at_major else ("critical", "major", "minor"):
        of = [mark for mark in question.marks if (mark.plain if ends_at_major else mark.severity) == name]
        lines += [f"{name.capitalize()}:", *([f'{mark.category} - "{mark.word}"' for mark in of] or ["no-error"])]
    return "\n".join(lines)


def _itemised(question: Asked) -> str:
    lines: list[str] = []
    for name in ("major", "minor"):
        of = [mark for mark in question.marks if mark.plain == name]
        items = [f'({number}) "{mark.word}" - {mark.category}' for number, mark in enumerate(of, start=1)]
        lines += [f"{name.capitalize()} errors:", *(items or ["no-error"])]
    return "\n".join(lines)


def _itemised_and_scored(question: Asked) -> str:
    total = -sum(5 if mark.plain == "major" else 1 for mark in question.marks)
    return f"{_itemised(question)}\n\n<score>{total}</score>"


def _count(question: Asked) -> str:
    severities = [mark.plain for mark in marks(question.values["errors"])]
    return f"{severities.count('major')}, {severities.count('minor')}"


def _number(question: Asked) -> str:
    return _dressed(question, {"score": score(question.marks)})


def _fixes(question: Asked) -> str:
    numbered = [json.loads(line) for line in question.values["errors"].splitlines() if line.strip()]
    fixes = [
        {"number": error["number"], "suggestion": BY_WORD[error["span"]].suggestion, "before": "", "after": ""}
        for error in numbered
    ]
    return _dressed(question, {"fixes": fixes})


def _revision(question: Asked) -> str:
    return corrected(question.translation, question.marks)


def _preference(question: Asked) -> str:
    """The text with the lighter errors; what reflection takes back is none."""
    a, b = (
        sum(RUBRIC[mark.severity] for mark in marks(question.values[name]) if mark.real)
        for name in ("translation_a", "translation_b")
    )
    better = "tie" if a == b else "A" if a < b else "B"
    if question.prompt == "compare-reasoned":
        return as_json({"reason": f"A has errors of weight {a} and B has errors of weight {b}.", "better": better})
    return as_json({"better": better})


# M-MAD


def _annotations(text: str, of: Iterable[Mark], *, settled: bool) -> dict[str, Any]:
    return {
        "annotations": [
            {"error_span": mark.word, **around(text, mark), "category": mark.category}
            | {"severity": mark.at_last if settled else mark.plain, "is_source_error": "no"}
            for mark in of
        ]
    }


def _dimension(question: Asked) -> str:
    of = [mark for mark in question.marks if mark.core == question.prompt.removeprefix("m-mad-")]
    return _dressed(question, _annotations(question.translation, of, settled=False))


def _statement(question: Asked) -> str:
    """A sees what is right at once; B is stubborn about every other text, until it has heard A once."""
    of = [mark for mark in question.marks if mark.core == question.values["dimension"]]
    said = _annotations(question.translation, of, settled=True)
    opening, *later = [message["content"] for message in question.body["messages"] if message["role"] == "assistant"]
    is_stubborn = zlib.crc32(question.translation.encode()) % 2 and not later
    if '"severity": "major"' not in opening and is_stubborn:
        said["annotations"] = [{**annotation, "severity": "minor"} for annotation in said["annotations"]]
    return f"I have looked at it again, and this is how I see it.\n\n{as_json(said)}"


def _consensus(question: Asked) -> str:
    both = [json.loads(question.values[name])["annotations"] for name in ("first", "second")]
    first, second = ({(annotation["error_span"], annotation["severity"]) for annotation in of} for of in both)
    return "Yes." if first == second else "no"


def _review(question: Asked) -> str:
    return "Does the reader understand it without trouble?"


def _decision(question: Asked) -> str:
    of = [mark for mark in question.marks if mark.core == question.values["dimension"]]
    return _dressed(question, {"analysis": "A is right."} | _annotations(question.translation, of, settled=True))


def _judgement(question: Asked) -> str:
    lists = [json.loads(text)["annotations"] for name, text in question.values.items() if name.endswith("_errors")]
    return _dressed(
        question, {"analysis": "All of it holds.", "annotations": [annotation for of in lists for annotation in of]}
    )


# HiMATE


def _subtype(question: Asked) -> str:
    errors = [
        {"span": mark.word, **around(question.translation, mark), "explanation": "It is wrong.", "severity": mark.plain}
        for mark in question.marks
        if mark.category == question.values["subtype"]
    ]
    return _dressed(question, {"errors": errors})


def _correction(question: Asked) -> str:
    return corrected(question.translation, marks(question.values["findings"]))


def _verdict(question: Asked) -> str:
    real = all(mark.real for mark in marks(question.values["findings"]))
    verdict = "corrected" if real else "no difference"
    return f"{verdict}, 70" if "how sure you are" in question.body["messages"][0]["content"] else verdict


def _expert(question: Asked) -> str:
    views = [
        {"number": number, "exists": True, "severity": mark.at_last}
        for number, mark in enumerate(marks(question.values["findings"]), start=1)
    ]
    return _dressed(question, {"errors": views, "comment": "So it is."})


def _evaluator(question: Asked) -> str:
    return _dressed(question, {"agrees": True, "errors": [], "comment": "The expert is right."})


# RATE

_ANSWERED = re.compile(r"Answer of (\w+): (\{.*?\})(?=\n\n|\Z)", re.DOTALL)


def _core(question: Asked) -> str | Body:
    """Evaluate, compare where the evaluation is unsure, and finish with its score; as text where tools are unknown."""
    answered = _answered(question.body)
    wish: tuple[str, Body]
    if "search" not in answered and "- search:" in question.body["messages"][0]["content"]:
        wish = ("search", {"query": question.values["source"]})
    elif "evaluate" not in answered:
        wish = ("evaluate", {"instruction": "Look at the tone."})
    elif answered["evaluate"]["confidence"] <= UNSURE and "compare" not in answered:
        best, worst = corrected(question.translation, question.marks), f"Un informe absurdo: {question.translation}"
        anchors = {"low_anchor": worst, "high_anchor": best}
        wish = ("compare", {"tentative_score": answered["evaluate"]["score"], **anchors})
    else:
        wish = ("finish", {"score": answered["evaluate"]["score"], "rationale": "The errors say it all."})
    if "tools" in question.body:
        return calling(wish, content="I have thought about it.")
    return f"I have thought about it.\n\n{as_json({'tool': wish[0], 'arguments': wish[1]})}"


def _answered(body: Body) -> dict[str, Any]:
    """What the tools have answered so far, by their names."""
    answers: dict[str, Any] = {}
    names: dict[str, str] = {}
    for message in body["messages"]:
        names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls", ())}
        if message["role"] == "tool":
            answers[names[message["tool_call_id"]]] = json.JSONDecoder().raw_decode(message["content"])[0]
        elif message["role"] == "user":
            answers |= {name: json.loads(answer) for name, answer in _ANSWERED.findall(message["content"])}
    return {name: said for name, said in answers.items() if "error" not in said}


def _assessment(question: Asked) -> str:
    marked = question.marks
    errors = [
        {"source": "", "target": mark.word, **around(question.translation, mark), "issue": "It is wrong."}
        for mark in marked
    ]
    confidence = UNSURE if len(marked) == 1 else 0.95
    said = {"score": grade(marked), "confidence": confidence, "rationale": "So it is.", "errors": errors, "gaps": []}
    return _dressed(question, said)


def _queries(question: Asked) -> str:
    return as_json({"queries": [question.values["request"]]})


def _summary(question: Asked) -> str:
    return as_json({"answer": "It is what it says.", "reasoning": "The first result says so."})


def _winner(question: Asked) -> str:
    a, b = (len(marks(question.values[name])) for name in ("translation_a", "translation_b"))
    return as_json({"winner": "Tie" if a == b else "A" if a < b else "B", "rationale": "It has fewer errors."})


ANSWERS: dict[str, Answer] = {
    "rubric-mqm": _rubric,
    "rubric-mqm-8": _rubric,
    "rubric-mqm-100": _rubric,
    "single-agent": _single_agent,
    "gemba-mqm": _headings,
    "gemba-esa": _headings,
    "gemba-esa-score": _number,
    "gemba-da": _number,
    "gemba-sqm": _number,
    "eaprompt-errors": _itemised,
    "eaprompt-once": _itemised_and_scored,
    "eaprompt-count": _count,
    "m-mad-accuracy": _dimension,
    "m-mad-fluency": _dimension,
    "m-mad-terminology": _dimension,
    "m-mad-style": _dimension,
    "m-mad-debate": _statement,
    "m-mad-consensus": _consensus,
    "m-mad-review": _review,
    "m-mad-decide": _decision,
    "m-mad-judge": _judgement,
    "himate-subtype": _subtype,
    "himate-correct": _correction,
    "himate-verify": _verdict,
    "himate-discuss-1": _expert,
    "himate-discuss-2": _evaluator,
    "rate-core": _core,
    "rate-evaluate": _assessment,
    "rate-search": _queries,
    "rate-summarise": _summary,
    "rate-compare": _winner,
    "fix": _fixes,
    "compare": _preference,
    "compare-reasoned": _preference,
    "revise": _revision,
}
"""The answer to each prompt, by the name of its file."""
