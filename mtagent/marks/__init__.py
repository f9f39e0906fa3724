"""What must survive in a text: the one place that knows the patterns of placeholders, tags, numbers and the like.

Every function is linear in the length of its text; results are remembered.
"""

from mtagent.marks.characters import (
    LETTER,
    SPACED_LETTER,
    Mark,
    alphabet,
    control_characters,
    foreign_words_of,
    language_of,
    letters_of,
    remembered,
    runs_right_to_left,
    script_of,
    words,
)
from mtagent.marks.links import emails, urls
from mtagent.marks.markdown import code_spans, markdown_marks
from mtagent.marks.numbers import Number, Unmatched, numbers, other_numerals, unmatched
from mtagent.marks.pairs import double_quotes, unpaired_brackets
from mtagent.marks.placeholders import Tag, nesting_faults, placeholders, tags
from mtagent.marks.prose import prose
from mtagent.marks.terms import occurrences
from mtagent.marks.units import Quantity, quantities

__all__ = [
    "LETTER",
    "SPACED_LETTER",
    "Mark",
    "Number",
    "Quantity",
    "Tag",
    "Unmatched",
    "alphabet",
    "code_spans",
    "control_characters",
    "double_quotes",
    "emails",
    "foreign_words_of",
    "language_of",
    "letters_of",
    "markdown_marks",
    "nesting_faults",
    "numbers",
    "occurrences",
    "other_numerals",
    "placeholders",
    "prose",
    "quantities",
    "remembered",
    "runs_right_to_left",
    "script_of",
    "tags",
    "unmatched",
    "unpaired_brackets",
    "urls",
    "words",
]
