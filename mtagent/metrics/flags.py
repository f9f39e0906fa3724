"""What a score does not show: a translation that is missing, empty, copied from the source, or in another script.

Metrics score such output like any other, some of them well (a copied name, a text in the wrong language under COMET). A
flag says so; it changes no score and leaves nothing out.
"""

from __future__ import annotations

from typing import Literal, get_args

from mtagent import marks
from mtagent.guards.language import copied, copied_paragraph, copied_share, script_share, share_in_script
from mtagent.guards.newly import newly
from mtagent.records import Segment

Flag = Literal["missing", "empty", "copied", "script"]
FLAGS: tuple[Flag, ...] = get_args(Flag)
UNKNOWN = "und"
"""The language of texts whose language nobody says."""
_FOREIGN_SHARE = 0.25  # of the letters, and more than the reference has
_LEAST_SHARE = 0.5  # without a reference: names and hashtags are often written in Latin letters
_COPIED = newly(copied)


def flags(segment: Segment, translation: str | None) -> tuple[Flag, ...]:
    """What is wrong with ``translation`` as a whole; ``()`` for nothing.

    ``missing``: there never was one (``None``); ``empty``: no text for a source or a reference that has some;
    ``copied``: source text (a paragraph, or six words in a row) that the reference does not copy; ``script``: a quarter
    of the letters are foreign to the target language's script, or, where there is no reference, fewer than half of them
    are in it. One language in Latin script is not told from another.
    """
    if translation is None:
        return ("missing",)
    if not translation.strip():
        return ("empty",) if segment.source.strip() or (segment.reference or "").strip() else ()
    wanted = segment.reference or ""
    copies = _COPIED(segment, wanted, translation) or (wanted and copied_paragraph(segment, wanted, translation))
    found: tuple[Flag, ...] = ("copied",) if copies else ()
    return (*found, "script") if _is_strange(segment, wanted, translation) else found


def _is_strange(segment: Segment, wanted: str, translation: str) -> bool:
    """Whether the script is another than that of ``wanted``, or of the target language where there is no reference."""
    foreign = _foreign_share(segment.target_lang, translation) - _foreign_share(segment.target_lang, wanted)
    if foreign >= _FOREIGN_SHARE or (wanted.strip() and script_share(segment, wanted, translation)):
        return True
    share = None if wanted.strip() else share_in_script(segment, translation)
    return share is not None and share < _LEAST_SHARE


def _foreign_share(target_lang: str, text: str) -> float:
    """The share of the letters that are in words of a foreign script; Latin is foreign to none."""
    script = "" if target_lang == UNKNOWN else marks.script_of(target_lang)
    pattern = marks.foreign_words_of(script) if script else None
    letters = len(marks.LETTER.findall(text))
    if pattern is None or not letters or text.isascii():
        return 0.0
    return sum(map(len, pattern.findall(text))) / letters


def translated_share(segment: Segment, translation: str) -> float:
    """How much of ``translation`` is one at all: neither copied from the source nor in a foreign script; 0 to 1.

    Looks at no reference. A text in a script other than Latin may be half in Latin letters before that takes anything
    away, some names not counted. One language in Latin script is not told from another.
    """
    inside = share_in_script(segment, translation)
    own = 1.0 if inside is None else min(1.0, inside / _LEAST_SHARE)
    return min(own, 1 - copied_share(segment, translation), 1 - _foreign_share(segment.target_lang, translation))
