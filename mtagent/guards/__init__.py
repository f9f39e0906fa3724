"""Guards: what a change to a translation may never damage. Deterministic, no model, linear in the text's length."""

from mtagent.guards.newly import Complaints, Guard, newly
from mtagent.guards.screening import GUARDS, Damage, damages, screen
from mtagent.guards.translation import RESTORABLE, TRANSLATION_GUARDS, refusals

__all__ = [
    "GUARDS",
    "RESTORABLE",
    "TRANSLATION_GUARDS",
    "Complaints",
    "Damage",
    "Guard",
    "damages",
    "newly",
    "refusals",
    "screen",
]
