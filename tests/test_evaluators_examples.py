"""The worked examples in the prompts: read whole by their evaluators' readers, and shown for the right languages."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from mtagent.evaluators import eaprompt, himate, m_mad, rubric_mqm, single_agent
from mtagent.evaluators.headings import read_headed
from mtagent.evaluators.rubric_mqm import RubricMQM
from mtagent.evaluators.typology import CORES, SUBTYPES, subtype_of
from mtagent.llm import prompts
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.prompts import Example
from mtagent.records import ErrorSpan, Segment
from mtagent.text import edits, mqm

Errors = tuple[ErrorSpan, ...]
SCALES: dict[mqm.Scale, str] = {"1-4": "rubric-mqm", "1-8": "rubric-mqm-8", "1-100": "rubric-mqm-100"}
RUBRIC_CATEGORIES = {
    *("addition", "mistranslation", "omission", "untranslated text", "grammar"),
    *("inconsistency", "punctuation", "word order", "terminology", "style"),
}
SUBTYPE_NAMES = {subtype.category for subtype in SUBTYPES}


def headed(example: Example) -> Errors:
    return read_headed(example.reply, example.values["translation"], source=example.values["source"])


def itemised(example: Example) -> Errors:
    return eaprompt.parse(example.reply, example.values["translation"], example.values["source"])


def itemised_and_scored(example: Example) -> Errors:
    text, source = example.values["translation"], example.values["source"]
    errors, counted = eaprompt.parse_once(example.reply, text, source)
    assert counted.score == -sum(5 if error.severity == "major" else 1 for error in errors)
    return errors


def of_dimension(dimension: str, example: Example) -> Errors:
    return m_mad.parse(example.reply, example.values["translation"], dimension)


def of_subtype(example: Example) -> Errors:
    subtype = subtype_of(example.when or "") if "/" in (example.when or "") else None
    if subtype is None:
        assert example.reply == '{"errors": []}'
        return ()
    errors = himate.parse_subtype(example.reply, example.values["translation"], subtype)
    assert {error.category for error in errors} == {example.when}
    assert all(error.explanation for error in errors)
    return errors


def on_scale(scale: mqm.Scale, example: Example) -> Errors:
    return rubric_mqm.parse(example.reply, example.values["translation"], scale)


def of_typology(example: Example) -> Errors:
    return single_agent.parse(example.reply, example.values["translation"])


Reader = Callable[[Example], Errors]
READERS: dict[str, tuple[Reader, set[str] | None]] = {
    **{name: (partial(on_scale, scale), RUBRIC_CATEGORIES) for scale, name in SCALES.items()},
    "gemba-mqm": (headed, None),
    "gemba-esa": (headed, None),
    "eaprompt-errors": (itemised, None),
    "eaprompt-once": (itemised_and_scored, None),
    "single-agent": (of_typology, SUBTYPE_NAMES),
    "himate-subtype": (of_subtype, SUBTYPE_NAMES),
    **{
        f"m-mad-{name}": (partial(of_dimension, name), {f"{name}/{kind}" for kind in kinds} | {"non-translation"})
        for name, kinds in m_mad.DIMENSIONS.items()
    },
}
"""Each prompt with examples: its reader, and the categories that there are."""


@pytest.mark.parametrize("name", READERS)
def test_every_example_is_read_whole(name: str) -> None:
    read, categories = READERS[name]
    for example in prompts.load(name).examples:
        text, source = example.values["translation"], example.values["source"]
        for error in read(example):
            assert categories is None or error.category in categories
            if error.side == "omission":
                assert error.text in source
                assert any(f"{error.before or ''}{gap}{error.after or ''}" in text for gap in ("", " "))
            else:
                assert error.text == text[error.start : error.end]
                assert f"{error.before or ''}{error.text}{error.after or ''}" in text


def shown(name: str, pair: str, folder: Path | None = None, **values: str | None) -> str:
    """The language pairs of the examples that a segment of ``pair`` is asked with, in order."""
    prompt, (source_lang, target_lang) = prompts.load(name, folder), pair.split(">")
    segment = Segment(id="1", source="s", source_lang=source_lang, target_lang=target_lang)
    conditions = {"forced": None, "fluency": "yes", "fluency/grammar": "yes", **values}
    of_segment = prompts.segment_values(segment, translation="t")
    messages = prompt.render({**dict.fromkeys(prompt.variables, "x"), **of_segment, **conditions})
    questions = [message.content for message in messages[:-1] if message.role == "user"]
    names = [re.findall(r"^(\w\w)\w+ (?:source|translation)\b", question, re.MULTILINE) for question in questions]
    return " ".join(">".join(pair) for pair in names)


FREE = " En>Sp"
OTHERS = "En>Ge Ch>En Ja>Ko"


@pytest.mark.parametrize(
    ("names", "pair", "languages"),
    [
        (SCALES.values(), "en>de", "En>Ge En>Ge En>Ge" + FREE),
        (SCALES.values(), "zh>en", "Ch>En Ch>En Ch>En" + FREE),
        (SCALES.values(), "ja>ko", "Ja>Ko Ja>Ko Ja>Ko" + FREE),
        (SCALES.values(), "en>is", OTHERS + FREE),
        *((["gemba-mqm", "gemba-esa"], pair, "En>Ge En>Cz Ch>En") for pair in ("en>de", "en>is", "zh>en")),
        (["eaprompt-errors", "eaprompt-once"], "en>de", "En>Ge"),
        (["eaprompt-errors", "eaprompt-once"], "zh>en", "Ch>En"),
        (["eaprompt-errors", "eaprompt-once"], "de>en", "Fr>Sp"),
        (["single-agent"], "en>de", "En>Ge En>Po"),
        (["single-agent"], "zh>en", "Ch>En En>Po"),
        (["single-agent"], "cs>uk", "En>Fr En>Po"),
        (["himate-subtype"], "en-GB>de-AT", "En>Ge En>Ge"),
        (["himate-subtype"], "zh-Hans>en", "Ch>En Ch>En"),
        (["himate-subtype"], "fr>it", "En>It Fr>En"),
        (["m-mad-accuracy"], "en>de-AT", "En>Ge En>Ge En>Ge En>Ge"),
        (["m-mad-accuracy"], "zh-CN>en-GB", "Ch>En Ch>En Ch>En Ch>En"),
        (["m-mad-accuracy"], "is>pl", "En>Sp Ja>En En>Fr En>Po"),
    ],
)
def test_a_pair_with_examples_of_its_own_is_shown_those_and_others_the_multilingual_ones(
    names: list[str], pair: str, languages: str
) -> None:
    assert {name: shown(name, pair) for name in names} == dict.fromkeys(names, languages)


@pytest.mark.parametrize("name", ["rubric-mqm", "gemba-mqm"])
def test_a_user_adds_examples_for_a_pair(name: str, tmp_path: Path) -> None:
    reply = {"rubric-mqm": '{"errors": []}', "gemba-mqm": "Minor:\\nno-error"}[name]
    (tmp_path / f"{name}.examples.toml").write_text(
        f"""[[examples]]
