"""Brackets and quotation marks that come in pairs."""

from __future__ import annotations

import regex

from mtagent.marks.characters import Mark, alphabet, remembered

_OPENING = dict(zip("([{（［【「『《〈", ")]})]】」』》〉", strict=True))
_CLOSING = dict(zip(")]}）］】」』》〉", ")]})]】」』》〉", strict=True))
_PLAIN = {"（": "(", "［": "[", "）": ")", "］": "]"}
_BRACKET = regex.compile("[" + regex.escape("".join(_OPENING) + "".join(_CLOSING)) + "]")
_QUOTE = regex.compile(r"""["“”„‟«»＂〝〞]|''|‘‘|’’|``""")


@remembered
def unpaired_brackets(text: str) -> tuple[Mark, ...]:
    """Brackets without a partner, in order; the key of a full-width bracket is that of the plain one."""
    if alphabet(text).isdisjoint(_CLOSING) and alphabet(text).isdisjoint(_OPENING):
        return ()
    opened: dict[str, list[int]] = {}
    alone: list[int] = []
    for match in _BRACKET.finditer(text):
        bracket, start = match.group(), match.start()
        if closing := _OPENING.get(bracket):
            opened.setdefault(closing, []).append(start)
        elif waiting := opened.get(_CLOSING[bracket]):
            waiting.pop()
        else:
            alone.append(start)
    alone += [start for waiting in opened.values() for start in waiting]
    return tuple(Mark(_PLAIN.get(text[start], text[start]), start, start + 1) for start in sorted(alone))


@remembered
def double_quotes(text: str) -> tuple[Mark, ...]:
    """All double quotation marks of any style, in order. Single ones are left out: they may be apostrophes."""
    if alphabet(text).isdisjoint("\"“”„‟«»＂〝〞'‘’`"):
        return ()
    return tuple(Mark(match.group(), match.start(), match.end()) for match in _QUOTE.finditer(text))
