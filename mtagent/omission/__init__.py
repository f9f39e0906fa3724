"""What an edit of a translation dropped, and what it added that is no translation; deterministic, without a model.

:func:`lost` and :func:`grown` compare source, text before and text after an edit.
"""

from mtagent.omission.growth import LENGTH_LIMIT, grown
from mtagent.omission.loss import STRICTNESS, loss_evidence, lost
from mtagent.omission.split import letters, paragraphs, sentences

__all__ = ["LENGTH_LIMIT", "STRICTNESS", "grown", "letters", "loss_evidence", "lost", "paragraphs", "sentences"]
