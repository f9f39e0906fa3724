"""What is wrong with the simulator's translations: each of these words is an error, and every evaluator finds it.

So the right score of a text is known before any evaluator is asked: :func:`marks` of the text, weighed as it weighs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mtagent.records import Segment

Severity = Literal["critical", "major", "minor"]


@dataclass(frozen=True)
class Mark:
    """An error. ``settled`` is its severity after a debate or discussion; ``real=False``: reflection takes it back."""

    word: str
    category: str
    severity: Severity
    suggestion: str
    settled: Severity | None = None
    real: bool = True

    @property
    def core(self) -> str:
        """The core type or dimension: ``accuracy``."""
        return self.category.partition("/")[0]

    @property
    def plain(self) -> Severity:
        """The severity on a scale that ends at major."""
        return "major" if self.severity == "critical" else self.severity

    @property
    def at_last(self) -> Severity:
        """The severity after a debate, on a scale that ends at major."""
        return self.settled or self.plain


ALL = (
    Mark("absurdo", "accuracy/mistranslation", "critical", "sensato"),
    Mark("errado", "accuracy/mistranslation", "major", "acertado"),
    Mark("ajeno", "terminology/inappropriate for context", "major", "propio"),
    Mark("dudoso", "accuracy/untranslated text", "major", "seguro", settled="minor", real=False),
    Mark("exagerado", "fluency/register", "major", "mesurado", settled="minor"),
    Mark("sobrante", "accuracy/addition", "minor", "debido"),
    Mark("roto", "fluency/grammar", "minor", "entero"),
    Mark("comado", "fluency/punctuation", "minor", "punteado"),
    Mark("tosco", "style/awkward", "minor", "fino"),
)
BY_WORD = {mark.word: mark for mark in ALL}
_WORD = re.compile(r"\w+")
# Which of ALL a translation has, by its number: none in every third, then one, several, all.
_PATTERNS: tuple[tuple[int, ...], ...] = (
    (), (1,), (5,), (), (0,), (3,), (), (4, 8), (6, 7), (), (1, 2, 3), (0, 4, 5, 6), (), (7,), tuple(range(len(ALL))),
)  # fmt: skip


def marks(text: str) -> list[Mark]:
    """The errors in ``text``, in order."""
    return [BY_WORD[word] for word in _WORD.findall(text) if word in BY_WORD]


def segments(count: int) -> list[Segment]:
    """Segments from English into Spanish, each with a translation of its own; a third of them are error-free."""
    return [_segment(number) for number in range(count)]


def corrected(text: str, of: Iterable[Mark]) -> str:
    """``text`` with the errors ``of`` it put right."""
    suggestions = {mark.word: mark.suggestion for mark in of}
    return _WORD.sub(lambda match: suggestions.get(match[0], match[0]), text)


def around(text: str, mark: Mark) -> dict[str, str]:
    """The characters before and after a mark."""
    start = text.index(mark.word)
    return {"before": text[max(0, start - 8) : start], "after": text[start + len(mark.word) :][:8]}


def as_json(data: object) -> str:
    """JSON with its characters as they are."""
    return json.dumps(data, ensure_ascii=False)


def _segment(number: int) -> Segment:
    wrong = [ALL[place].word for place in _PATTERNS[number % len(_PATTERNS)]]
    words = " ".join(f"{word} y" for word in wrong)
    return Segment(
        id=f"s{number}",
        source=f"Report {number} is good, clear and short; it has {number % 7} pages.",
        source_lang="en",
        target_lang="es",
        translation=f"El informe {number} es {words} bueno, claro y breve; tiene {number % 7} páginas.",
    )
