"""What an edit of a translation dropped, and what it added that is no translation; deterministic, without a model.

:func:`lost` and :func:`grown` compare source, text before and text after an edit; :func:`commentary` needs no text
before.
"""

from mtagent.omission.growth import LENGTH_LIMIT, commentary, grown
from mtagent.omission.loss import STRICTNESS, loss_evidence, lost
from mtagent.omission.split import letters, paragraphs, sentences

__all__ = [
    "LENGTH_LIMIT",
    "STRICTNESS",
    "commentary",
    "grown",
    "letters",
    "loss_evidence",
    "lost",
    "paragraphs",
    "sentences",
]
