"""Deterministic MQM rules: errors that need no model to be seen. One function per rule, all in :data:`RULES`."""

from mtagent.rules import punctuation, taken_over, wording
from mtagent.rules.spans import Rule

RULES: dict[str, Rule] = {
    "empty": taken_over.empty,
    "taken-over": taken_over.taken_over,
    "numbers": taken_over.numbers,
    "apertium-marks": taken_over.apertium_marks,
    "untranslated": taken_over.untranslated,
    "terms": taken_over.terms,
    "final-mark": punctuation.final_mark,
    "space-before": punctuation.space_before,
    "french-space": punctuation.french_space,
    "spanish-opening": punctuation.spanish_opening,
    "full-width": punctuation.full_width,
    "pairs": punctuation.pairs,
    "doubled-words": wording.doubled_words,
    "double-spaces": wording.double_spaces,
    "first-capital": wording.first_capital,
    "entities": wording.entities,
    "number-format": wording.number_format,
}
"""All rules by name."""

__all__ = ["RULES", "Rule"]
