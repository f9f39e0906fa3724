"""The evaluators cometkiwi and xcomet, with a fake COMET in a process of its own."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from mtagent.errors import ConfigError, EvaluationError, MetricError
from mtagent.evaluators import metric as by_comet
from mtagent.evaluators.metric import InBatches
from mtagent.llm.gathering import together
from mtagent.records import Rating, Segment
from tests.comet_environment import BARE, SEGMENTS, SOURCES, Fake, alive, until, worker_of
from tests.commands import Shell, start


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Another environment."""
    return Fake(tmp_path)


def rated(evaluator: InBatches, translations: Sequence[str], segments: Sequence[Segment] = BARE) -> list[Rating]:
    """Ratings of one translation of each segment, asked for at once."""

    async def all_at_once() -> list[Rating]:
        return await together(*map(evaluator.rate, segments, translations))

    return asyncio.run(all_at_once())


def test_cometkiwi_rates_without_spans_in_one_batch(fake: Fake) -> None:
    evaluator = by_comet.cometkiwi(model="fake/kiwi", python=fake.python)
    ratings = rated(evaluator, ["x", "", "xxx"], SEGMENTS)
    assert [rating.score for rating in ratings] == [0.01, 0, 0.03]
    assert {rating.errors for rating in ratings} == {None}
    assert {rating.evaluator for rating in ratings} == {"cometkiwi"}
    signature = "cometkiwi|model:fake/kiwi|comet:unknown|torch:unknown|reference:no|version:0.1.0"
    assert {rating.signature for rating in ratings} == {evaluator.signature} == {signature}
    assert [len(call) for call in fake.calls] == [3]


def test_xcomet_s_spans_have_the_translation_s_own_words_and_place(fake: Fake) -> None:
    evaluator = by_comet.xcomet(model="fake/xcomet", python=fake.python)
    first, second, third = rated(evaluator, ["Un día bad, y bad", "¡Muy bien!", "bad"])
    assert first.errors is not None
    assert [(error.text, error.start, error.end) for error in first.errors] == [("bad", 7, 10), ("bad", 14, 17)]
    assert {(error.severity, error.category, error.explanation) for error in first.errors} == {
        ("major", "other", "confidence 0.88")
    }
    assert second.errors == ()
    assert third.errors is not None
    assert (third.errors[0].start, third.errors[0].end, third.score) == (0, 3, 0.03)


def test_a_mark_on_no_characters_is_kept_and_told(fake: Fake) -> None:
    (rating,) = rated(by_comet.xcomet(model="fake/xcomet", python=fake.python), ["!"], BARE[:1])
    assert rating.errors is not None
    assert (rating.errors[0].severity, rating.errors[0].start, rating.errors[0].end) == ("critical", 0, 0)
    assert rating.warnings == ("a critical error at 0 has no characters",)


def test_a_mark_on_white_space_alone_keeps_its_place(fake: Fake) -> None:
    (rating,) = rated(by_comet.xcomet(model="fake/xcomet", python=fake.python), ["a  gap"], BARE[:1])
    assert rating.errors is not None
    assert [(error.text, error.start, error.end) for error in rating.errors] == [("  ", 1, 3)]
    assert rating.warnings == ()


def test_equal_texts_are_rated_once_and_scores_have_six_digits(fake: Fake) -> None:
    ratings = rated(by_comet.cometkiwi(model="fake/kiwi", python=fake.python), ["third", "third", "x"], [BARE[0]] * 3)
    assert [rating.score for rating in ratings] == [0.333333, 0.333333, 0.01]
    assert [len(call) for call in fake.calls] == [2]


def test_xcomet_sees_references_only_if_told_to_and_where_there_are_some(fake: Fake) -> None:
    mixed = [SEGMENTS[0], BARE[1], SEGMENTS[2]]
    hidden = rated(by_comet.xcomet(model="fake/xcomet", python=fake.python), ["x"] * 3, mixed)
    assert [rating.score for rating in hidden] == [0.01] * 3
    shown = rated(by_comet.xcomet(model="fake/xcomet", python=fake.python, reference=True), ["x"] * 3, mixed)
    assert [rating.score for rating in shown] == [0.51, 0.01, 0.51]
    assert "|reference:yes|" in shown[0].signature


def test_what_cannot_be_rated_harms_no_other(fake: Fake) -> None:
    evaluator = by_comet.xcomet(model="fake/xcomet", python=fake.python)

    async def each() -> list[Rating | BaseException]:
        texts = ["x", "nan", "raise", "outside", "xx", "inf", "before"]
        return await asyncio.gather(*(evaluator.rate(BARE[0], text) for text in texts), return_exceptions=True)

    ratings = asyncio.run(each())
    assert [rating.score if isinstance(rating, Rating) else type(rating) for rating in ratings] == [
        0.01, EvaluationError, MetricError, EvaluationError, 0.02, EvaluationError,
        EvaluationError,
    ]  # fmt: skip
    assert "segment s0: xcomet marked 3–30 in a text of 7 characters" in str(ratings[3])


@pytest.mark.parametrize(("model", "message"), [("crash", "exit code 3"), ("regression", "compares with references")])
def test_what_concerns_every_segment_stops_at_once(fake: Fake, model: str, message: str) -> None:
    evaluator = by_comet.cometkiwi(model=f"fake/{model}", python=fake.python)
    with pytest.raises(ConfigError, match=message):
        rated(evaluator, SOURCES)
    assert len(fake.calls) <= 1


def test_files_are_rated_and_changes_judged_by_name(shell: Shell, fake: Fake) -> None:
    options = f"python={fake.python}"
    done = shell(f"rate -s en.txt -t es.txt -l en-es --evaluator xcomet:model=fake/xcomet,{options} -o r.jsonl")
    assert done.code == 0, done.err
    assert [json.loads(line)["score"] for line in shell.read("r.jsonl")] == [0.21, 0.16, 0.21]
    assert "mtagent: COMET model fake/xcomet: licence unknown" in done.err
    judged = shell.postedit(
        f"--evaluator rules --gate rate --judge cometkiwi:model=fake/kiwi,{options} --details d.jsonl"
    )
    assert judged.code == 0, judged.err
    assert judged.out.splitlines()[0] == "El gato se sentó aquí."
    assert "cometkiwi 0.21 -> 0.22: better" in (shell.folder / "d.jsonl").read_text(encoding="utf-8")


def test_ctrl_c_waits_for_no_model(shell: Shell, fake: Fake) -> None:
    line = f"rate -s en.txt -t es.txt -l en-es --evaluator cometkiwi:model=fake/hang,python={fake.python} -o r.jsonl"
    with start(shell.folder, *line.split()) as process:
        until(lambda: bool(fake.calls))
        worker = worker_of(fake)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("mtagent: stopped.")
    assert "Traceback" not in said
    until(lambda: not alive(worker))
