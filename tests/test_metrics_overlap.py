"""BLEU, chrF, chrF++ and TER: sacreBLEU's numbers and signatures, to the last digit."""

from __future__ import annotations

import json
import logging
import random
import subprocess
import sys
import time
import tomllib
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.metrics.ter import TER

from mtagent.errors import ConfigError
from mtagent.metrics import overlap
from mtagent.metrics import protocol as formulas
from mtagent.metrics.overlap import NAMES, TESTED, Name, Overlap, changes, characters_to, refuse_untested, ter_to
from mtagent.records import Segment
from wmt.scores import corpora, flags_of, sacrebleu_scores

OURS = ["Das ist ein Test.", "", "Der Hund schläft.", "Der Hund schläft."]
REFERENCES = ["Dies ist ein Test!", "Etwas.", "Der Hund schläft.", "Der Hund schläft."]


def segments(references: list[str], target_lang: str = "de") -> list[Segment]:
    return [
        Segment(id=str(i), source="x", source_lang="en", target_lang=target_lang, reference=text)
        for i, text in enumerate(references)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_segments_score_as_with_sacrebleu(name: Name, tmp_path: Path) -> None:
    (theirs,) = sacrebleu_scores(tmp_path, OURS, REFERENCES, *flags_of(name, "de"))
    ours = Overlap(name, "de").score(segments(REFERENCES), OURS)
    assert (ours.metric, round(ours.value, 10), ours.signature, ours.detail) == (
        theirs["name"], theirs["score"], theirs["signature"], theirs.get("verbose_score", "")
    )  # fmt: skip
    for file, texts in (("ours", OURS), ("ref", REFERENCES)):
        (tmp_path / file).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "ours", "-w", "10", "-sl", *flags_of(name, "de")]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    for line, value in zip(done.stdout.splitlines(), ours.segments, strict=True):
        assert line.startswith(f"{ours.metric}|{ours.segment_signature or ours.signature} = {value:.10f}")


def test_a_segment_that_is_too_short_pays_for_its_brevity_under_bleu() -> None:
    reference = "one two three four five six seven"
    for ours in ("one two three four five", f"{reference} eight"):
        (value,) = Overlap("bleu", "de").score(segments([reference]), [ours]).segments
        assert 0 < value == BLEU(effective_order=True).sentence_score(ours, [reference]).score < 90


def test_what_cannot_be_scored_is_named() -> None:
    with pytest.raises(ConfigError, match="segment 7: has no reference"):
        Overlap("bleu", "de").score([Segment(id="7", source="x", source_lang="en", target_lang="de")], ["y"])
    with pytest.raises(ConfigError, match="no segment"):
        Overlap("ter", "de").score([], [])


def test_chinese_japanese_and_korean_have_their_own_tokens() -> None:
    tokenizers = {lang: Overlap("bleu", lang).tokenizer for lang in ("zh-Hant", "ja_JP", "ko", "de")}
    assert tokenizers == {"zh-Hant": "zh", "ja_JP": "ja-mecab", "ko": "ko-mecab", "de": "13a"}
    by_character = Overlap("ter", "ja").score(segments(["日本語の文です。"], "ja"), ["日本語の本です。"])
    assert by_character.segments == pytest.approx([100 / 7], abs=3)
    assert "asian:yes" in by_character.signature
    assert "asian:no" in Overlap("ter", "ja", asian=False).score(segments(["日本"], "ja"), ["日本"]).signature


def words(rng: random.Random) -> tuple[list[str], list[str]]:
    """A reference of few distinct words, so that much can be shifted, and a translation made of it."""
    known = [str(word) for word in range(rng.choice([2, 4, 10, 40]))]
    reference = rng.choices(known, k=rng.randrange(rng.choice([3, 8, 15, 30, 60])))
    ours = reference if rng.random() < 0.7 else rng.choices(known, k=rng.randrange(rng.choice([3, 30, 90])))
    for _ in range(rng.randrange(4)):
        i, j, to = (rng.randrange(len(ours) + 1) for _ in range(3))
        moved, rest = ours[min(i, j) : max(i, j)], ours[: min(i, j)] + ours[max(i, j) :]
        ours = rest[:to] + moved + rest[to:]
    return [word if rng.random() < 0.9 else rng.choice(known) for word in ours], reference


@pytest.mark.slow
def test_edits_are_counted_as_sacrebleu_counts_them() -> None:
    rng = random.Random(5)
    cases = [words(rng) for _ in range(400)]
    assert sum(len(ours) > 2 * overlap.BEAM for ours, _ in cases) > 5  # some must reach the edge of the band
    assert [overlap.edits(*case).number for case in cases] == [translation_edit_rate(*case)[0] for case in cases]