lp = "en-is"
reply = {json.dumps(reply)}
[examples.values]
source_language = "English"
target_language = "Icelandic"
source = "I have a cat"
translation = "ég á hund"
""",
        encoding="utf-8",
    )
    whatever_the_pair = {"rubric-mqm": FREE.strip(), "gemba-mqm": "En>Ge En>Cz Ch>En"}[name]
    assert shown(name, "en>is", tmp_path) == f"{whatever_the_pair} En>Ic"
    assert shown(name, "en>de", tmp_path) == shown(name, "en>de")
    if name == "rubric-mqm":
        own = RubricMQM(ScriptedLLM([]), prompts_folder=tmp_path)
        assert own.signature != RubricMQM(ScriptedLLM([])).signature
        assert shown("rubric-mqm-8", "en>is", tmp_path) == shown("rubric-mqm-8", "en>is")


# What holds for the examples of one method


CORRECTED = {
    "The clinic stays closed on Friday, so please collect your test results by Thursday noon.": (
        "Die Klinik bleibt am Freitag geschlossen, also bitte holen Sie Ihre Testergebnisse bis Donnerstagmittag ab."
    ),
    "这家店周末人很多，建议提前三天预订，而且只收现金。": (
        "This shop gets crowded on weekends; it is recommended to book three days in advance, and only cash is "
        "accepted."
    ),
    "会議は午後二時からですが、資料は前日までに送ってください。": (
        "회의는 오후 두 시부터이지만, 자료는 전날까지 보내 주세요."
    ),
    "Restart the device to finish the update.": "Reinicie el dispositivo para completar la actualización.",
    "Please hand in the form in person by 5 p.m. on 3 March; late applications will not be considered.": (
        "Bitte reichen Sie das Formular bis 17 Uhr am 3. März persönlich ein; verspätete Bewerbungen werden nicht "
        "berücksichtigt."
    ),
    "Her latest novel tells the story of a lighthouse keeper who eventually loses his sight.": (
        "Ihr neuester Roman erzählt die Geschichte eines Leuchtturmwärters, der schließlich sein Augenlicht verliert."
    ),
    "由于台风影响，原定于周六举行的音乐会将延期至下月，已购票的观众可以全额退款。": (
        "Because of the typhoon, the concert originally scheduled for Saturday will be postponed to next month, and "
        "anyone who has bought tickets can get a full refund."
    ),
    "他在这家公司干了二十年，从普通工人一步一步做到了厂长。": (
        "He has worked in this company for twenty years, rising step by step from an ordinary worker to factory "
        "director."
    ),
    "お客様のご都合により返品される場合、送料はお客様のご負担となります。": (
        "고객님의 사정으로 반품하시는 경우, 배송비는 고객님께서 부담하셔야 합니다."
    ),
    "彼は電車の中に傘を忘れたことに気づいて、慌てて駅員に連絡した。": (
        "그는 전철 안에 우산을 두고 온 것을 깨닫고 황급히 역무원에게 연락했다."
    ),
}


def test_the_examples_of_rubric_mqm_differ_in_numbers_alone_and_their_replies_correct_them() -> None:
    assert set(get_args(mqm.Scale)) == set(SCALES)
    schema: Any = prompts.load("rubric-mqm").reply_schema
    assert set(schema["properties"]["errors"]["items"]["properties"]["category"]["enum"]) == RUBRIC_CATEGORIES
    assert [prompts.load(name).user for name in SCALES.values()] == [prompts.load("rubric-mqm").user] * 3
    by_scale = []
    for scale, name in SCALES.items():
        examples = []
        for example in prompts.load(name).examples:
            errors, text = on_scale(scale, example), example.values["translation"]
            changes = edits.locate(text, errors)
            assert {edit.outcome for edit in changes} <= {"applied"}
            assert CORRECTED[example.values["source"]] == edits.apply(text, changes)
            without_numbers = [error.model_copy(update={"penalty": None}) for error in errors]
            examples.append((example.lp, example.default, example.unless, example.values, without_numbers))
        by_scale.append(examples)
    assert by_scale == [by_scale[0]] * 3
    assert shown("rubric-mqm", "en>is", forced="yes") == OTHERS


@pytest.mark.parametrize("name", m_mad.DIMENSIONS)
def test_the_fourth_example_of_m_mad_is_a_non_translation(name: str) -> None:
    prompt = prompts.load(f"m-mad-{name}")
    schema: Any = prompt.reply_schema
    categories = [*(f"{name}/{kind}" for kind in m_mad.DIMENSIONS[name]), "non-translation"]
    assert schema["properties"]["annotations"]["items"]["properties"]["category"]["enum"] == categories
    assert Counter(example.lp for example in prompt.examples) == {"zh-en": 4, "en-de": 4, "other": 4}
    severities = set()
    for number, example in enumerate(prompt.examples):
        errors = of_dimension(name, example)
        assert len(errors) == len(json.loads(example.reply)["annotations"])
        kinds = {error.category == "non-translation" for error in errors}
        assert kinds == ({True} if number % 4 == 3 else set() if number % 4 == 1 else {False})
        severities |= {error.severity for error in errors}
    assert severities == {"major", "minor"}


def test_every_subtype_of_himate_has_an_example_with_and_one_without_error_for_each_set_of_languages() -> None:
    examples = prompts.load("himate-subtype").examples
    assert {(example.when, example.lp) for example in examples} == {
        (name, lp) for name in (*SUBTYPE_NAMES, *CORES) for lp in ("zh-en", "en-de", "mul")
    }
    assert all(bool(of_subtype(example)) == ("/" in (example.when or "")) for example in examples)


def test_the_examples_of_the_single_agent_are_of_four_core_types() -> None:
    marked = [error for example in prompts.load("single-agent").examples for error in of_typology(example)]
    assert len({error.category.partition("/")[0] for error in marked}) == 4
