"""The ``spans-file`` evaluator: what the files of people and tools say, and nothing that they do not say."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.config import Config
from mtagent.errors import ConfigError, EvaluationError, InputError
from mtagent.evaluators.named import Surroundings, make_evaluator
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.spans_file import UNCHECKED, SpansFile
from mtagent.formats import span_format
from mtagent.records import ErrorSpan, Rating, Segment, Severity
from tests.commands import Shell
from tests.span_writers import WRITERS, Case, write

SOURCE, TEXT = "The bank pays.", "Die Bank zahlt nicht, die Bank."
NICHT = ErrorSpan(text="nicht", category="accuracy/addition", severity="major", start=15, end=20)
Short = tuple[str, str, str, int | None, int | None, str]


def segment(number: str = "1", source: str = SOURCE, document: str | None = None) -> Segment:
    return Segment(id=number, source=source, source_lang="en", target_lang="de", document=document)


def rate(path: Path, one: Segment | None = None, translation: str = TEXT, **options: Any) -> Rating:
    return asyncio.run(SpansFile(path=path, **options).rate(one or segment(), translation))


def short(errors: tuple[ErrorSpan, ...] | None) -> list[Short]:
    return [(e.text, e.category, e.severity, e.start, e.end, e.side) for e in errors or ()]


def expected(case: Case, kind: str) -> list[Short]:
    """The errors of ``case`` as ``kind`` can hold them. Offsets into the source do not stay."""
    found = []
    for error in case.errors or ():
        category = "other" if kind in ("wmt", "comet") else error.category
        source = error.side != "translation"
        found.append(
            error.model_copy(update={"category": category, **({"start": None, "end": None} if source else {})})
        )
    if kind == "bio-mqm":  # which keeps the sides apart
        found.sort(key=lambda error: error.side != "translation")
    return short(tuple(found))


CHARACTERS = st.one_of(
    st.sampled_from("ab e,.\"'<v/|é\u0301中文字😀\u2028\u0085\u00a0"), st.characters(exclude_categories=["C"])
)
WORDS = st.text(CHARACTERS, min_size=1, max_size=25).filter(
    lambda text: text.strip() and "<v>" not in text and "</v>" not in text and "\t" not in text
)
CATEGORIES = ["accuracy/mistranslation", "Fluency/Punctuation", "Style/Unnatural or awkward", "terminology"]


@st.composite
def cases(draw: st.DrawFn) -> list[Case]:
    """Several segments of one system, with spans that may touch, overlap and come twice."""
    found = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        source, translation = f"{number} {draw(WORDS)}", draw(WORDS)
        errors = []
        for _ in range(draw(st.integers(0, 4))):
            start = draw(st.integers(0, len(translation) - 1))
            end = draw(st.integers(start + 1, len(translation)))
            severity: Severity = draw(st.sampled_from(("minor", "major", "critical", "neutral")))
            category = draw(st.sampled_from(CATEGORIES))
            text = translation[start:end]
            errors.append(ErrorSpan(text=text, category=category, severity=severity, start=start, end=end))
        found.append(Case(str(number), source, translation, tuple(errors)))
    return found


def check_round_trip(kind: str, given_cases: list[Case], folder: Path) -> None:
    path = folder / "human" / "en-de.mqm.seg.rating"
    path.parent.mkdir(exist_ok=True)
    WRITERS[kind](path, given_cases)
    assert span_format(path).name == kind.removesuffix("-csv")
    evaluator = SpansFile(path=path)
    for case in given_cases:
        rating = asyncio.run(evaluator.rate(segment(case.id, case.source), case.translation))
        assert short(rating.errors) == expected(case, kind)
        assert rating.warnings == ((UNCHECKED,) if kind == "esa-csv" else ())


@pytest.mark.parametrize("kind", WRITERS)
@given(cases())
@settings(max_examples=40, deadline=None)
def test_what_is_written_in_a_format_is_read_back(kind: str, given_cases: list[Case]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_round_trip(kind, given_cases, Path(folder))


def _real(path: Path, category: str) -> list[Case]:
    found = []
    for line in path.read_text(encoding="utf-8").strip("\n").split("\n"):
        row = json.loads(line)
        sides = {"tgt": "translation", "src": "source", "omission": "omission"}
        errors = []
        for span in row["spans"]:
            side, named = sides[span["side"]], (span["category"] or category).strip("/")
            if named.casefold().rpartition("/")[2].startswith("omission") and side == "source":
                side = "omission"
            values = {key: span[key] for key in ("text", "start", "end", "severity")}
            errors.append(ErrorSpan(**values, side=side, category=named))
        found.append(Case(str(len(found) + 1), row["src"], row["tgt"], tuple(errors), rater=row["rater"] or "r"))
    return found


@pytest.mark.data
@pytest.mark.parametrize("kind", ["marot", "mtme", "bio-mqm"])
def test_real_mqm_annotations_are_read_back(kind: str, data: Path, tmp_path: Path) -> None:
    found = _real(data / "mqm_spans.jsonl", "other")
    assert len(found) == 1275
    check_round_trip(kind, found, tmp_path)


@pytest.mark.data
@pytest.mark.parametrize("kind", ["esa", "esa-csv"])
def test_real_esa_annotations_are_read_back(kind: str, data: Path, tmp_path: Path) -> None:
    found = []
    for case in _real(data / "esa24_spans.jsonl", "other"):
        errors = [
            error.model_copy(update={"category": "accuracy/omission"}) if error.start is None else error
            for error in case.errors or ()
        ]
        found.append(case._replace(errors=tuple(errors)))
    assert sum(error.side == "omission" for case in found for error in case.errors or ()) == 39
    check_round_trip(kind, found, tmp_path)


@pytest.mark.parametrize("kind", WRITERS)
def test_error_free_is_an_empty_list_and_scores_nothing_off(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "human" / "en-de.x.seg.rating"
    path.parent.mkdir()
    WRITERS[kind](path, [Case("1", SOURCE, TEXT, (NICHT,)), Case("2", "Yes.", "Ja.", ())])
    rating = rate(path, segment("2", "Yes."), "Ja.")
    assert (rating.errors, rating.score) == ((), 0.0)
    assert rate(path).score == -5.0


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind not in ("esa-csv",)])
def test_an_unknown_or_edited_text_is_refused_and_never_error_free(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "human" / "en-de.x.seg.rating"
    path.parent.mkdir()
    WRITERS[kind](path, [Case("1", SOURCE, TEXT, (NICHT,))])
    with pytest.raises(
        EvaluationError, match=r"segment '1': is not the translation that was rated at .*x\.seg\.rating"
    ):
        rate(path, translation="Die Bank zahlt.")
    with pytest.raises(EvaluationError, match="segment '1': has another source at"):
        rate(path, segment(source="The bench pays."))
    with pytest.raises(EvaluationError, match=r"segment '7': .*x\.seg\.rating holds no annotation of this translation"):
        rate(path, segment("7", "Else."), "Anders.")
    assert short(rate(path, segment("7")).errors)[0][0] == "nicht"  # another id, the same texts


def test_the_difference_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    WRITERS["jsonl"](path, [Case("1", SOURCE, TEXT, ())])
    with pytest.raises(EvaluationError, match=r"'t, die Bänke' is 't, die Bank\.' there \(character 28\)") as raised:
        rate(path, translation="Die Bank zahlt nicht, die Bänke")
    assert "--judge NAME, or --gate guards" in str(raised.value)


@pytest.mark.parametrize("kind", ["mtme", "comet", "jsonl"])
def test_not_rated_is_an_error(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "human" / "en-de.x.seg.rating"
    path.parent.mkdir()
    WRITERS[kind](path, [Case("1", SOURCE, TEXT, None), Case("2", "Yes.", "Ja.", ())])
    with pytest.raises(EvaluationError, match="segment '1': was not rated, says"):
        rate(path)


def test_several_raters_are_joined_and_their_scores_averaged(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    bank = ErrorSpan(text="Bank", category="style", severity="minor", start=4, end=8)
    raters = [
        Case("1", SOURCE, TEXT, errors, rater=name)
        for name, errors in [("a", (NICHT, NICHT)), ("b", ()), ("c", (NICHT, bank))]
    ]
    WRITERS["marot"](path, raters)
    rating = rate(path)
    assert short(rating.errors) == short((NICHT, NICHT, bank))
    assert rating.score == -(10 + 0 + 6) / 3
    assert rating.explanation == "rated by a, b, c; the score is the mean of 3 ratings"
    assert short(rate(path, rater="c").errors) == short((NICHT, bank))
    assert rate(path, rater="b").errors == ()
    assert "|rater:b|" in rate(path, rater="b").signature


def test_a_system_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    WRITERS["marot"](path, [Case("1", SOURCE, TEXT, (NICHT,), "one"), Case("1", SOURCE, TEXT, (), "two")])
    assert rate(path, system="two").errors == ()
    assert rate(path).score == -2.5
    with pytest.raises(ConfigError, match=r"a\.tsv: no system 'tow'; did you mean 'two'\?"):
        rate(path, system="tow")
    with pytest.raises(ConfigError, match=r"a\.tsv: no rater 'x'; there are: r1"):
        rate(path, rater="x")


def test_the_same_texts_twice_need_an_id_or_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    ja = {"source": "Yes.", "translation": "Ja."}
    marked = {"text": "Ja", "category": "style", "severity": "minor"}
    lines = [{"id": "5", "document": "a", **ja, "errors": []}, {"id": "9", "document": "b", **ja, "errors": [marked]}]
    write(path, "".join(json.dumps(line) + "\n" for line in lines))
    assert rate(path, segment("5", "Yes."), "Ja.").errors == ()
    assert short(rate(path, segment("1", "Yes.", document="b"), "Ja.").errors)[0][3:5] == (0, 2)
    with pytest.raises(
        EvaluationError, match=r"its texts stand at .*:1, .*:2 with different errors; give it its id there"
    ):
        rate(path, segment("1", "Yes."), "Ja.")


def test_files_without_texts_are_matched_by_number(tmp_path: Path) -> None:
    errors = '{"errors": [{"start": 15, "end": 20, "category": "accuracy/addition", "severity": "major"}]}'
    path = write(tmp_path / "en-de.mqm.seg.rating", f"a\tNone\nb\t{errors}\tr\na\t{errors}\tr\n")
    with pytest.raises(ConfigError, match=r"has no texts, and 2 systems: choose with system=a\|b"):
        rate(path)
    rating = rate(path, segment("2"), system="a")
    assert (short(rating.errors), rating.warnings) == (short((NICHT,)), (UNCHECKED,))
    with pytest.raises(EvaluationError, match="segment '1': was not rated"):
        rate(path, system="a")
    with pytest.raises(EvaluationError, match="it tells segments by their numbers, as line-aligned files do"):
        rate(path, segment("talk.4"), system="a")
    with pytest.raises(EvaluationError, match="this is not the translation that was rated"):
        rate(path, segment("2"), "Kurz.", system="a")


def test_an_omission_at_an_empty_place_of_the_source_has_no_place_in_the_translation(tmp_path: Path) -> None:
    error = {"start": 0, "end": 0, "category": "Accuracy/Omission", "severity": "major", "is_source_error": True}
    path = write(tmp_path / "en-de.mqm.seg.rating", f"a\t{json.dumps({'errors': [error]})}\tr\n")
    assert short(rate(path).errors) == [("", "Accuracy/Omission", "major", None, None, "omission")]


def test_an_empty_span_at_the_start_is_an_error_without_a_place(tmp_path: Path) -> None:
    """What `mtagent rate --format mtme` writes must not come back as an insertion before the first word."""
    error = {"start": 0, "end": 0, "category": "Accuracy/Omission", "severity": "major", "is_source_error": False}
    other = {**error, "category": "Style/Awkward"}
    path = write(tmp_path / "en-de.mqm.seg.rating", f"a\t{json.dumps({'errors': [error, other]})}\tr\n")
    assert [(e.category, e.start, e.end) for e in rate(path).errors or ()] == [
        ("Accuracy/Omission", None, None), ("Style/Awkward", None, None)
    ]  # fmt: skip
    assert rate(path).score == -10


def test_texts_around_an_mtme_file_must_be_as_many(tmp_path: Path) -> None:
    path = tmp_path / "human" / "en-de.mqm.seg.rating"
    WRITERS["mtme"](path, [Case("1", SOURCE, TEXT, ())])
    write(tmp_path / "sources" / "en-de.txt", "one\ntwo\n")
    with pytest.raises(InputError, match="'sys' has 1 ratings, 1 translations, 2 sources; they must be equally many"):
        rate(path)


def test_a_format_can_be_named_and_must_exist(tmp_path: Path) -> None:
    path = tmp_path / "file"
    WRITERS["marot"](path, [Case("1", SOURCE, TEXT, (NICHT,))])
    assert short(rate(path, format="marot").errors) == short((NICHT,))
    with pytest.raises(InputError):
        rate(path, format="mtme")
    made = made_by(f"spans-file:path={path},format=marot,rater=r1,system=sys")
    assert isinstance(made, Evaluator)
    with pytest.raises(ConfigError, match="evaluator spans-file: format: input should be 'marot', 'mtme'"):
        made_by(f"spans-file:path={path},format=xml")
    with pytest.raises(ConfigError, match="write spans-file:path=FILE"):
        made_by("spans-file")


def made_by(spec: str) -> Evaluator:
    return make_evaluator(spec, Surroundings(llm=None, config=Config(), data_folder=Path()))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.tsv: no such file"):
        SpansFile(path=tmp_path / "none.tsv")


def test_the_signature_depends_on_the_content_and_not_on_the_folder(tmp_path: Path) -> None:
    signatures = []
    for folder, errors in (("a", ()), ("b", ()), ("c", (NICHT,))):
        path = tmp_path / folder / "x.jsonl"
        path.parent.mkdir()
        WRITERS["jsonl"](path, [Case("1", SOURCE, TEXT, errors)])
        signatures.append(SpansFile(path=path).signature)
    assert signatures[0] == signatures[1] != signatures[2]
    assert signatures[0].startswith("spans-file|file:x.jsonl|sha256:")


def test_control_items_of_an_esa_campaign_are_left_out(tmp_path: Path) -> None:
    row = "r,s,{},{},eng,deu,80,{},False,[],1.5,2.5\n"
    kept = row.format(1, "TGT", "doc")
    left_out = [row.format(2, "BAD", "doc"), row.format(2, "TGT", "doc#dup"), row.format(2, "TGT", "doc-tutorial-1")]
    path = write(tmp_path / "a.csv", kept + "".join(left_out))
    assert rate(path).explanation == f"rated by r ({path}:1); ESA score 80"
    with pytest.raises(EvaluationError, match="holds no annotation"):
        rate(path, segment("2"))


def test_spans_of_a_file_drive_the_post_edit_stage(shell: Shell) -> None:
    errors = [{"text": "gran mundo", "category": "fluency", "severity": "minor", "suggestion": "mundo grande"}]
    sources = ["The cat sat here.", "Hello big world.", "Pay 5 dollars now."]
    texts = ["El gato se sentó aquí", "Hola gran mundo.", "Paga 5 dólares ahora."]
    lines = [
        json.dumps({"id": str(n), "source": source, "translation": text, "errors": errors if n == 2 else []})
        for n, (source, text) in enumerate(zip(sources, texts, strict=True), start=1)
    ]
    shell.write("spans.jsonl", *lines)
    done = shell.postedit("--stages pe --gate guards --evaluator spans-file:path=spans.jsonl -q")
    assert (done.code, done.out.splitlines()) == (0, [texts[0], "Hola mundo grande.", texts[2]])