def long_words(rng: random.Random) -> tuple[list[str], list[str]]:
    """Texts in which runs of words stand far from their place, or many words too many before some that are missing."""
    known = [str(word) for word in range(rng.choice([3, 8, 40, 400]))]
    reference = rng.choices(known, k=rng.randrange(20, 100))
    ours = list(reference)
    for _ in range(rng.randrange(1, 4)):
        start, to, length = rng.randrange(len(ours)), rng.randrange(len(ours)), rng.randrange(1, 13)
        moved = ours[start : start + length]
        del ours[start : start + length]
        ours[to:to] = moved
    if rng.random() < 0.5:
        many, start, end = rng.randrange(20, 31), rng.randrange(len(ours)), rng.randrange(len(ours))
        ours[start:start] = ["x"] * many
        del ours[end : end + many]
    return ours, reference


def many_shifts() -> tuple[list[str], list[str]]:
    """Texts in which more than 1,000 shifts can be tried."""
    rng = random.Random(3)
    reference = rng.choices("ab", k=36)
    return rng.sample(reference, k=36), reference


@pytest.mark.parametrize(
    "case", [*(long_words(random.Random(seed)) for seed in (0, 1, 11, 54, 208, 1387, 1741, 2162)), many_shifts()]
)
def test_each_limit_of_the_search_for_shifts_is_sacrebleu_s(case: tuple[list[str], list[str]]) -> None:
    """Each case gives another number of edits where one of the five limits is one more, or one less."""
    assert overlap.edits(*case).number == translation_edit_rate(*case)[0]


@pytest.mark.parametrize(("formula", "metric", "width"), [
    (overlap.bleu_scores, BLEU(), 10), (overlap.chrf_scores, CHRF(), 18), (overlap.chrf_scores, CHRF(word_order=2), 24),
    (overlap.ter_scores, TER(), 2),
])  # fmt: skip
def test_formulas_on_arrays_are_sacrebleu_s(
    formula: Callable[[formulas.Counts], formulas.Counts], metric: Any, width: int
) -> None:
    rng = np.random.default_rng(7)
    sums = np.concatenate([rng.integers(0, top, size=(500, width)) for top in (2, 3, 50, 100_000)])
    if width == 10:  # a corpus has no more matches than n-grams, and fewer n-grams of a higher order
        sums[:, 6:] = -np.sort(-sums[:, 6:], axis=1)
        sums[:, 2:6] = np.minimum(sums[:, 2:6], sums[:, 6:])
    theirs = [metric._compute_score_from_stats([int(count) for count in row]).score for row in sums]
    assert 0.0 in theirs
    assert formula(sums.astype(np.float64)) == pytest.approx(theirs, abs=1e-9, rel=1e-12)


def test_the_way_from_one_text_to_another() -> None:
    ter = ter_to(["the cat sat", "a b"], ["the dog sat down", "a b"], "en")
    assert (ter.value, ter.segments) == (pytest.approx(100 * 2 / 6), (50, 0))
    characters = characters_to(["cat", "a"], ["cart", "b"])
    assert (characters.value, characters.segments, characters.higher_is_better) == (2, (1, 1), False)


def numbered(count: int, **other: str) -> list[str]:
    return [other.get(f"w{i}", f"w{i}") for i in range(count)]


def test_beyond_the_longest_text_no_shift_is_tried_which_the_signature_says() -> None:
    moved = ["w3", "w1", "w2", "w0"]
    inside, beyond = (numbered(overlap.MOST_WORDS + more) for more in (0, 1))
    assert overlap.edits([*moved, *inside[4:]], inside) == (2, "")
    assert overlap.edits([*moved, *beyond[4:]], beyond) == (2, "long:noshifts")
    assert overlap.edits([*beyond[1:9], beyond[0], *beyond[9:]], beyond) == (2, "long:noshifts"), "one shift, elsewhere"
    ter = Overlap("ter", "en")
    changed = ter.score(segments([" ".join(beyond), "a b"]), [" ".join(["x", *beyond[1:]]), "a b"])
    assert changed.signature.endswith("|asian:no|long:noshifts|version:2.6.0")
    assert changed.segments == (pytest.approx(100 / len(beyond)), 0)
    same = ter.score(segments([" ".join(beyond), "a b"]), [" ".join(beyond), "a"])
    assert "long" not in same.signature, "nothing has to be counted in it"


MEGABYTE = {
    "words": " ".join(numbered(150_000)),
    "one line without spaces": "abcdefghij" * 100_000,
    "Chinese": "他们昨天来过这里。" * 40_000,
}


