"""The ``rules`` evaluator: deterministic MQM spans, offline and free."""

from __future__ import annotations

from itertools import islice

from mtagent import __version__, mqm
from mtagent.errors import ConfigError
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.rules import RULES

MOST_SPANS = 500
"""A rule stops here: more errors of one kind say nothing new about a text."""


class Rules:
    """Rates by rules alone: numbers, placeholders, tags, links, terms, punctuation, spaces, copied text.

    A span has a suggestion only where the fix is certain. The score is minus the sum of the HiMATE weights. Rules named
    in ``skip`` are left out. Raises :class:`mtagent.errors.ConfigError` where one of them does not exist.
    """

    name = "rules"
    suggests = True
    calls = (0, 0)

    def __init__(self, *, skip: frozenset[str] = frozenset()) -> None:
        if unknown := sorted(skip - RULES.keys()):
            raise ConfigError(f"unknown rule {unknown[0]!r}; choose from {', '.join(RULES)}")
        self.skip = skip

    @property
    def signature(self) -> str:
        """What a score depends on."""
        left_out = f"skip:{','.join(sorted(self.skip))}|" if self.skip else ""
        return f"rules|v:1|weights:himate|{left_out}version:{__version__}"

    def find(self, segment: Segment, translation: str) -> tuple[ErrorSpan, ...]:
        """The errors in order of their place; those without a place come last.

        Every located span has exact offsets, and no two suggestions overlap: the earlier and then the longer one stays.
        """
        chosen = [rule for name, rule in RULES.items() if name not in self.skip]
        found = [span for rule in chosen for span in islice(rule(segment, translation), MOST_SPANS)]
        last = len(translation) + 1
        found.sort(key=lambda span: (span.start if span.start is not None else last, -(span.end or 0)))
        return tuple(_without_overlapping_suggestions(found))

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``; asks nobody and never fails."""
        errors = self.find(segment, translation)
        score = mqm.score(errors, "himate")
        return Rating(evaluator=self.name, score=score, errors=errors, signature=self.signature)


def _without_overlapping_suggestions(found: list[ErrorSpan]) -> list[ErrorSpan]:
    kept, done = [], 0
    for span in found:
        if span.suggestion is not None and span.start is not None and span.end is not None:
            if span.start < done:
                continue
            done = span.end
        kept.append(span)
    return kept
