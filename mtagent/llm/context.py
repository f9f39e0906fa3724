"""How neighbouring text is shown: a line for each, under a label, so that no text can pass for another's label."""

from __future__ import annotations

from collections.abc import Iterable

TRANSLATION = "Its translation so far:"
NAMES, TERMS = "Names left as they are so far:", "Terms so far:"


def described(
    before: Iterable[tuple[str, str]],
    following: str | None,
    *,
    names: Iterable[str] = (),
    terms: Iterable[tuple[str, str]] = (),
    paragraphs: bool = False,
) -> str | None:
    """Sources ``before`` with their translations, the ``following`` source, and how names and terms stand so far.

    What is empty is left out; ``None`` where all is. ``paragraphs``: they are parts of one text.
    """
    first, last = ("Paragraph before:", "Next paragraph:") if paragraphs else ("Source before:", "Next source:")
    lines = [line for source, text in before for line in ((first, source), (TRANSLATION, text))]
    lines.append((last, following or ""))
    lines.append((NAMES, ", ".join(names)))
    lines.append((TERMS, ", ".join(f"{source} = {target}" for source, target in terms)))
    shown = ((label, " ".join(text.split())) for label, text in lines)
    return "\n".join(f"{label} {text}" for label, text in shown if text) or None