@pytest.mark.parametrize("kind", MEGABYTE)
def test_a_megabyte_that_was_changed_or_replaced_is_measured_in_seconds(kind: str) -> None:
    before, start = MEGABYTE[kind], time.perf_counter()
    language = "zh" if kind == "Chinese" else "de"
    edited = f"{before[:500]}ü{before[501:-500]}ü{before[-499:]}"
    other = "".join(sorted(before))
    assert characters_to([before], [edited]).value == 2
    assert characters_to([before], [edited]).signature.startswith("levenshtein|agg:sum|")
    replaced = characters_to([before, "a"], [other, "b"])
    assert replaced.signature.startswith("levenshtein|long:replaced|agg:sum|")
    assert replaced.segments[1] == 1
    assert 0.5 * len(before) < replaced.segments[0] <= len(before)
    assert ter_to([before], [edited], language).value <= 100
    assert ter_to([before], [other], language).value > 90
    assert time.perf_counter() - start < 30


def test_what_lies_between_the_first_and_the_last_change_counts_as_replaced() -> None:
    before = "ab" * 60_000
    assert changes(f"x{before}y", f"x{before[::-1]}y") == (2, True), "few changes are all found"
    assert changes(f"xx{'a' * 120_000}yy", f"xx{'b' * 110_000}y") == (120_001, False)
    assert changes("", before * 10) == (1_200_000, True)
    assert changes("a" * 120_000, "a" * 90_000) == (30_000, False)


@pytest.mark.slow
@pytest.mark.data
def test_documents_of_eleven_language_pairs_score_as_with_sacrebleu(data: Path, tmp_path: Path) -> None:
    """Whole for BLEU and chrF, short texts for TER and chrF++; ``wmt/scores.py`` compares all."""
    all_corpora = list(corpora(data))
    assert len(all_corpora) == 11
    for corpus in all_corpora:
        short = sorted(range(len(corpus.references)), key=lambda i: len(corpus.references[i]))[:20]
        for names, chosen in (
            (("bleu", "chrf"), range(len(corpus.references))),
            (("ter",), short),
            (("chrf++",), short),
        ):
            texts = [[side[i] for i in chosen] for side in (corpus.translations, corpus.references)]
            flags = [flag for name in names for flag in flags_of(name, corpus.target_lang)]
            theirs = sacrebleu_scores(tmp_path, *texts, *flags)
            for name, expected in zip(names, theirs, strict=True):
                score = Overlap(name, corpus.target_lang).score(segments(texts[1]), texts[0])
                assert (corpus.pair, round(score.value, 10), score.signature) == (
                    corpus.pair, expected["score"], expected["signature"]
                )  # fmt: skip


@pytest.mark.data
def test_ter_capped_at_one_is_the_official_hter(data: Path) -> None:
    rows = [json.loads(line) for line in (data / "mlqe_pe.jsonl").read_text(encoding="utf-8").split("\n") if line]
    assert len(rows) == 600
    ter = Overlap("ter", "xx", asian=False)
    score = ter.score(segments([row["pe"] for row in rows]), [row["mt"] for row in rows])
    differing = [
        row for row, value in zip(rows, score.segments, strict=True) if abs(min(value / 100, 1) - row["hter"]) > 1e-6
    ]
    assert differing == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_the_n_grams_of_a_few_segments_are_held_at_a_time(name: Name) -> None:
    def peak(number: int) -> int:
        words = 40 if name == "bleu" else 5
        texts = [" ".join(f"w{n * k}" for k in range(words)) for n in range(number)]
        metric = Overlap(name, "de")
        tracemalloc.start()
        metric.score(segments(texts), texts[::-1])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1)
    assert (peak(2_000) - peak(500)) / 1_500 < 5_000, "bytes a segment: its counts, not its n-grams"


def test_systems_that_share_texts_get_the_counts_of_each_alone_in_any_order() -> None:
    first, second = ["Ein Test.", "Noch einer.", "Drei."], ["Ein Test.", "Nicht noch einer.", "Drei!"]
    references = ["Ein Test!", "Noch einer.", "Drei."]
    for name in NAMES:
        shared = Overlap(name, "de")
        for texts in (first, second, first[::-1], second):
            alone = Overlap(name, "de").statistics(segments(references), texts)
            assert np.array_equal(shared.statistics(segments(references), texts), alone)


def test_tokenized_texts_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"Satz {n} ." for n in range(1_200)]
    with caplog.at_level(logging.WARNING):
        Overlap("bleu", "de").score(segments(texts), texts)
    assert [record.message for record in caplog.records] == [
        "100 translations or more end in ' .': BLEU wants texts that are not tokenized"
    ]


def test_other_versions_of_sacrebleu_than_the_tested_ones_are_refused() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    first, last = TESTED
    wanted = f"sacrebleu>={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"
    assert wanted in project["dependencies"]
    for version in ("2.4.0", "2.5.1", "2.6.0", "2.6.1rc1"):
        refuse_untested(version)
    for version in ("2.3.9", "2.7.0", "3.0", "1.5.1", "unknown"):
        with pytest.raises(ConfigError, match=f"{version} is not one of the versions .* pip install '{wanted}'"):
            refuse_untested(version)
