"""Whether texts are in the languages that they are said to be in, looked at before anything is paid for."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.records import Segment
from mtagent.text import languages, scripts
from mtagent.text.identification import other_language

logger = logging.getLogger(__name__)

LANGUAGE_SAMPLE = 50
"""How many segments are looked at."""
_FEWEST = 2
_SHARE = 0.5
"""The share of texts, among those long enough to tell, that must be in the other language."""
_LONG_ENOUGH = 30
"""Characters. What is shorter is rarely in one language for certain."""


class LanguageCheck:
    """Looks at the first segments of a job. Without the extra ``languages`` it finds nothing."""

    def __init__(self) -> None:
        self._seen = 0
        self._count: Counter[str] = Counter()  # of long texts, by side
        self._others: dict[str, Counter[str]] = {"source": Counter(), "translation": Counter()}
        self._swapped = 0
        self._pairs: Counter[tuple[str, str]] = Counter()

    def look(self, segment: Segment, translation: str | None) -> None:
        """Look at one of the first segments; further ones are ignored."""
        if self._seen >= LANGUAGE_SAMPLE:
            return
        self._seen += 1
        source_lang, target_lang = segment.source_lang, segment.target_lang
        self._pairs[source_lang, target_lang] += 1
        as_declared = segment.model_copy(update={"target_lang": source_lang, "source_lang": target_lang})
        found = {}
        try:
            found["source"] = other_language(as_declared, segment.source)
            if translation is not None:
                found["translation"] = other_language(segment, translation)
        except OSError:  # the identifier needs room for its model in the temporary folder
            self._seen = LANGUAGE_SAMPLE
            return
        for side, text in (("source", segment.source), ("translation", translation or "")):
            self._count[side] += len(text) >= _LONG_ENOUGH
            if found.get(side):
                self._others[side][found[side]] += 1
        is_source_swapped = found["source"] == scripts.language_of(target_lang)
        self._swapped += is_source_swapped and found.get("translation") in (None, scripts.language_of(source_lang))

    @property
    def fault(self) -> str | None:
        """What is wrong with the languages, as the end of a sentence; ``None`` if nothing is."""
        if not self._pairs:
            return None
        [((source_lang, target_lang), _)] = self._pairs.most_common(1)
        if self._is_much(self._swapped, "source"):
            pair = languages.pair_of(source_lang, target_lang)
            return f"the languages of {pair} seem to be swapped"
        for side, lang in (("source", source_lang), ("translation", target_lang)):
            for other, count in self._others[side].most_common(1):
                if self._is_much(count, side):
                    return f"the {side}s seem to be in {languages.name(other)}, not in {languages.name(lang)}"
        return None

    def _is_much(self, count: int, side: str) -> bool:
        return count >= max(_FEWEST, _SHARE * self._count[side])


def refuse_wrong_languages(check: LanguageCheck, path: Path | None, config: Config, *, force: bool) -> None:
    """Raise :class:`ConfigError` if texts are in other languages, or warn if nothing is paid; not with ``force``."""
    if force or check.fault is None:
        return
    where = "" if path is None else f"{path}: "
    if config.offline:
        logger.warning("%s%s; check -l", where, check.fault)
        return
    raise ConfigError(f"{where}{check.fault}; check -l, or continue with --force")
