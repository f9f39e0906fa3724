"""Find commentary and surplus that an edit added to a translation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import regex

from mtagent.omission.align import match
from mtagent.omission.evidence import Units
from mtagent.omission.split import changed, letters, quoted

LENGTH_LIMIT = 1.6
"""How many times longer than both source and text before, in letters, a text after may be."""
SLACK = 40
"""Letters that a text may grow by whatever its length: one word may become three."""
SMALL_EDIT = 16
"""Letters that an edit may put in one place without a closer look, if nothing else comes with them."""
ADDED_LINE = 15
"""Letters of a line at the beginning or end that make it a line of commentary if nothing before matches it."""
KEPT_OF_LINE = 0.3
"""Share of such a line that must be matched in the text before."""

_FENCE = regex.compile(r"```|~~~")
_TAG = regex.compile(
    r"</?(?:think(?:ing)?|reasoning|analysis|scratchpad|translation|output|answer|final(?:_answer)?|result)>"
    r"|<\|[^|<>\s]{1,40}\|>|\[/?INST\]",
    regex.IGNORECASE,
)
_ENUMERATOR = regex.compile(
    r"^[^\S\n]*+[*_#>-]*+[^\S\n]*+(?:\(?(?:\d{1,2}|[a-eA-E])[.)]|[①-⑩]|"
    r"(?:option|version|variante?|alternativ\w*+|fassung|opción|вариант|варіант|选项|版本|訳案|案)\s*+[\dA-E]\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_LINE_START = r"^[^\S\n]*+[*_#>(\[（【\"“-]*+[^\S\n]*+"
_LABEL = regex.compile(
    _LINE_START + r"(?:[\w'’ ]{0,40}?(?:translation|translated\ text|post-?edit\w*+|proofread\w*+|"
    r"(?:corrected|revised|improved|final|edited)\ (?:text|version|sentence)|übersetzung|traduction|traducción|"
    r"traduzione|tradução|vertaling|översättning|oversættelse|oversettelse|þýðing|käännös|tõlge|tulkojums|vertimas|překlad|preklad|"
    r"tłumaczenie|перевод|переклад|превод|prijevod|prevod|fordítás|traducere|μετάφραση|çeviri|bản\ dịch|terjemahan)"
    r"[\w'’ ()-]{0,30}+|[^\s:：]{0,12}(?:翻译|譯文|译文|翻譯|翻訳|訳文|訳|번역|अनुवाद|الترجمة|ترجمة|תרגום|คำแปล)"
    r"[^\s:：]{0,12})"
    r"[*_\"”)\]】]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_OPENING = regex.compile(
    r"\A\W*+(?:(?:sure|certainly|of\ course|absolutely|okay|ok)\b[!,.]|here(?:'s|’s|\ is|\ are)\b[^\n]{0,120}+\n"
    r"|here(?:'s|’s|\ is|\ are)\ (?:the|my|an?|your|five|some)\ [^\n:]{0,80}+:"
    r"|(?:let\ me|let's|let’s|i\ will|i'll|i’ll|i\ need\ to|we\ need\ to|the\ user)\b)",
    regex.IGNORECASE,
)
_NOTE = regex.compile(
    _LINE_START
    + r"(?:(?:translator['’]?s?\ )?notes?|explanations?|reasoning|rationale|comments?|changes(?:\ made)?|corrections?|"
    r"alternatives?|justification|analysis|confidence|anmerkung(?:en)?|hinweis|erklärung|remarques?|"
    r"note\ du\ traducteur|explication|notas?|explicación|nota\ del\ traductor|poznámk[ay]|uwag[ai]|"
    r"примечани[ея]|примітк[аи]|пояснение|пояснення|napomen[ae]|athugasemd(?:ir)?|märkus(?:ed)?|注释?|备注|说明|解释|修改说明|注意|注記|備考|解説|説明|修正点|"
    r"참고|설명|टिप्पणी|ملاحظة|ملاحظات|หมายเหตุ)[*_]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_ASIDE = regex.compile(
    _LINE_START
    + r"(?:(?:i(?:'ve|’ve|\ have)?|we(?:'ve|’ve|\ have)?)\ (?:also\ )?(?:changed|corrected|revised|improved|kept|fixed|"
    r"translated|made|adjusted|replaced|rephrased|chose|used)\b|let\ me\ know\b|please\ let\ me\ know\b|"
    r"would\ you\ like\b|(?:i\ )?hope\ this\ helps|as\ an\ ai\b|i(?:'m|’m|\ am)\ sorry\b|i\ can(?:no|')?t\b|"
    r"(?:this|the|my)\ (?:\w+\ )?translation\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_LINE = regex.compile(r"\S[^\n]*+")

_Rule = Callable[[str, str, str], Iterator[str]]


def grown(source: str, before: str, after: str, *, target_lang: str = "") -> tuple[str, ...]:
    """Complaints about what ``after`` newly says beyond a translation of ``source``; ``()`` = fine.

    Found are commentary at the beginning or end, labels, notes, code fences, lists of alternatives, reasoning, and a
    text that is far longer than both ``source`` and ``before``. What source or ``before`` had already is no complaint.
    """
    del target_lang  # the signs are looked for in all languages: a model comments in any
    if before.split() == after.split():
        return ()
    come = changed(before, after)[1]
    if len(come) <= SMALL_EDIT and come.replace(" ", "").isalpha():
        return ()
    return tuple(complaint for rule in _RULES for complaint in rule(source, before, after))


def _too_long(source: str, before: str, after: str) -> Iterator[str]:
    allowed = LENGTH_LIMIT * max(letters(source), letters(before)) + SLACK
    size = letters(after)
    if size > allowed:
        yield f"the text grew to {size:.0f} letters; source and text before have at most {allowed:.0f} to offer"


def _more_often(sign: regex.Pattern[str], name: str) -> _Rule:
    def rule(source: str, before: str, after: str) -> Iterator[str]:
        found = [match.group() for match in sign.finditer(after)]
        if len(found) > max(len(sign.findall(source)), len(sign.findall(before))):
            yield f"the edit added {name}: {quoted(found[-1])}"

    return rule


def _alternatives(source: str, before: str, after: str) -> Iterator[str]:
    count = len(_ENUMERATOR.findall(after))
    if count >= 2 and count >= 2 + max(len(_ENUMERATOR.findall(source)), len(_ENUMERATOR.findall(before))):
        yield f"the edit added a list of {count} numbered lines"


def _comment_lines(source: str, before: str, after: str) -> Iterator[str]:
    """A first or last line that nothing in ``before`` matches, where source and ``before`` have fewer lines."""
    lines = Units(after, _LINE.findall(after))
    if len(_LINE.findall(after)) <= max(len(_LINE.findall(source)), len(_LINE.findall(before)), 1) or not len(lines):
        return
    matched = {j for _, j in match(Units(before, [before]).keys, lines.keys)}
    for line in dict.fromkeys((lines.units[0], lines.units[-1])):
        size = lines.size_of(line.low, line.high)
        kept = sum(lines.size_of(k, k + 1) for k in range(line.low, line.high) if k in matched)
        if size >= ADDED_LINE and kept < KEPT_OF_LINE * size:
            yield f"the edit added a line: {quoted(line.text)}"


_RULES: tuple[_Rule, ...] = (
    _too_long,
    _more_often(_FENCE, "a code fence"),
    _more_often(_TAG, "a tag of the model"),
    _more_often(_LABEL, "a label"),
    _more_often(_OPENING, "an opening remark"),
    _more_often(_NOTE, "a note"),
    _more_often(_ASIDE, "a remark to the user"),
    _alternatives,
    _comment_lines,
)
