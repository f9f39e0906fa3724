"""What HiMATE's agents reply: five kinds of replies, each read by a pure function, or refused."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from mtagent.errors import EmptyReply, RatingParseError, UnreadableReply
from mtagent.evaluators.annotations import NO_ERROR, Weighed, located, named_severity, read_error, read_items, stated
from mtagent.evaluators.typology import Subtype, subtype_of
from mtagent.llm.reading import Pairs, plain_text, read_answer, read_json
from mtagent.records import ErrorSpan, Segment, Severity
from mtagent.text import commentary, omission

Verdict = Literal["corrected", "no difference", "worse"]

_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n", "none"})


class View(NamedTuple):
    """What an agent holds of one error."""

    exists: bool
    severity: Severity

    @property
    def counts(self) -> bool:
        """Whether the error stays: one that does not exist, or is a matter of taste, does not."""
        return self.exists and self.severity != "neutral"


class Opinion(NamedTuple):
    """One turn of a discussion: the view on each error, in order, and the reason."""

    views: tuple[View, ...]
    comment: str = ""


def parse_subtype(reply: str, translation: str, subtype: Subtype) -> tuple[ErrorSpan, ...]:
    """The errors of ``subtype`` in ``reply``; ``()`` only for a stated "no error". Neutral ones are still among them.

    Raises :class:`RatingParseError`, also for an error that another agent is there for.
    """
    answer = read_answer(reply)
    data = answer.value
    items = [] if _says_none(data) else [_of(item, subtype) for item in read_items(data) if not _says_none(item)]
    return located(stated(answer, (read_error(item, translation, _severity) for item in items)), translation)


def _says_none(data: Any) -> bool:
    """Whether the reply states that there is no error. What it states must agree with what it lists."""
    if not isinstance(data, dict):
        return False
    fields = {_plain(key): value for key, value in data.items()}
    said = next((_truth(fields[name]) for name in _EXISTS if name in fields), None)
    if said is None:
        return False
    if said != any(fields.get(name) for name in ("errors", "annotations", "span", "error span")):
        raise RatingParseError(f"it says that {'an' if said else 'no'} error exists, and lists another number of them")
    return not said


_EXISTS = ("exists", "error exists", "error exist", "error exist?", "error", "has error")


def _of(item: dict[str, Any], subtype: Subtype) -> dict[str, Any]:
    """``item`` as an error of ``subtype``."""
    written = str(item.get("category") or item.get("type") or "").strip()
    if written.casefold() in NO_ERROR:
        return item
    other = subtype_of(written)
    if other is not None and other != subtype:
        raise RatingParseError(f"it lists an error of the type {other.category}; only {subtype.category} is asked for")
    return {**item, "category": subtype.category}


def _severity(value: Any) -> Weighed:
    """Major, minor or neutral; the scale ends at major, so that critical is major."""
    severity = named_severity(value).severity
    return Weighed("major" if severity == "critical" else severity)


def parse_correction(reply: str, segment: Segment, translation: str) -> str:
    """The corrected whole translation in ``reply``, which may be equal to ``translation``.

    Raises :class:`RatingParseError` for remarks in its place or beside it, for several lines made of one, and where
    there is no text. Whether the correction is any good is for the verification to say.
    """
    try:
        text = plain_text(_unwrapped(reply, translation), translation)
    except (EmptyReply, UnreadableReply) as error:
        raise RatingParseError(str(error)) from None
    if _REMARK.match(text) and SequenceMatcher(None, text, translation).ratio() < _ALIKE:
        raise RatingParseError("it is a remark; give the whole translation, unchanged if there is nothing to correct")
    if text.count("\n") > translation.count("\n") == 0:
        raise RatingParseError("it makes several lines of one; give the corrected translation and nothing else")
    if complaints := commentary.grown(segment.source, translation, text, target_lang=segment.target_lang):
        raise RatingParseError(f"it is not the corrected translation alone: {complaints[0]}")
    if complaints := omission.lost(segment.source, translation, text, target_lang=segment.target_lang):
        raise RatingParseError(f"it is not the whole translation: {complaints[0]}")
    return text


_REMARK = re.compile(
    r"\W*(?:no (?:changes?|corrections?|errors?|issues?|revisions?|modifications?)\b|none\W*$|n/a\W*$|unchanged\W*$"
    r"|nothing (?:to|needs)\b|the (?:original |given )?translation (?:is|was|does|has|needs|appears|seems)\b"
    r"|there (?:is|are) no (?:errors?|need|changes?)\b|(?:no|without) correction\b|same as (?:the )?original)",
    re.IGNORECASE,
)
_ALIKE = 0.6  # what begins like a remark may be the translation of such a sentence: then it is like the one before
_TEXT_KEYS = ("correction", "corrected translation", "corrected", "translation", "corrected text", "text")


def _unwrapped(reply: str, translation: str) -> str:
    """The text inside a JSON object, where one was sent in place of the text alone."""
    if not re.match(r"\s*(?:```\w*\s*)?\{", reply) or translation.lstrip().startswith("{"):
        return reply
    data = read_json(reply)
    fields = {_plain(key): value for key, value in data.items()} if isinstance(data, dict) else {}
    text = next((fields[name] for name in _TEXT_KEYS if name in fields), None)
    if not isinstance(text, str):
        raise RatingParseError("it is JSON; give the corrected translation as plain text")
    return text


def parse_verdict(reply: str) -> Verdict:
    """``corrected``, ``no difference`` or ``worse``. Raises :class:`RatingParseError` for none or several of them."""
    answer = _answer(reply)
    for text in (answer.partition("\n")[0], answer):
        rest = _CORRECTED_TEXT.sub(" ", text.casefold())
        found = []
        for verdict, pattern in _VERDICTS.items():
            rest, hits = pattern.subn(" ", rest)
            found += [verdict] if hits else []
        if found == ["corrected"] and _DENIED.search(rest) and not _PLAINLY_CORRECTED.match(text):
            raise RatingParseError("it says that something was corrected, and denies it; give the verdict alone")
        if len(found) == 1:
            return found[0]
        if found:
            raise RatingParseError(f"it gives several verdicts: {' and '.join(found)}")
    raise RatingParseError("it gives none of the verdicts corrected, no difference, worse")


# In this order, so that "not corrected" is taken out before "corrected" is looked for.
_VERDICTS: dict[Verdict, re.Pattern[str]] = {
    "no difference": re.compile(
        r"\bno\b(?: \w+)?(?: \w+)? (?:differences?|changes?|improvements?)\b|\b(?:not|never)\b(?: \w+){0,2} "
        r"(?:corrected|fixed|resolved|improved|different|addressed)\b"
        r"|\b\w+n['’]t (?:\w+ )?(?:corrected|fixed|resolved)\b"
        r"|\buncorrected\b|\bno[-_]difference\b|\bunchanged\b|\bidentical\b"
    ),
    "worse": re.compile(r"\bworse\b|\bworsened\b|\bdegraded\b"),
    "corrected": re.compile(r"\b(?:corrected|fixed|resolved|improved|mitigated|reduced)\b"),
}
# Beside "corrected" these mean something else than that, as in "nothing was corrected" or "corrected: false".
_DENIED = re.compile(
    r"\b(?:no|not|nothing|none|never|nor|neither|cannot|without|hardly|barely|fail(?:s|ed)?|unable|yet|whether|false|un"
    r"|remains?|persists?|still|should|incorrectly)\b|n['’]t\b"
)
# After a plain verdict comes its reason, which may hold such words: "corrected, the comma is not missing".
_PLAINLY_CORRECTED = re.compile(
    r"(?:(?:the|all) )?(?:errors? )?(?:(?:has|have) been )?corrected\b(?!\W*(?:no|not|false)\b)", re.IGNORECASE
)
_CORRECTED_TEXT = re.compile(
    r"\b(?:the|a)? ?(?:corrected|revised|improved) (?:translation|version|text|sentence|one)\b"
)


def parse_sure(reply: str) -> tuple[Verdict, float]:
    """A verdict, and how sure the agent says it is, from 0 to 100. Raises :class:`RatingParseError`."""
    answer = _answer(reply)
    named = re.search(r"confiden\w+|\bsure\b|certain\w*", answer, re.IGNORECASE)
    numbers = _NUMBER.findall(answer[named.end() :]) if named else []
    numbers = numbers or _NUMBER.findall(answer)
    if len(numbers) != 1:
        raise RatingParseError(f"it gives {len(numbers)} numbers; one confidence from 0 to 100 is asked for")
    percent = float(numbers[0].replace(",", "."))
    if not 0 <= percent <= 100 or 0 < percent < 1:
        raise RatingParseError(f"the confidence {percent:g} is not on the scale from 0 to 100")
    return parse_verdict(reply), percent


_NUMBER = re.compile(r"(?<![\w.,/-])(-?\d+(?:[.,]\d+)?)(?:\s*/\s*100)?(?![\w/–-])")


def _answer(reply: str) -> str:
    """The words of a short reply, without thoughts, marks of emphasis, and the form of JSON."""
    try:
        text = plain_text(reply, "")
    except (EmptyReply, UnreadableReply) as error:
        raise RatingParseError(str(error)) from None
    if text.startswith("{"):
        data = read_json(text)
        pairs = data if isinstance(data, Pairs) else list(data.items()) if isinstance(data, dict) else []
        text = "\n".join(f"{key}: {value}" for key, value in pairs if _plain(key) not in ("explanation", "reason"))
        text = re.sub(r"(?i)^corrected: *(?:true|yes)", "corrected", re.sub(r"(?i)^verdict: *", "", text))
    return re.sub(r"[*#`\"“”]+|\b_|_\b", "", text).strip()


def parse_opinion(reply: str, standing: tuple[View, ...]) -> Opinion:
    """An agent's views on the errors that ``standing`` is held of; who agrees need not repeat them.

    Reads JSON with ``agrees``, ``errors`` and ``comment``, and for a single error the wording of the paper ("Error
    Exist: Yes. Error Severity: Minor."). Raises :class:`RatingParseError` where an error is not judged, or where
    agreement and views contradict each other.
    """
    if "{" not in reply and "[" not in reply:
        return _spoken(_answer(reply), standing)
    data = read_json(reply)
    fields = _fields(data)
    agrees = next((_truth(fields[name]) for name in ("agrees", "agree", "agreement") if name in fields), None)
    views = _views(data if isinstance(data, list) and not isinstance(data, Pairs) else fields, len(standing))
    comment = next((v for k in ("comment", "explanation", "reason") if isinstance(v := fields.get(k), str)), "")
    if views is None and not agrees:
        raise RatingParseError("it says of no error whether it exists and how severe it is")
    if views is not None and agrees and views != standing:
        raise RatingParseError("it agrees, and gives views of its own that differ")
    return Opinion(standing if views is None else views, comment.strip())


def _spoken(answer: str, standing: tuple[View, ...]) -> Opinion:
    """An opinion in plain words."""
    if _AGREES.fullmatch(answer):
        return Opinion(standing, answer)
    exists, severity = _SAID_EXISTS.search(answer), _SAID_SEVERITY.search(answer)
    if len(standing) != 1 or exists is None:
        raise RatingParseError("it is not in the form that was asked for")
    named = severity[1] if severity else None
    return Opinion((_view({"exists": exists[1], "severity": named}),), answer)


_AGREES = re.compile(
    r"(?:yes, )?I (?:fully |completely |totally )?agree"
    r"(?: with (?:him|her|them|you|it|this|that|(?:the|this|that|his|her|their|your) (?:(?!not\b)\w+ ?){1,3}))?[.!]?",
    re.IGNORECASE,
)
_ALONE = r"(?!\s*/|\s+(?:or|doubt|and)\b)"  # neither a choice, "yes/no", nor the beginning of "no doubt"
_SAID_EXISTS = re.compile(rf"\berror exists?\b\W*(yes|no|true|false)\b{_ALONE}", re.IGNORECASE)
_SAID_SEVERITY = re.compile(rf"\bseverity\b\W*(?:is )?(major|minor|neutral|critical|none|n/a)\b{_ALONE}", re.IGNORECASE)


def _views(data: Any, count: int) -> tuple[View, ...] | None:
    """One view per error, by its number or in order; ``None`` where none is given."""
    items = data if isinstance(data, list) else data.get("errors", data.get("views"))
    if isinstance(items, dict):
        items = [items]
    if items is None and isinstance(data, dict) and any(name in data for name in _EXISTS):
        items = [data]
    if not items:
        return None
    rows = [_fields(item) for item in items]
    numbers = [row.get("number", place) for place, row in enumerate(rows, start=1)]
    by_number = dict(zip(map(str, numbers), rows, strict=True))
    if len(rows) != count or set(by_number) != {str(number) for number in range(1, count + 1)}:
        raise RatingParseError(f"it judges the errors {', '.join(map(str, numbers))}; there are 1 to {count}")
    return tuple(_view(by_number[str(number)]) for number in range(1, count + 1))


def _view(fields: dict[str, Any]) -> View:
    said = next((fields[name] for name in _EXISTS if name in fields), None)
    exists = _truth(said)
    if exists is None:
        raise RatingParseError(f"whether an error exists is said by yes or no, and not by {str(said)[:40]!r}")
    return View(exists, _severity(fields.get("severity")).severity if exists else "neutral")


def _fields(data: Any) -> dict[str, Any]:
    pairs = data if isinstance(data, Pairs) else data.items() if isinstance(data, dict) else ()
    return {_plain(key): value for key, value in pairs}


def _truth(value: Any) -> bool | None:
    word = "" if value is None else str(value).strip().rstrip(".").casefold()
    return True if word in _YES else False if word in _NO else None


def _plain(key: object) -> str:
    return str(key).strip().casefold().replace("_", " ").replace("-", " ")
