"""Headed lists of errors, in the shapes that models give them: read, or refused; never perfect by accident."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import RatingParseError
from mtagent.evaluators.headings import read_headed
from mtagent.text import mqm

SOURCE = "The account holder must agree today, and the red dog slept."
TEXT = "El Banco pagó a el banco «central» ayer, y el perro rojo durmió."
NONE = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error"


def spans(reply: str, translation: str = TEXT) -> list[tuple[str, str, str]]:
    return [(e.severity, e.category, e.text) for e in read_headed(reply, translation, source=SOURCE)]


ONE = [("major", "accuracy/mistranslation", "perro rojo")]


@pytest.mark.parametrize(
    "reply",
    [
        'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        'MQM annotations:\nCritical:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n',
        '**Critical:**\nno-error\n\n**Major:**\naccuracy/mistranslation - "perro rojo"\n\n**Minor:**\nno-error',
        '**Critical**:\n- no-error\n**Major**:\n- accuracy/mistranslation - "perro rojo"\n**Minor**:\n- no-error',
        '### Critical errors\nNone\n\n### Major errors\n1. accuracy/mistranslation - "perro rojo"\n\n### Minor\nNone',
        'Critical: no-error\nMajor: accuracy/mistranslation - "perro rojo"\nMinor: no-error',
        'Major: accuracy/mistranslation - "perro rojo"',
        'MAJOR:\nACCURACY/MISTRANSLATION - "perro rojo"\nMINOR:\nNO-ERROR',
        "Major:\naccuracy/mistranslation – “perro rojo”\nMinor:\nnone",
        "Major:\naccuracy/mistranslation — „perro rojo“\nMinor:\nN/A",
        "Major:\naccuracy/mistranslation: «perro rojo»\nMinor:\nn/a.",
        "Major:\naccuracy/mistranslation：「perro rojo」\nMinor：\nNone.",
        "Major:\n* accuracy/mistranslation - 'perro rojo'\nMinor:\n* (none)",
        "Major:\n`accuracy/mistranslation` - `perro rojo`\nMinor:\n`no-error`",
        "Major:\n**accuracy/mistranslation** - **perro rojo**\nMinor:\n*no-error*",
        "Major:\naccuracy/mistranslation - perro rojo\nMinor:\nno-error",
        "Major:\n[accuracy/mistranslation]-[perro rojo]\nMinor:\n[no-error]",
        "Major:\naccuracy/mistranslation-perro rojo\nMinor:\nno-error",
        'Major:\nAccuracy (mistranslation): "perro rojo"\nMinor:\nno error',
        'Major:\nAccuracy - Mistranslation - "perro rojo"\nMinor:\nNo errors found.',
        'Major:\nAccuracy: mistranslation: "perro rojo"\nMinor:\nNo minor errors.',
        'Major errors:\n(1) "perro rojo" - accuracy/mistranslation\nMinor errors:\nNone identified',
        'Major errors:\n- (1) "perro rojo" - Accuracy/Mistranslation\nMinor errors:\n- None',
        'Major errors (1):\n1) "perro rojo" (accuracy/mistranslation)\nMinor errors (0):\nno-error',
        'Minor:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nCritical:\nno-error',
        'Major:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        'Critical: no-error Major: accuracy/mistranslation - "perro rojo" Minor: no-error',
        '<think>Major: hm, "rojo"?</think>\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        '```\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n```',
        'Here is my analysis:\n\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n\nLet me know!',
        'Major:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n\nOverall, the translation is good.',
        'Critical:\n\nMajor:\naccuracy/mistranslation - "perro rojo"\n\nMinor:\nno-error',
        'There are no critical errors.\n\nMajor:\n- accuracy/mistranslation - "perro rojo"\n\nNo minor errors.',
        '[{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": "major"}]',
        '{"critical": [], "major": [{"span": "perro rojo", "category": "accuracy/mistranslation"}], "minor": []}',
        '```json\n{"Major": ["accuracy/mistranslation - \\"perro rojo\\""], "Minor": ["no-error"]}\n```',
        'Sure:\n```json\n[{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": "Major"}]\n```',
        'Sure: {"errors": [{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": "major"}]}',
        '\ufeffMajor:\r\naccuracy/mistranslation - "perro rojo"\r\nMinor:\r\nno-error\r\n',
    ],
)
def test_the_same_error_in_many_shapes(reply: str) -> None:
    assert spans(reply) == ONE
    (error,) = read_headed(reply, TEXT)
    assert TEXT[error.start : error.end] == "perro rojo"


def major(*lines: str) -> str:
    return "\n".join(["Critical:", "no-error", "Major:", *lines, "Minor:", "no-error"])


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('style/awkward style - "perro rojo"', [("style/awkward style", "perro rojo")]),
        (
            'terminology/inappropriate for context - "perro rojo"',
            [("terminology/inappropriate for context", "perro rojo")],
        ),
        ('accuracy/untranslated text - "Banco"', [("accuracy/untranslated text", "Banco")]),
        ('untranslated text - "Banco"', [("untranslated text", "Banco")]),
        ('fluency/character encoding: "ayer"', [("fluency/character encoding", "ayer")]),
        ('non-translation - "perro rojo"', [("non-translation", "perro rojo")]),
        ("non-translation", [("non-translation", TEXT)]),
        ('non-translation - "all"', [("non-translation", TEXT)]),
        ('other - "ayer"', [("other", "ayer")]),
        ('wordiness - "ayer"', [("wordiness", "ayer")]),
        ('(1) "ayer" - Awkward Style', [("awkward style", "ayer")]),
        ('(1) "ayer" - Wordiness', [("wordiness", "ayer")]),
        ('- "ayer": Mistranslation', [("mistranslation", "ayer")]),
        ("- 'ayer', Grammar", [("grammar", "ayer")]),
        ('"ayer" – Accuracy: Mistranslation', [("accuracy/mistranslation", "ayer")]),
        ('"ayer"', [("other", "ayer")]),
        ('"ayer" | accuracy/addition', [("accuracy/addition", "ayer")]),
        ('accuracy/mistranslation | "ayer"', [("accuracy/mistranslation", "ayer")]),
        ('accuracy/mistranslation "ayer"', [("accuracy/mistranslation", "ayer")]),
        ('accuracy/mistranslation ("ayer")', [("accuracy/mistranslation", "ayer")]),
        ('a) accuracy/mistranslation -- "ayer"', [("accuracy/mistranslation", "ayer")]),
        ('> accuracy / mistranslation -> "ayer"', [("accuracy/mistranslation", "ayer")]),
        ('**1.** **accuracy/mistranslation:** "ayer".', [("accuracy/mistranslation", "ayer")]),
        ('accuracy/mistranslation - "El Banco pagó a el"', [("accuracy/mistranslation", "El Banco pagó a el")]),
        (
            'style/awkward - "El Banco", "ayer" and "rojo"',
            [("style/awkward", "El Banco"), ("style/awkward", "ayer"), ("style/awkward", "rojo")],
        ),
        (
            'accuracy/mistranslation - "ayer"; fluency/grammar - "a el"',
            [("accuracy/mistranslation", "ayer"), ("fluency/grammar", "a el")],
        ),
        (
            'accuracy/mistranslation - "ayer" terminology/inappropriate for context - "rojo"',
            [("accuracy/mistranslation", "ayer"), ("terminology/inappropriate for context", "rojo")],
        ),
        (
            '(1) "ayer" - Mistranslation (2) "a el" - Grammar, (3) "rojo" - Style',
            [("mistranslation", "ayer"), ("grammar", "a el"), ("style", "rojo")],
        ),
        ("fluency/spelling - «central»", [("fluency/spelling", "central")]),
        ('fluency/punctuation - "«"', [("fluency/punctuation", "«")]),
        ('fluency/punctuation - ","', [("fluency/punctuation", ",")]),
        ('accuracy/mistranslation - the word "ayer" is wrong', [("accuracy/mistranslation", "ayer")]),
        ('accuracy/mistranslation - "yesterday" translated as "ayer"', [("accuracy/mistranslation", "ayer")]),
        ('accuracy/mistranslation - "AYER"', [("accuracy/mistranslation", "AYER")]),
        ("accuracy/mistranslation - perro rojo (wrong animal)", [("accuracy/mistranslation", "perro rojo")]),
        ("accuracy/mistranslation: perro rojo.", [("accuracy/mistranslation", "perro rojo")]),
        ("accuracy/mistranslation\u00a0― “ayer”", [("accuracy/mistranslation", "ayer")]),
        ("accuracy/mistranslation : « ayer »", [("accuracy/mistranslation", "ayer")]),
        ('accuracy/mistranslation - "yesterday" -> "ayer"', [("accuracy/mistranslation", "ayer")]),
        ('**Mistranslation**: The word "yesterday" is translated as "ayer".', [("mistranslation", "ayer")]),
        ('"ayer"\n   - Category: accuracy/mistranslation', [("accuracy/mistranslation", "ayer")]),
        ("准确性/误译 - “ayer”", [("准确性/误译", "ayer")]),
        ("accuracy - no-error", []),
        ('no-error - ""', []),
    ],
)
def test_lines_of_errors(line: str, found: list[tuple[str, str]]) -> None:
    reply = major(line, 'fluency/grammar - "durmió"')
    assert [(c, t) for _, c, t in spans(reply)] == [*found, ("fluency/grammar", "durmió")]


@pytest.mark.parametrize(
    ("translation", "line", "span"),
    [
        ('He saw the "big" house here.', 'style/awkward - "the "big" house"', 'the "big" house'),
        ('He saw the "big" house here.', '"the "big" house" - Awkward', 'the "big" house'),
        ('He saw "the big house".', 'style/awkward - ""the big house""', '"the big house"'),
        ('He saw the "big" house.', 'style/awkward - "the \\"big\\" house"', 'the "big" house'),
        ('他说"好的"吧。', 'style/awkward - "他说"好的"吧"', '他说"好的"吧'),
        ('他说"好的"吧。', 'style/awkward - “他说"好的"吧”', '他说"好的"吧'),
        ("l'amie de l'État arrive", "style/awkward - 'l'amie de l'État'", "l'amie de l'État"),
        ("the users' choice", "style/awkward - 'users' choice'", "users' choice"),
        ("It is red – or blue: choose.", 'style/awkward - "red – or blue: choose"', "red – or blue: choose"),
        ("One - two - three.", 'style/awkward - "One - two - three"', "One - two - three"),
        ("First line\nMajor: x\nlast line", 'style/awkward - "line\nMajor: x\nlast"', "line\nMajor: x\nlast"),
        ("First.\n\nSecond.", '"First.\n\nSecond" - Awkward', "First.\n\nSecond"),
        ("It was no-error at all.", 'style/awkward - "no-error"', "no-error"),
        ("It was no-error at all.", 'style/awkward - "was no-error at"', "was no-error at"),
        ("The rank: Major: yes", 'style/awkward - "rank: Major: yes"', "rank: Major: yes"),
        ("The rank: Major: yes", "style/awkward - rank: Major: yes", "rank: Major: yes"),
        ('A 5" screen', 'style/awkward - 5" screen', '5" screen'),
        ("Say `ls` now", "style/awkward - ``Say `ls` now``", "Say `ls` now"),
        ("It says accuracy/omission - so.", 'style/awkward - "accuracy/omission - so"', "accuracy/omission - so"),
        ("One\ntwo", 'style/awkward - "One\\ntwo"', "One\ntwo"),
        ("Wait , here", 'fluency/punctuation - " ,"', " ,"),
        ("C:\\new and \\1", 'style/awkward - "C:\\new and \\1"', "C:\\new and \\1"),
        ("Ein “Haus” hier", "style/awkward - “Ein “Haus” hier”", "Ein “Haus” hier"),
        ("日本の『本』です", "style/awkward - 「日本の『本』です」", "日本の『本』です"),
    ],
)
def test_spans_come_through_whole(translation: str, line: str, span: str) -> None:
    (error,) = read_headed(major(line), translation)
    assert (error.text, error.category.rpartition("/")[2]) in {(span, "awkward"), (span, "punctuation")}
    assert translation[error.start : error.end] == span
    assert error.severity == "major"


@pytest.mark.parametrize(
    ("line", "span", "suggestion", "explanation"),
    [
        ('accuracy/mistranslation - "rojo" should be "azul"', "rojo", "azul", None),
        ('accuracy/mistranslation - "rojo" (should be "azul")', "rojo", "azul", None),
        ('accuracy/mistranslation - "rojo" -> "azul"', "rojo", "azul", None),
        ("accuracy/mistranslation - “rojo” → “azul”", "rojo", "azul", None),
        ("accuracy/mistranslation - rojo → azul", "rojo", "azul", None),
        ('accuracy/mistranslation - "rojo"; suggestion: "azul"', "rojo", "azul", None),
        ('accuracy/mistranslation - "rojo", correct translation: "azul".', "rojo", "azul", None),
        ('accuracy/mistranslation - "rojo" instead of "azul"', "rojo", "azul", None),
        ('accuracy/mistranslation - "azul" instead of "rojo"', "rojo", "azul", None),
        ('(1) "rojo" should be "azul" - Mistranslation', "rojo", "azul", None),
        ('(1) "rojo" - Mistranslation: should be "azul"', "rojo", "azul", None),
        ('(1) "rojo" -> "azul" (Mistranslation)', "rojo", "azul", None),
        (
            'accuracy/mistranslation - "rojo" should be "azul", because it is blue',
            "rojo",
            "azul",
            "because it is blue",
        ),
        ('accuracy/mistranslation - "rojo" should be "azul" or "verde"', "rojo", None, 'should be "azul" or "verde"'),
        ('accuracy/mistranslation - "rojo" (the source says "blue")', "rojo", None, 'the source says "blue"'),
        ('accuracy/mistranslation - "rojo" should not be "azul"', "rojo", None, 'should not be "azul"'),
        ('accuracy/mistranslation - "rojo": the wrong colour', "rojo", None, "the wrong colour"),
        ('(1) "rojo" - Mistranslation - the wrong colour', "rojo", None, "Mistranslation - the wrong colour"),
        ('accuracy/mistranslation - "rojo"\n  Explanation: the wrong colour', "rojo", None, "the wrong colour"),
        ('accuracy/mistranslation - "rojo"\n  Suggestion: "azul"', "rojo", "azul", None),
    ],
)
def test_suggestions_and_explanations(line: str, span: str, suggestion: str | None, explanation: str | None) -> None:
    (error,) = read_headed(major(line), TEXT, source=SOURCE)
    assert (error.text, error.category.rpartition("/")[2]) == (span, "mistranslation")
    assert (error.suggestion, error.explanation) == (suggestion, explanation)


@pytest.mark.parametrize(
    "line",
    [
        'accuracy/omission - "The account holder"',
        "accuracy/omission - The account holder",
        '(1) "The account holder" - Omission',
        "omission: «The account holder»",
    ],
)
def test_omissions_name_source_words(line: str) -> None:
    (error,) = read_headed(major(line), TEXT, source=SOURCE)
    assert (error.text, error.side, error.start) == ("The account holder", "omission", None)


def test_an_omission_that_marks_words_of_the_translation() -> None:
    (error,) = read_headed(major('accuracy/omission - "perro rojo"'), TEXT)
    assert (error.side, error.start) == ("translation", TEXT.index("perro rojo"))


def test_duplicate_spans_are_kept() -> None:
    line = 'accuracy/mistranslation - "perro rojo"'
    assert spans(major(line, line)) == ONE * 2


def test_severities_come_from_the_headings() -> None:
    reply = 'Minor:\nstyle/awkward - "ayer"\nCritical:\naccuracy/addition - "rojo"\nNeutral:\nother - "El"\nMajor: none'
    assert [severity for severity, _, _ in spans(reply)] == ["minor", "critical", "neutral"]


@pytest.mark.parametrize(
    "reply",
    [
        NONE,
        NONE.casefold(),
        NONE.upper(),
        NONE.replace("no-error", "None"),
        NONE.replace("no-error", "N/A"),
        NONE.replace("no-error", '"no-error"'),
        NONE.replace("no-error", "- no error."),
        NONE.replace("no-error", "No errors were found."),
        NONE.replace("\nno-error", " no-error"),
        f"{NONE}\n\nThe translation is excellent!",
        f"{NONE}\n\nOverall, a very good translation. Let me know if you need more.",
        f"{NONE}\nThe final score for this translation is 0.\n<score>0</score>".replace("The final", "\nThe final"),
        f"{NONE}\n\n(Note: names were left as they are.)",
        f"Here are my annotations for the translation:\n\n{NONE}",
        "**Major errors:**\nNone\n\n**Minor errors:**\nNone",
        "Major errors: None\nMinor errors: None",
        "No critical, major or minor errors.",
        "Critical: none. Major: none. Minor: none.",
        '{"critical": [], "major": [], "minor": []}',
        '{"MQM annotations": {"Critical": "no-error", "Major": ["no-error"], "Minor": null}}',
        '{"errors": []}',
    ],
)
def test_a_stated_no_error_is_error_free(reply: str) -> None:
    assert read_headed(reply, TEXT) == ()
    assert read_headed(reply, "It was no-error, or no error at all: none.") == ()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "The translation is excellent!",
        "no-error",
        "I'm sorry, but I can't help with that.",
        "Score: 85/100",
        'accuracy/mistranslation - "perro rojo"',
        'accuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        "Critical:\nThe translation is excellent!",
        "Critical:\nno-error",
        "Critical:\nno-error\nMajor:\nno-error",
        "Critical:\nno-error\nMajor:\nno-error\nMinor:",
        "Critical:\n\nMajor:\n\nMinor:\n",
        "Critical:\n\nMajor:\n\nMinor:\nno-error",
        "Critical:\nno-error\nMajor:\naccuracy/mistr",
        "Critical:\nno-error\nMajor:\naccuracy/mistranslation",
        "Critical:\nno-error\nMajor:\naccuracy/mistranslation -",
        'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "',
        'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "perro',
        'Critical:\nno-error\nMajor:\naccuracy/omission - "The acc',
        "Critical:\nno-error\nMajor:\naccuracy/mistranslation - 'perro",
        'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:',
        'Major:\naccuracy/mistranslation - "perro\nMinor:\nfluency/grammar - "ayer"',
        '<think>Major: accuracy/mistranslation - "perro rojo"',
        major("There is a wrong word somewhere."),
        major("accuracy/mistranslation - a word that is nowhere"),
        major("Accuracy: the meaning is well preserved"),
        major('The translation says "perro rojo" but means a cat.'),
        major('accuracy/mistranslation - "perro rojo"', "and the tense is wrong"),
        major('"not there" is what I would write.'),
        major("2 errors"),
        major('accuracy/mistranslation - "rojo"', 'Source: "red"'),
        major('accuracy/mistranslation - "rojo" should be "azul"', 'Suggestion: "verde"'),
        'There are no critical errors.\nstyle/awkward - "ayer"\nMinor:\nno-error',
        "No major errors.",
        major("no doubt there are errors"),
        major('no errors except "ayer"'),
        major("No wrong words but 3 errors"),
        major('accuracy/mistranslation - `perro "rojo"'),
        f'{NONE}\nNote: there is also a mistranslation, "perro rojo".',
        f'{NONE}\n\nOverall:\naccuracy/mistranslation - "perro rojo"',
        f'accuracy/mistranslation - "perro rojo"\n{NONE}',
        f"{NONE}\nThe tense of the verb could be better.",
        "The translation is excellent [1], and I found this: []",
        f"{NONE}\n\n{NONE}",
        'Major:\nOverall, it is good.\nMinor:\nstyle/awkward - "ayer"',
        f'Major:\nstyle/awkward - "ayer"\nMinor:\nno-error\n\n{NONE.removeprefix("Critical:").strip()}',
        'Major:\nstyle/awkward - "ayer"\nMinor:\nno-error\n\nMajor:\nstyle/awkward - "ayer"\nMinor:\nno-error',
        'Major: style/awkward - "ayer"\nMinor: fluency/grammar - "a el"\n' * 2,
        f'{NONE}\nCritical:\nno-error\nMajor:\nstyle/awkward - "ayer"',
        "Critical:\nno-error\nMajor:\nThere are no minor errors.\nMinor:\nno-error",
        major('accuracy/mistranslation - perro rojo (should be "gato'),
        '{"critical": [], "major": [{"span": "perro rojo", "cat',
        '{"critical": [], "major": ["a mistake"], "minor": []}',
        '{"major": [{"category": "accuracy/mistranslation"}], "minor": []}',
        '[{"span": "perro rojo", "category": "accuracy/mistranslation"}]',
        '{"errors": [{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": 3}]}',
        "{}",
    ],
)
def test_an_unreadable_reply_is_an_error_and_never_perfect(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_headed(reply, TEXT, source=SOURCE)


def test_a_heading_before_each_error_makes_one_list() -> None:
    reply = "\n".join(
        f'{severity}: style/awkward - "{span}"'
        for severity, span in [("Major", "ayer"), ("Minor", "perro"), ("Major", "rojo"), ("Minor", "Banco")]
    )
    errors = read_headed(reply, TEXT)
    assert [(error.severity, error.text) for error in errors] == [
        ("major", "ayer"), ("minor", "perro"), ("major", "rojo"), ("minor", "Banco")
    ]  # fmt: skip


def test_an_error_of_the_source_is_on_its_side_and_weighs_nothing() -> None:
    (error,) = read_headed(major('source error - "The acc"'), TEXT, source=SOURCE)
    assert (error.side, mqm.score([error], "gemba")) == ("source", 0.0)


def test_a_non_translation_with_an_exclamation_mark_marks_all_of_the_text() -> None:
    (error,) = read_headed(major("Non-translation!"), TEXT)
    assert (error.text, mqm.score([error], "gemba")) == (TEXT, -25.0)


def test_no_error_below_a_dimension_is_no_error_unless_it_marks_words_under_a_severity() -> None:
    assert read_headed(major("accuracy/no-error"), TEXT) == ()
    with pytest.raises(RatingParseError, match="marks 'ayer' as major and says that it is no error"):
        read_headed(major('accuracy/no-error - "ayer"'), TEXT)


def test_a_suggestion_with_an_open_alternative_is_none() -> None:
    (error,) = read_headed(major('style/awkward - "ayer" should be "anoche" or something like it'), TEXT)
    assert (error.text, error.suggestion) == ("ayer", None)


def test_a_statement_about_other_severities_does_not_end_a_section() -> None:
    reply = 'Minor:\nThere are no major errors.\nstyle/awkward - "ayer"'
    assert spans(reply) == [("minor", "style/awkward", "ayer")]
    assert spans("No major errors.\nMinor:\nNo minor errors.") == []


def test_an_explanation_that_names_a_kind_of_error_is_no_error() -> None:
    (error,) = read_headed(major('accuracy/mistranslation - "rojo". Literal translation: "azul".'), TEXT)
    assert (error.text, error.explanation) == ("rojo", 'Literal translation: "azul"')


def test_remarks_may_repeat_errors() -> None:
    reply = major('accuracy/mistranslation - "perro rojo"') + '\n\nOverall, "perro rojo" should be changed.'
    assert spans(reply) == ONE


def test_the_published_count_and_score_lines_are_remarks() -> None:
    reply = (
        'Major errors:\n(1) "perro rojo" - Accuracy/Mistranslation\nMinor errors:\nNone\n\n'
        "Based on the above evaluation, the final score for this translation is -5.\n<score>-5</score>"
    )
    assert spans(reply) == ONE


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(RatingParseError, match="wrong word somewhere"):
        read_headed(major("There is a wrong word somewhere."), TEXT)


@pytest.mark.parametrize(
    "reply",
    [
        '"a ' * 20_000,
        "'a " * 20_000,
        "Major:\n" + '"a ' * 20_000,
        "Major:\n" + '"a" ' * 20_000,
        "Major:\n" + 'style/awkward - "a' * 10_000,
        "Major:\n" + "style/awkward - a" * 10_000,
        "Major:\n" + 'style/awkward - "a\n' * 10_000,
        "Major:\n" + 'style/awkward - "ayer"\n' * 5_000,
        "Major:\n" + "no-error " * 10_000,
        "Major: " * 20_000,
        "major " * 20_000,
        "no major or " * 20_000,
        "Major:\n" + "- " * 40_000,
        "Major:\n" + "(" * 80_000,
        "Major:\naccuracy" + " " * 80_000 + "x",
        "Major:\n" + "accuracy/" * 20_000,
        "Major:\n" + "`" * 80_000,
        "Major:\n" + "`a``b```" * 10_000,
        "\n" * 80_000,
        "{" * 20_000,
    ],
)
@pytest.mark.parametrize("translation", [TEXT, 'a "a\n' * 10_000])
def test_no_reply_takes_long(reply: str, translation: str) -> None:
    began = time.process_time()
    with contextlib.suppress(RatingParseError):
        read_headed(reply, translation, source=translation)
    assert time.process_time() - began < 5


FORMS: list[Callable[[str, str], str]] = [
    lambda category, span: f'{category} - "{span}"',
    lambda category, span: f"- **{category}** – “{span}”",
    lambda category, span: f"* {category}: '{span}'",
    lambda category, span: f"{category}: «{span}»",
    lambda category, span: f'(1) "{span}" - {category}',
    lambda category, span: f'2. "{span}" ({category})',
    lambda category, span: f'{category} - "{span}" (this is not what the source says)',
]


def written(errors: list[tuple[str, str, str]], form: Callable[[str, str], str]) -> str:
    """A reply with ``errors``, each a severity, a category and a span."""
    return "\n".join(
        f"{severity.title()}:\n"
        + ("\n".join(form(category, span) for sev, category, span in errors if sev == severity) or "no-error")
        for severity in ("critical", "major", "minor")
    )


def human_errors(data: Path) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """Source, translation, and the errors that people marked in it, those with the worst severity first."""
    lines = (data / "mqm_spans.jsonl").read_text(encoding="utf-8").split("\n")
    for row in map(json.loads, filter(None, lines)):
        marked = [s for s in row["spans"] if s["side"] == "tgt" and s["text"].strip() and s["severity"] != "neutral"]
        errors = [(s["severity"], (s["category"] or "").casefold().replace("_", " "), s["text"]) for s in marked]
        errors = [error for error in errors if "/" in error[1].strip("/")]
        if errors:
            yield row["src"], row["tgt"], sorted(errors, key=lambda e: ("critical", "major", "minor").index(e[0]))


@pytest.mark.data
@pytest.mark.parametrize("form", FORMS)
def test_what_people_marked_comes_back_whole(data: Path, form: Callable[[str, str], str]) -> None:
    rows = list(human_errors(data))
    assert len(rows) > 500
    for source, translation, errors in rows:
        found = read_headed(written(errors, form), translation, source=source)
        assert [(e.severity, e.category, e.text) for e in found] == errors


@pytest.mark.parametrize("form", FORMS[:3])
def test_a_reply_cut_off_anywhere_gives_no_error_that_it_does_not_name_whole(form: Callable[[str, str], str]) -> None:
    errors = [
        ("major", "accuracy/mistranslation", "perro rojo"),
        ("minor", "style/awkward", "«central» ayer"),
        ("minor", "fluency/grammar", "a el"),
    ]
    reply = written(errors, form)
    assert spans(reply) == errors
    for end in range(len(reply)):
        try:
            found = spans(reply[:end])
        except RatingParseError:
            continue
        assert found
        assert found == errors[: len(found)]


PIECES = st.sampled_from(
    [
        *"\"'“”«»`(){}[]\\ \n\ue000\ud83d\x00",
        *(
            "Major:",
            "Minor:",
            "no-error",
            "none",
            "accuracy/mistranslation",
            "style",
            " - ",
            ": ",
            "\n\n",
            "```",
            "(1) ",
        ),
        *(
            "ayer",
            "perro rojo",
            "should be",
            "->",
            ", ",
            "and",
            "Overall,",
            "<think>",
            "</think>",
            "errors",
            "no",
            "Note: ",
        ),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_is_read_or_refused(reply: str) -> None:
    with contextlib.suppress(RatingParseError):
        for error in read_headed(reply, TEXT, source=SOURCE):
            assert error.start is None or error.text


def test_a_remark_that_praises_quoted_words_names_no_error() -> None:
    reply = 'Major:\nno-error\nMinor:\nno-error\n\nOverall, "Der Hund" reads well.'
    assert read_headed(reply, "Der Hund schläft.") == ()


def test_a_line_after_a_blank_one_is_no_remark_unless_it_is_about_all() -> None:
    listed = 'Major:\naccuracy/mistranslation - "Hund"\nMinor:\nno-error\n\n'
    assert len(read_headed(f"{listed}The rest is fine.", "Der Hund schläft.")) == 1
    with pytest.raises(RatingParseError, match="a line is neither an error"):
        read_headed(f"{listed}Something quite odd stands here", "Der Hund schläft.")


def test_a_long_culprit_is_shown_in_part() -> None:
    with pytest.raises(RatingParseError) as error:
        read_headed("word " * 500, "Der Hund schläft.")
    assert len(str(error.value)) < 500
    assert str(error.value).endswith("…'")
