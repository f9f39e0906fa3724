"""Replies that are no verdict, given to every evaluator that asks a model: none is read as a score.

A report of a failure inside of JSON, the request itself, its form or an example of it, pages of servers, and bounds in
place of numbers: each is the answer to every request of an evaluator, and all of them must end as an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mtagent.config import Config
from mtagent.errors import EmptyReply, EvaluationError, RatingParseError, UnreadableReply
from mtagent.evaluators.fixes import parse_fixes
from mtagent.evaluators.headings import read_headed
from mtagent.evaluators.pairwise import MOST_CONTRADICTIONS, WATCHED, Pairwise, read_choice
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.rating import rating_by, with_absent_spans_noted
from mtagent.evaluators.registry import EVALUATORS, Surroundings, asks_model, make_evaluator
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.prompts import load, segment_values
from mtagent.llm.reading import plain_text, read_json
from mtagent.records import ErrorSpan, Judgement, Message, Rating, Segment

SEGMENT = Segment(
    id="1",
    source="The clinic stays closed on Friday, so please collect your results by noon.",
    source_lang="en",
    target_lang="de",
)
TEXT = "Die Klinik bleibt am Freitag geschlossen, also holen Sie bitte Ihre Ergebnisse bis Mittag ab."
OPTIONS = (
    "eaprompt:steps=1", "rubric-mqm:scale=1-8", "rubric-mqm:scale=1-100", "himate:stages=se", "m-mad:rounds=1",
    "mqm-ape:evaluator=rubric-mqm",
)  # fmt: skip
ASKING = (*(name for name in EVALUATORS if asks_model(name)), *OPTIONS)

NONE = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error"
FAILURES = (
    '{"error": "context length exceeded"}',
    '{"errors": [], "error": "context length exceeded"}',
    '{"errors": [], "refusal": "I cannot help with that."}',
    '{"errors": [], "status": "failed"}',
    '{"errors": [], "statusCode": 503}',
    '{"errors": [], "truncated": true}',
    '{"errors": [], "is_truncated": "true"}',
    '{"errors": [], "success": false}',
    '{"errors": [], "ok": false}',
    '{"errors": [], "message": "The request could not be processed."}',
    '{"errors": [], "detail": "Too many requests"}',
    '{"errors": [], "meta": {"finishReason": "MAX_TOKENS"}}',
    '{"errors": [{"message": "context length exceeded"}]}',
    '{"errors": ["context length exceeded"]}',
    '{"result": {"errors": []}, "error": "timeout"}',
    '{"annotations": [], "exception": "ValueError"}',
    '{"exists": false, "error_message": "internal error"}',
    '{"score": 0, "error": "model overloaded"}',
    '{"score": 95, "error": {"message": "overloaded", "code": 529}}',
    '{"score": 100, "finish_reason": "length"}',
    '{"score": 4, "errors": [], "gaps": [], "rationale": "Good.", "confidence": 1, "error": "cut off"}',
    '[{"error": "rate limit"}]',
    '{"errors": []}\n{"error": "rate limit"}',
    f'{NONE}\n{{"error": "context length exceeded"}}',
    '{"errors": [], "explanation": "Unable to evaluate: the context length was exceeded."}',
    '{"errors": [], "comment": "request failed, please retry"}',
    '{"errors": [], "note": "I cannot assist with this request."}',
    '{"errors": [], "reason": "I can’t rate this text."}',
    '{"exists": false, "rationale": "The server is overloaded."}',
    '{"errors": [], "status": "500"}',
    '{"errors": [], "status": "error: overloaded"}',
    '{"errors": [], "status": "Failed after 3 tries"}',
    '{"errors": [], "code": "rate_limit_exceeded"}',
    '{"errors": [], "type": "error"}',
    '{"errors": [], "err": "overloaded"}',
    '{"score": 0, "message": "The request could not be processed."}',
    '{"errors": [], "rate_limited": true}',
    '{"errors": [], "warning": "the input was cut to 512 tokens"}',
    '{"errors": [], "detail": "Not authenticated"}',
    '{"errors": [], "reason": "No translation was given."}',
    '{"errors": [], "explanation": "There is no translation to evaluate."}',
    '{"errors": [], "comment": "Please provide the translation."}',
    '{"errors": [], "notes": "I could not read the translation."}',
)
OTHERS = (
    "", "...", "null", "{}", "None", '{"errors": [', "Critical:\nMajor:\nMinor:", '{"score": null}',
    '{"score": [80, 90]}', "The translation is excellent!", "I cannot evaluate this.",
    "Sorry, I can't help with that request.", "Error: context length exceeded",
    "<html><body>502 Bad Gateway</body></html>", f"{NONE}\nError: context length exceeded",
    '{"errors": []} Error: the reply was truncated',
    '{"errors": []}\n\nError: the request timed out', "[]\nException: quota",
    '{"errors": []}\n**Error:** the request timed out', '{"errors": []}\nError 429: slow down',
    '{"errors": []}\nTimeoutError: no reply', '{"errors": []}\nToo many requests.',
    'Error: the request timed out\n{"errors": []}', 'Please provide the translation.\n[]',
    "I cannot evaluate this text.\n[]", "Unfortunately, I was unable to open the text.\n[]",
    '{"errors": []}\nThere is no translation to judge.',
    '{"errors": []}\nI\'m sorry, but I cannot evaluate this translation.', "[]\nI am unable to assess this text.",
    '{"errors": [{"span": "...", "before": "...", "after": "...", "category": "...", "severity": "major"}]}',
    "Score: below 50", "The quality is below 50 out of 100.", "at least 80/100", '{"score": "above 80"}',
    "between 60 and 70", "not 90/100", "Score: 80+",
)  # fmt: skip


def made(spec: str, reply: Callable[[Sequence[Message], str], str]) -> Evaluator:
    return make_evaluator(spec, Surroundings(ScriptedLLM(reply), Config(), Path("nowhere")))


async def assert_unreadable(spec: str, reply: Callable[[Sequence[Message], str], str]) -> None:
    evaluator = made(spec, reply)
    try:
        rating = await evaluator.rate(SEGMENT, TEXT)
    except (UnreadableReply, EmptyReply, EvaluationError):
        return
    pytest.fail(f"{spec} read the score {rating.score:g} with the errors {rating.errors}")


@pytest.mark.parametrize("spec", ASKING)
async def test_what_is_no_verdict_is_no_score(spec: str) -> None:
    for reply in (*FAILURES, *OTHERS):
        await assert_unreadable(spec, lambda messages, purpose, reply=reply: reply)  # type: ignore[misc]


# The request itself


def request_of(messages: Sequence[Message]) -> list[str]:
    """The texts of a request, without the reply that it asks for once more."""
    texts = [message.content for message in messages]
    return texts[:-2] if texts[-1].startswith("That reply could not be used") else texts


def whole(messages: Sequence[Message], purpose: str) -> str:
    return "\n\n".join(request_of(messages))


def system(messages: Sequence[Message], purpose: str) -> str:
    return request_of(messages)[0]


def labelled(messages: Sequence[Message], purpose: str) -> str:
    return f"System: {request_of(messages)[0]}\nAssistant:"


def cut(messages: Sequence[Message], purpose: str) -> str:
    text = request_of(messages)[0]
    return text[len(text) // 2 :]


def last_lines(messages: Sequence[Message], purpose: str) -> str:
    return "\n".join(request_of(messages)[0].split("\n")[-7:])


def form(messages: Sequence[Message], purpose: str) -> str:
    text = request_of(messages)[0]
    start = text.rfind("Reply in")
    return text[start:] if start >= 0 else text[-120:]


def asked(messages: Sequence[Message], purpose: str) -> str:
    return request_of(messages)[-1]


def example(messages: Sequence[Message], purpose: str) -> str:
    shown = [message.content for message in messages if message.role == "assistant"]
    marking = [
        reply for reply in shown if '"' in reply.replace('{"errors": []}', "").replace('{"annotations": []}', "")
    ]
    return marking[0] if marking else "?"


@pytest.mark.parametrize("repeat", [whole, system, labelled, cut, last_lines, form, asked, example])
@pytest.mark.parametrize("spec", ASKING)
async def test_the_request_repeated_is_no_score(spec: str, repeat: Callable[[Sequence[Message], str], str]) -> None:
    await assert_unreadable(spec, repeat)


@pytest.mark.parametrize("repeat", [whole, system, labelled, cut, form, asked])
async def test_the_request_repeated_is_no_choice(repeat: Callable[[Sequence[Message], str], str]) -> None:
    with pytest.raises(UnreadableReply, match="repeats the instructions"):
        await Pairwise(ScriptedLLM(repeat)).compare(SEGMENT, TEXT, f"{TEXT} Danke.")


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("gemba-mqm", NONE),
        ("single-agent", '{"errors": []}'),
        ("m-mad-accuracy", '{"annotations": []}'),
        ("compare", '{"better": "tie"}'),
        ("himate-correct", TEXT),
        ("eaprompt-once", 'Major errors:\nno-error\nMinor errors:\n(1) "Mittag" - terminology'),
    ],
)
def test_what_the_instructions_hold_may_be_the_answer(name: str, reply: str) -> None:
    values = segment_values(SEGMENT, translation=TEXT, translation_a="a", translation_b="b", findings="f")
    values |= dict.fromkeys(("typology", "severities", "subtype", "definition"), "shown")
    assert not load(name).repeated_in(reply, values)


async def test_the_example_may_be_the_segment() -> None:
    shown = load("gemba-mqm").examples[0]
    segment = Segment(id="1", source=shown.values["source"], source_lang="en", target_lang="de")
    evaluator = made("gemba-mqm", lambda messages, purpose: shown.reply)
    assert len((await evaluator.rate(segment, shown.values["translation"])).errors or ()) == 4


# JSON that reports a failure


@pytest.mark.parametrize(
    "reply",
    [
        '{"errors": [{"span": "Mittag", "error": "It says failed."}]}',
        '{"error": {"severity": 3, "category": "style"}}',
        '{"error": [{"severity": "minor", "explanation": "x"}]}',
        '{"error": "no", "errors": []}',
        '{"error": "yes", "errors": [{"span": "Mittag"}]}',
        '{"error": null, "errors": [], "status": "completed", "finish_reason": "stop", "success": true, "code": 200}',
        '{"errors": [], "message": "No errors could be found."}',
        '{"better": "A", "explanation": "B failed to say when."}',
        '{"failed": {"severity": "minor", "category": "style"}}',
        '{"score": 85, "message": "One term is too long."}',
        '{"score": 40, "details": "It failed to render the idiom."}',
        '{"score": 60, "warning": "the text is truncated"}',
        '{"errors": [], "complete": false}',
        '{"errors": [], "status": "error-free"}',
        '{"errors": {"Haus": {"error": "mistranslation"}}}',
        '{"errors": [], "explanation": "No errors: \\"rate limit\\" is rendered well and nothing was truncated."}',
        '{"errors": [{"text": "Haus", "type": "error", "note": "It cannot rate as formal."}]}',
        '{"errors": []}\nError: none',
        '{"errors": []}\nErrors: 0',
        '{"errors": []}\n**Error:** none',
        '{"errors": []}\nError: there are no errors.',
        '{"errors": []}\nThe right translation of\n"Error: the request timed out"\nis "Fehler: Zeitüberschreitung".',
        '{"errors": []}\n> Error: the request timed out\nis translated well.',
        '{"errors": []}\nThe translation asks the user to provide a translation, as the source does.',
        '{"errors": [], "explanation": "The source says that no text was found, and so does the translation."}',
        '{"errors": []}\nUsers are unable to open the text, which the translation says too.',
        'The translation cannot be improved.\n{"errors": []}',
        '{"errors": []}\nNo translation was needed for the name.',
        '{"errors": [], "note": "No translation is needed for the name."}',
        '{"errors": []}\nI could not find an error, and "I cannot help you" is right.',
    ],
)
def test_words_of_failure_in_a_verdict_are_no_report(reply: str) -> None:
    assert read_json(reply)


@pytest.mark.parametrize(
    "report",
    [
        "Fehler:", "Fehler: Zeitüberschreitung", "Fehler: nicht angemeldet",
        "**Fehler:** Modell überlastet", "Fehler: keine Verbindung", "Error:",
        "[Error]", "[ERROR] the request timed out", "[Error: overloaded]", "**[Error]**", "Erreur : délai dépassé",
        "错误：超时", "エラー：タイムアウト",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["{}\n{}", "{} {}", "{}\n```json\n{}\n```", "{}\n\n{}"])
def test_a_report_before_an_empty_verdict_is_no_perfect_score(report: str, form: str) -> None:
    with pytest.raises(RatingParseError, match="declines to judge"):
        read_json(form.format(report, '{"errors": []}'))
    assert read_json(form.format(report, '{"errors": [{"span": "Mittag"}]}'))


@pytest.mark.parametrize(
    "remark",
    [
        "Errors:", "Errors: 0", "Error: none", "Fehler: keine", "Fehler: nicht vorhanden", "エラー: ありません",
        "Fehler: Es wurden keine Fehler gefunden.",
        "Mögliche Fehler:", "Fehler:\n- keine", "错误: 没有错误", "没有错误：", "Fehleranalyse:", "Error analysis:",
    ],
)  # fmt: skip
def test_a_label_or_a_stated_none_before_an_empty_verdict_is_no_report(remark: str) -> None:
    assert read_json(f'{remark}\n{{"errors": []}}') == {"errors": []}


@pytest.mark.parametrize("reply", FAILURES[:13])
def test_a_report_is_no_choice_no_fix_and_no_text(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_choice(reply)
    with pytest.raises(UnreadableReply):
        parse_fixes(reply, [ErrorSpan(text="Mittag", category="style", severity="minor")])
    with pytest.raises(UnreadableReply, match="reports a failure"):
        plain_text(reply, TEXT)


def test_json_that_is_translated_may_speak_of_failures() -> None:
    reply = '{"error": "Kontextlänge überschritten"}'
    assert plain_text(reply, '{"error": "context length exceeded"}') == reply


async def test_a_reply_that_reports_a_failure_is_asked_for_once_more() -> None:
    llm = ScriptedLLM([FAILURES[1], '{"score": 80}'])
    evaluator = make_evaluator("gemba-da", Surroundings(llm, Config(), Path("nowhere")))
    rating = await evaluator.rate(SEGMENT, TEXT)
    assert rating.score == 80
    assert "reports a failure (error: context length exceeded)" in (rating.calls[0].error or "")


# Spans that are nowhere


async def test_spans_that_do_not_occur_count_with_a_warning() -> None:
    reply = 'Major:\nstyle/awkward - "Mittag"\nstyle/awkward - "nirgends"\nMinor:\nfluency/grammar - "nie"'
    rating = await rating_by(made("gemba-mqm", lambda messages, purpose: reply), SEGMENT, TEXT)
    assert (rating.score, len(rating.errors or ())) == (-11, 3)
    assert rating.warnings == ("it marks what does not occur in the translation: 'nirgends', 'nie'",)


async def test_what_the_source_has_is_not_looked_for_in_the_translation() -> None:
    reply = 'Major:\naccuracy/omission - "so please"\nMinor:\nno-error'
    rating = await rating_by(made("gemba-mqm", lambda messages, purpose: reply), SEGMENT, TEXT)
    assert (len(rating.errors or ()), rating.warnings) == (1, ())


def test_a_missing_mark_has_no_words_to_look_for() -> None:
    error = ErrorSpan(text="", category="fluency/punctuation", severity="minor")
    assert with_absent_spans_noted(Rating(evaluator="e", score=-1, errors=(error,)), TEXT).warnings == ()


def listing(spans: Sequence[str]) -> str:
    lines = "\n".join(f'style/awkward - "{span}"' for span in spans)
    return f"Major:\n{lines}\nMinor:\nno-error"


LONG = " ".join(f"Wort{number}" for number in range(400))


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (TEXT, ["Klinik"] * 60),  # more than the text has words
        (LONG, ["Wort7"] * 300),  # the same again and again
        (LONG, [f"nirgends{number}" for number in range(60)]),
    ],
)
def test_a_flood_of_errors_is_unreadable(text: str, spans: list[str]) -> None:
    with pytest.raises(RatingParseError, match="errors"):
        read_headed(listing(spans), text)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (LONG, [f"Wort{number}" for number in range(200)]),
        (LONG, [f"Wort{number}" for number in range(40)] + ["nirgends"] * 20),
        (TEXT, ["nirgends"] * 50),
    ],
)
def test_many_errors_in_a_long_text_are_read(text: str, spans: list[str]) -> None:
    assert len(read_headed(listing(spans), text)) == len(spans)


# A judge that chooses by place


async def test_a_judge_that_chooses_by_place_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    choices = ["A"] * 2 * (WATCHED + 5)
    pairwise = Pairwise(ScriptedLLM([f'{{"better": "{choice}"}}' for choice in choices], model="small"))
    with caplog.at_level(logging.WARNING):
        for number in range(WATCHED + 5):
            await pairwise.compare(SEGMENT, TEXT, f"{TEXT} {number}")
            assert len(caplog.messages) == (number + 1 >= WATCHED)
    assert "the judge (small, comparing both texts)" in caplog.messages[0]
    assert "name another model" in caplog.messages[0]


CONTRADICTION, FIRM, HALF_TIE, FULL_TIE = ("A", "A"), ("B", "A"), ("A", "tie"), ("tie", "tie")


@pytest.mark.parametrize(
    ("comparisons", "contradictions"),
    [
        ([FIRM] * 4 + [CONTRADICTION] * 16, 16),
        ([CONTRADICTION] * 8 + [HALF_TIE] * 4 + [CONTRADICTION] * 8, 16),
        ([*[CONTRADICTION] * 10, FIRM, *[CONTRADICTION] * 9], 19),
        (([CONTRADICTION] * 10 + [FULL_TIE] * 30) * 2, 20),
        ([FIRM] * 20 + [CONTRADICTION] * 16, 16),
        ([FIRM] * 5 + [CONTRADICTION] * 15, 0),
        ([HALF_TIE] * 5 + [CONTRADICTION] * 15, 0),
        ([CONTRADICTION] * 19 + [FULL_TIE] * 30, 0),
        (([CONTRADICTION] * 3 + [FIRM]) * 20, 0),
    ],
)
async def test_a_judge_is_reported_that_contradicts_itself_in_16_of_its_last_20_comparisons(
    comparisons: list[tuple[str, str]], contradictions: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert (MOST_CONTRADICTIONS, WATCHED) == (16, 20)
    choices = [choice for comparison in comparisons for choice in comparison]
    pairwise = Pairwise(ScriptedLLM([f'{{"better": "{choice}"}}' for choice in choices]))
    for number in range(len(comparisons)):
        await pairwise.compare(SEGMENT, TEXT, f"{TEXT} {number}")
    said = [f"contradicted itself in {contradictions} of its last 20 comparisons"] if contradictions else []
    assert len(caplog.messages) == len(said)
    assert all(words in message for words, message in zip(said, caplog.messages, strict=True))


def test_a_contradiction_is_no_tie() -> None:
    contradicting = Judgement(judge="j", choices=("before", "after"))
    tie = Judgement(judge="j", choices=("tie", "tie"))
    assert contradicting.contradicts_itself
    assert not tie.contradicts_itself
    assert not Judgement(judge="j", choices=("before", "tie")).contradicts_itself
    assert contradicting.difference == tie.difference == 0
