"""Answers to mtagent's own prompts, so that the whole chain can run on the simulator.

The "language" is simple: a translation is the source with ``errado`` put before its last word in two texts of three.
The reviewer marks ``errado`` (severity 3; it suggests ``acertado``) and ``acertado`` (1; ``correcto``), so that each
stage improves the text by the simulator's own judgement. The other behaviours proofread badly, and their judge always
prefers the newer text: nothing but the guards stands between them and the output.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable

from tests.simulator.settings import Body

_QUOTED = re.compile(r"<(source|translation|translation_a|translation_b)(-\w+|)>(.*?)</\1\2>", re.DOTALL)
Spoil = Callable[[str, str], str]


def improving(body: Body) -> str:
    """Every stage does its work well."""
    return _answer(body, lambda source, text: text.replace("acertado", "correcto"))


_times_answered = Counter[str]()


def wavering(body: Body) -> str:
    """As ``improving``, but the translator chooses a word, and another one next time, whatever the seed.

    Which one depends only on the request and how often it was answered, so a test finds the same texts each time.
    """
    reply = improving(body)
    request = str(body["messages"])
    choice = random.Random(f"{request} {_times_answered[request]}")
    _times_answered[request] += 1
    return re.sub(r"\berrado\b", lambda _: choice.choice(("errado", "acertado", "correcto")), reply)


def declining(body: Body) -> str:
    """The judge answers nonsense about half of the translations with errors, also when it is asked again."""
    if body["messages"][0]["content"].startswith("You compare"):
        quoted = _QUOTED.findall("".join(message["content"] for message in body["messages"]))
        sources = [text for name, _, text in quoted if name == "source"]
        if zlib.crc32(sources[-1].encode()) % 3 == 1:
            return "I would rather not."
    return improving(body)


def half(body: Body) -> str:
    """The proofreader loses the second half of every text."""
    return _answer(body, lambda source, text: text[: len(text) // 2].rstrip() + ".")


def commentary(body: Body) -> str:
    """The proofreader talks."""
    return _answer(
        body, lambda source, text: f"Aquí está la traducción corregida:\n\n{text}\n\n(He mejorado la fluidez.)"
    )


def placeholder(body: Body) -> str:
    """The proofreader breaks placeholders and tags."""
    mark = r"%(\d\$)?[sd]|\{+\w*\}+|<[^>]+>|\$\w+"
    return _answer(body, lambda source, text: re.sub(mark, "{broken}", text, count=1))


def number(body: Body) -> str:
    """The proofreader changes a number."""
    return _answer(body, lambda source, text: re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 10), text, count=1))


def paragraph(body: Body) -> str:
    """The proofreader drops the last paragraph, or the last sentence where there is only one."""
    return _answer(
        body, lambda source, text: re.split(r"\s+(?=\S[^\n]*\Z)" if "\n" in text else r"(?<=[.!?])\s+", text)[0]
    )


def tags(body: Body) -> str:
    """Every stage moves, drops, doubles, invents or crosses numbered tags and Markdown's code."""
    shaken = _answer(body, lambda source, text: shaken_tags(text.replace("acertado", "correcto")))
    if body["messages"][0]["content"].startswith("You are a professional translator"):
        return shaken_tags(shaken)
    return shaken.replace('"suggestion": "acertado"', '"suggestion": "acertado <99/>"')


_TAG = re.compile(r"</?\d+/?>|`[^`\n]+`")


def shaken_tags(text: str) -> str:
    """``text`` with its tags moved, which is allowed, or broken; which one depends on the text."""
    found = _TAG.findall(text)
    kind = zlib.crc32(text.encode()) % 6
    if not found or kind == 0:
        return text
    if kind == 1:  # all text first, and the tags behind it
        return _TAG.sub("", text).rstrip() + " " + "".join(found)
    if kind == 2:
        return text.replace(found[0], "", 1)
    if kind == 3:
        return f"{text} {found[0]}"
    if kind == 4:
        return f"{text} <98>x</98>"
    return _TAG.sub(lambda match: found.pop(), text)  # in reverse order


def copied(body: Body) -> str:
    """The proofreader hands in the source."""
    return _answer(body, lambda source, text: source)


def terminologist(body: Body) -> str:
    """Of the candidates for a glossary, those with odd numbers are kept, with a target in capitals."""
    terms = []
    for line in body["messages"][-1]["content"].splitlines():
        if line.startswith('{"number"'):
            candidate = json.loads(line)
            if candidate["number"] % 2:
                terms.append({"number": candidate["number"], "target": candidate["target"].upper(), "note": "checked"})
    return json.dumps({"terms": terms}, ensure_ascii=False)


def _answer(body: Body, proofread: Spoil) -> str:
    messages = body["messages"]
    system = messages[0]["content"]
    # An answer that could not be read is asked for again in a later message, which quotes no texts.
    said = (message["content"] or "" for message in reversed(messages) if message["role"] == "user")
    texts = {name: text for name, _, text in _QUOTED.findall(next(filter(_QUOTED.search, said), ""))}
    if system.startswith("You compare"):
        better = _better(texts["translation_a"], texts["translation_b"])
        if '{"reason": ' in system:
            return json.dumps({"reason": "The other one renders less of the source.", "better": better})
        return json.dumps({"better": better})
    if system.startswith("You review"):
        return json.dumps({"errors": _errors(texts["translation"])}, ensure_ascii=False)
    if system.startswith("You are the last proofreader"):
        text = proofread(texts["source"], texts["translation"])
        return json.dumps({"problems": ["It can be worded better."], "text": text}, ensure_ascii=False)
    if system.startswith("Review the translation"):
        return proofread(texts["source"], texts["translation"])
    return translated(texts["source"])


def translated(source: str) -> str:
    """What the simulator's translator makes of ``source``."""
    words = source.split(" ")
    if zlib.crc32(source.encode()) % 3:
        words.insert(len(words) - 1, "errado")
    return " ".join(words)


def _errors(translation: str) -> list[dict[str, object]]:
    errors: list[dict[str, object]] = []
    for span, severity, suggestion in (("errado", 3, "acertado"), ("acertado", 1, "correcto")):
        for match in re.finditer(rf"\b{span}\b", translation):
            before, after = translation[: match.start()][-8:], translation[match.end() :][:8]
            context = {"before": before, "after": after, "category": "mistranslation"}
            errors.append({"span": span, **context, "severity": severity, "suggestion": suggestion})
    return errors


def _better(a: str, b: str) -> str:
    badness = [3 * text.count("errado") + text.count("acertado") for text in (a, b)]
    return "tie" if badness[0] == badness[1] else "A" if badness[0] < badness[1] else "B"
