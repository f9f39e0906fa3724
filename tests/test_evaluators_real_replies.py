"""What real models reply, cut down: read rightly through the evaluators themselves, or asked for once more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import RatingParseError
from mtagent.evaluators.eaprompt import EAPrompt
from mtagent.evaluators.gemba import GembaDA, GembaMQM, GembaSQM, parse_score
from mtagent.evaluators.pairwise import read_choice
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import ErrorSpan, Segment
from mtagent.text.edits import apply, locate


def segment(source: str = "A source.") -> Segment:
    return Segment(id="1", source=source, source_lang="en", target_lang="de")


# Scores in prose

LISTED = "Points that affect the translation quality:\n\n1. Orthography.\n2. Vocabulary."


@pytest.mark.parametrize("kind", [GembaDA, GembaSQM])
@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("I would give a score of 85 for the translation. The meaning is conveyed accurately.", 85),
        (f"{LISTED}\nI would give a score of 60 for accuracy and fluency.", 60),
        ("I would give a score of 90 to it, a deduction of 10 points from the full score of 100.", 90),
        ("I would give a score of 95 for the whole. A perfect score would require a 100% identical translation.", 95),
    ],
)
async def test_the_score_is_the_number_that_the_sentence_gives(kind: type[GembaDA], reply: str, score: float) -> None:
    llm = ScriptedLLM([reply])
    assert (await kind(llm).rate(segment(), "Ein Text.")).score == score
    llm.finish()


@pytest.mark.parametrize(
    "reply",
    [f"I cannot provide a score without context. {LISTED}", "A score of 70-80 is fair.", "10/100 and 60/100"],
)
async def test_a_refusal_to_score_and_a_range_are_asked_for_once_more(reply: str) -> None:
    llm = ScriptedLLM([reply, "70"])
    assert (await GembaDA(llm).rate(segment(), "Ein Text.")).score == 70
    with pytest.raises(RatingParseError) as caught:
        await GembaDA(ScriptedLLM([reply, reply])).rate(segment(), "Ein Text.")
    assert len(caught.value.calls) == 2


WORDS = st.sampled_from(
    ["score", "of", "quality", "give", "the", "translation", "-", "/100", "%", "points", "deducted", "overall", ".",
     ":", "not", "between", "and", "perfect", "to", "100", "85", "7", "3.5", "9999", "1.", "2)", "(3)", "out of 100",
     "\n", '"']
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=14).map(" ".join))
def test_a_score_is_on_the_scale_and_stands_in_the_reply(reply: str) -> None:
    try:
        score = parse_score(reply)
    except RatingParseError:
        return
    assert 0 <= score <= 100
    assert f"{score:g}" in reply


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["The verb is wrong.", "Style", "Quality: odd", "the score"]), min_size=1, max_size=30),
    st.sampled_from(["{}. {}", "{}) {}", "({}) {}", "{}: {}", "{} - {}", "{}、{}"]),
    st.sampled_from(["", "The overall quality suffers:\n", "Score? Here are the issues:\n\n"]),
)
def test_the_number_of_an_item_is_no_score(items: list[str], form: str, title: str) -> None:
    listed = "\n".join(form.format(number, item) for number, item in enumerate(items, start=1))
    with pytest.raises(RatingParseError):
        parse_score(title + listed)
    assert parse_score(f"{title}{listed}\nScore: 85") == 85


# Lists of errors

ALBUMS = "songs, albums, videos"


async def marked(translation: str, line: str, source: str = "A source.") -> ErrorSpan:
    llm = ScriptedLLM([f"Critical:\nno-error\nMajor:\nno-error\nMinor:\n{line}"])
    rating = await GembaMQM(llm).rate(segment(source), translation)
    assert rating.errors
    return rating.errors[0]


@pytest.mark.parametrize("reply", ["no-error", "No errors.", "MQM annotations:\nNo error", "There are no errors."])
async def test_a_bare_no_error_is_error_free(reply: str) -> None:
    rating = await GembaMQM(ScriptedLLM([reply])).rate(segment(), "Ein Text.")
    assert (rating.errors, rating.score) == ((), 0)


@pytest.mark.parametrize("reply", ["Good.", "none", "No major errors.", 'No errors, but "Text" is odd.', "MQM:"])
async def test_what_only_resembles_a_bare_no_error_is_refused(reply: str) -> None:
    with pytest.raises(RatingParseError):
        await GembaMQM(ScriptedLLM([reply, reply])).rate(segment(), "Ein Text.")


@pytest.mark.parametrize(
    ("translation", "line"),
    [
        (ALBUMS, 'fluency/punctuation - The comma after "albums" should be replaced with "and" to connect the list.'),
        ("It is useless and dear.",
         'fluency/punctuation - Missing comma after "useless". It should be "basically useless, and occasionally...".'),
        ("He saw the dog.", 'fluency/grammar - The verb in "He saw the dog" should be "sees".'),
        ("He saw the dog.", 'fluency/grammar - The word before "dog" should be "a".'),
        ("He saw the dog.", 'style/awkward - "dog" should be "the dog".'),
        ("He saw the dog.", 'style/awkward - "dog" should be "hound."'),
        ("He saw the dog.", 'style/awkward - "dog" should be "dog ... house".'),
        ("He saw the dog.", 'fluency/spelling - "He" should be "he".'),
        ("He saw the dog.", 'fluency/grammar - "saw" should be "capitalized".'),
        ("He saw the dog.", 'fluency/grammar - "saw" should be "sees" or "has seen".'),
        ("He saw the dog.", 'style/awkward - A better word might be possible, such as "dog" instead of "hound".'),
        ("这是书的封面", 'style/awkward - "封面" should be "的封皮".'),
    ],
)  # fmt: skip
async def test_words_that_cannot_stand_in_place_of_the_span_are_no_suggestion(translation: str, line: str) -> None:
    assert (await marked(translation, line)).suggestion is None


async def test_source_text_is_no_suggestion() -> None:
    line = 'fluency/word order - The order differs, e.g., "Und jedes Mal dachten Sie" instead of "And every time, you".'
    source = "And every time, you all thought."
    assert (await marked("Und jedes Mal dachten Sie alle nach.", line, source)).suggestion is None
    line = 'accuracy/mistranslation - The term "trophy" should have been translated as "Pokal".'
    assert (await marked("There was no trophy.", line, "Es gab keinen Pokal.")).suggestion is None


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ('accuracy/mistranslation - "dog" should be "cat"', "He saw the cat."),
        ('accuracy/mistranslation - "dog" (should be "cat")', "He saw the cat."),
        ('accuracy/mistranslation - "dog" -> "cat"', "He saw the cat."),
        ('accuracy/mistranslation - The term "dog" should be translated as "cat" here.', "He saw the cat."),
        ('accuracy/mistranslation - "dog" is wrong; it should be "cat", as the source says.', "He saw the cat."),
        ('accuracy/mistranslation - The translation uses "dog" instead of "cat".', "He saw the cat."),
        ('accuracy/mistranslation - "dog" should be replaced with "cat".', "He saw the cat."),
        ('fluency/grammar - "He saw" should be "He sees"', "He sees the dog."),
        ('fluency/spelling - "dog" should be "Dog"', "He saw the Dog."),
    ],
)
async def test_a_stated_replacement_is_applied(line: str, after: str) -> None:
    error = await marked("He saw the dog.", line)
    assert apply("He saw the dog.", locate("He saw the dog.", [error])) == after


async def test_dimensions_may_have_a_list_each() -> None:
    none = "[Critical]: None\n[Major]: None\n[Minor]: None"
    found = '[Critical]: None\n[Major]: [mistranslation] - "dog"\n[Minor]: None'
    reply = f"MQM annotations:\nAccuracy Errors\n{found}\n\nFluency Errors\n{none}\n\nStyle Errors\n[No Error]"
    rating = await GembaMQM(ScriptedLLM([reply])).rate(segment(), "He saw the dog.")
    assert [(error.text, error.severity) for error in rating.errors or ()] == [("dog", "major")]
    rating = await GembaMQM(ScriptedLLM([f"Accuracy errors:\n{none}\nFluency errors:\n{none}"])).rate(segment(), "Hm.")
    assert rating.errors == ()
    with pytest.raises(RatingParseError, match="several lists"):
        await GembaMQM(ScriptedLLM([f"{none}\n{found}"] * 2)).rate(segment(), "He saw the dog.")


async def test_sentences_may_name_the_errors() -> None:
    reply = "'saw' is a minor fluency/grammar error\n'dog' is a major accuracy/mistranslation error."
    rating = await GembaMQM(ScriptedLLM([reply])).rate(segment(), "He saw the dog.")
    assert [(error.text, error.category, error.severity) for error in rating.errors or ()] == [
        ("saw", "fluency/grammar", "minor"), ("dog", "accuracy/mistranslation", "major"),
    ]  # fmt: skip


# EAPrompt in one step


@pytest.mark.parametrize(
    "reply",
    [
        'Major errors:\nno-error\nMinor errors:\n(1) "Text" - grammar\n\n0, 1',
        'Major errors:\nno-error\nMinor errors:\n(1) "Text" - grammar\n\nMajor: 0\nMinor: 1',
        'Major errors: 0\nMinor errors: 1\n(1) "Text" - grammar',
        'Major errors:\n0\nMinor errors:\n1\n(1) "Text" - grammar\n<score>-1</score>',
        'Major errors:\nno-error\nMinor errors:\n(1) "Text" - grammar\n\n-0 - 1 = -1\n-1',
    ],
)
async def test_one_step_counts_of_none_and_one_are_read(reply: str) -> None:
    rating = await EAPrompt(ScriptedLLM([reply]), steps=1).rate(segment(), "Ein Text.")
    assert (rating.score, [error.text for error in rating.errors or ()], rating.warnings) == (-1, ["Text"], ())


async def test_one_step_counts_of_none_are_error_free_and_a_count_without_its_error_is_refused() -> None:
    rating = await EAPrompt(ScriptedLLM(["Major errors: 0\nMinor errors: 0"]), steps=1).rate(segment(), "Ein Text.")
    assert (rating.score, rating.errors) == (0, ())
    with pytest.raises(RatingParseError):
        await EAPrompt(ScriptedLLM(["Major errors: 1\nMinor errors: 0"] * 2), steps=1).rate(segment(), "Ein Text.")


@pytest.mark.parametrize(
    "reply",
    ["The source says 50 and the translation gives 15.", "The given age is 35.", "The price is given as 99.",
     "The rate is 12%."],
)  # fmt: skip
def test_a_number_of_the_text_is_no_score(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_score(reply)


@pytest.mark.parametrize(
    "reply", ["I would rate this 85.", "The score given is 85.", "I have given 85.", "It is given a score of 85."]
)
def test_a_number_that_somebody_gives_is_the_score(reply: str) -> None:
    assert parse_score(reply) == 85


# Which is better


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ('{"winner": "A"}', "a"),
        ('```json\n{\n  "winner": "tie"\n}\n```', "tie"),
        ('B is better: A says "{x}" twice.\n{"winner": "B", "reason": "A repeats {x}"}', "b"),
        ("Translation A is slightly better. It keeps the tone of the source.", "a"),
        ("Both are good.\n\nThe final answer is $\\boxed{A}$", "a"),
    ],
)
def test_a_choice_is_read_under_other_names_too(reply: str, choice: str) -> None:
    assert read_choice(reply) == choice


@pytest.mark.parametrize(
    "reply",
    ['{"better": "A", "winner": "B"}', "A is better in style, but B is better in meaning.", "A is not better.",
     '{"winner": "C"}', "A would be better if it had a verb."],
)  # fmt: skip
def test_what_chooses_nothing_for_certain_is_no_choice(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_choice(reply)
