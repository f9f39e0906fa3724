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
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.registry import Surroundings, make_evaluator
from mtagent.evaluators.spans_file import UNCHECKED, SpansFile
from mtagent.formats import span_format
from mtagent.records import ErrorSpan, Rating, Segment, Severity
from tests.commands import SOURCES, TRANSLATIONS, Shell
from tests.span_writers import WRITERS, Case, write

SOURCE, TEXT = "The bank pays.", "Die Bank zahlt nicht, die Bank."
NICHT = ErrorSpan(text="nicht", category="accuracy/addition", severity="major", start=15, end=20)
Short = tuple[str, str, str, int | None, int | None, str]


def segment(number: str = "1", source: str = SOURCE, document: str | None = None) -> Segment:
    return Segment(id=number, source=source, source_lang="en", target_lang="de", document=document)


def rate(path: Path, rated: Segment | None = None, translation: str = TEXT, **options: Any) -> Rating:
    return asyncio.run(SpansFile(path=path, **options).rate(rated or segment(), translation))


def short(errors: tuple[ErrorSpan, ...] | None) -> list[Short]:
    return [(e.text, e.category, e.severity, e.start, e.end, e.side) for e in errors or ()]


def expected(case: Case, kind: str) -> list[Short]:
    """The errors of ``case`` as ``kind`` can hold them. Offsets into the source do not stay."""
    errors = []
    for error in case.errors or ():
        changes: dict[str, Any] = {"category": "other"} if kind in ("wmt", "comet") else {}
        changes |= {"start": None, "end": None} if error.side != "translation" else {}
        errors.append(error.model_copy(update=changes))
    if kind == "bio-mqm":  # which keeps the sides apart
        errors.sort(key=lambda error: error.side != "translation")
    return short(tuple(errors))


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
    cases = []
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
        cases.append(Case(str(number), source, translation, tuple(errors)))
    return cases


def made(kind: str, folder: Path, *cases: Case) -> Path:
    """A file of this kind."""
    path = folder / "human" / "en-de.x.seg.rating"
    path.parent.mkdir(exist_ok=True)
    WRITERS[kind](path, cases)
    return path


def check_round_trip(kind: str, given_cases: list[Case], folder: Path) -> None:
    path = made(kind, folder, *given_cases)
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


def real(path: Path) -> list[Case]:
    """What people marked, as the cases of one file."""
    sides = {"tgt": "translation", "src": "source", "omission": "omission"}
    cases = []
    for number, row in enumerate(map(json.loads, path.read_text(encoding="utf-8").strip("\n").split("\n")), start=1):
        errors = []
        for span in row["spans"]:
            side, category = sides[span["side"]], (span["category"] or "other").strip("/")
            if category.casefold().rpartition("/")[2].startswith("omission") and side == "source":
                side = "omission"
            if "esa" in path.name and span["start"] is None:
                category = "accuracy/omission"
            values = {key: span[key] for key in ("text", "start", "end", "severity")}
            errors.append(ErrorSpan(**values, side=side, category=category))
        cases.append(Case(str(number), row["src"], row["tgt"], tuple(errors), rater=row["rater"] or "r"))
    return cases


@pytest.mark.data
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "mqm_spans.jsonl") for kind in ("marot", "mtme", "bio-mqm")),
        *((kind, "esa24_spans.jsonl") for kind in ("esa", "esa-csv")),
    ],
)
def test_real_annotations_are_read_back(kind: str, name: str, data: Path, tmp_path: Path) -> None:
    cases = real(data / name)
    assert (len(cases) == 1275) == (name == "mqm_spans.jsonl")
    assert any(error.side == "omission" for case in cases for error in case.errors or ())
    check_round_trip(kind, cases, tmp_path)


@pytest.mark.parametrize("kind", WRITERS)
def test_error_free_is_an_empty_list_and_scores_nothing_off(kind: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path, Case("1", SOURCE, TEXT, (NICHT,)), Case("2", "Yes.", "Ja.", ()))
    rating = rate(path, segment("2", "Yes."), "Ja.")
    assert (rating.errors, rating.score) == ((), 0.0)
    assert rate(path).score == -5.0


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "esa-csv"])
def test_an_unknown_or_edited_text_is_refused_and_never_error_free(kind: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path, Case("1", SOURCE, TEXT, (NICHT,)))
    edited = "Die Bank zahlt nicht, die Bänke"
    difference = r"'t, die Bänke' is 't, die Bank\.' there \(character 28\).*set judge, or gate=guards"
    with pytest.raises(EvaluationError, match=f"'1': isn't the translation that was rated at .*x.seg.*{difference}"):
        rate(path, translation=edited)
    with pytest.raises(EvaluationError, match="segment '1': has another source at"):
        rate(path, segment(source="The bench pays."))
    with pytest.raises(EvaluationError, match=r"segment '7': .*x\.seg\.rating has no annotation of this translation"):
        rate(path, segment("7", "Else."), "Anders.")
    assert short(rate(path, segment("7")).errors)[0][0] == "nicht"  # another id, the same texts


@pytest.mark.parametrize("kind", ["mtme", "comet", "jsonl"])
def test_not_rated_is_an_error(kind: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path, Case("1", SOURCE, TEXT, None), Case("2", "Yes.", "Ja.", ()))
    with pytest.raises(EvaluationError, match="segment '1': was not rated at"):
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
        EvaluationError, match=r"its texts are at .*:1, .*:2 with different errors; give it its id there"
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
    with pytest.raises(EvaluationError, match="it identifies segments by their numbers, as line-aligned files do"):
        rate(path, segment("talk.4"), system="a")
    with pytest.raises(EvaluationError, match="this is not the translation that was rated"):
        rate(path, segment("2"), "Kurz.", system="a")


def test_an_empty_span_at_the_start_is_an_error_without_a_place(tmp_path: Path) -> None:
    """What `mtagent rate --format mtme` writes must not come back as an insertion before the first word."""
    error = {"start": 0, "end": 0, "category": "Accuracy/Omission", "severity": "major", "is_source_error": False}
    errors = [error, {**error, "category": "Style/Awkward"}, {**error, "is_source_error": True}]
    path = write(tmp_path / "en-de.mqm.seg.rating", f"a\t{json.dumps({'errors': errors})}\tr\n")
    assert [(e.category, e.start, e.end) for e in rate(path).errors or ()] == [
        ("Accuracy/Omission", None, None), ("Style/Awkward", None, None), ("Accuracy/Omission", None, None)
    ]  # fmt: skip
    assert rate(path).score == -15


def test_texts_around_an_mtme_file_must_be_as_many(tmp_path: Path) -> None:
    path = tmp_path / "human" / "en-de.mqm.seg.rating"
    WRITERS["mtme"](path, [Case("1", SOURCE, TEXT, ())])
    write(tmp_path / "sources" / "en-de.txt", "one\ntwo\n")
    with pytest.raises(InputError, match="'sys' has 1 ratings, 1 translations, 2 sources; their numbers must be equal"):
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
    with pytest.raises(InputError, match=r"none\.tsv: no such file"):
        SpansFile(path=tmp_path / "none.tsv")


def made_by(spec: str) -> Evaluator:
    return make_evaluator(spec, Surroundings(llm=None, config=Config(), data_folder=Path()))


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
    with pytest.raises(EvaluationError, match="has no annotation"):
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


# --- whose annotations a file holds: no system is rated with those of another


MARKED = '{"errors": [{"start": 0, "end": 2, "category": "style", "severity": "major"}]}'
LINES = {"s1": f"{MARKED}\tr", "s2": '{"errors": []}\tr'}
EL = ErrorSpan(text="El", category="style", severity="major", start=0, end=2)


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with two systems, the first of whose texts is equal."""
    shell.write("s1.txt", *TRANSLATIONS)
    shell.write("s2.txt", TRANSLATIONS[0], "Hola mundo.", "Paga.")
    return shell


def ratings(shell: Shell, *systems: str, name: str = "a.seg.rating") -> None:
    """An MTME file without texts, that holds the lines of ``systems``."""
    shell.write(name, *(f"{system}\t{LINES['s1' if '1' in system else 's2']}" for system in systems for _ in SOURCES))


def rate_systems(
    shell: Shell, translations: str, spec: str
) -> tuple[int, dict[str, list[float | None]], list[str], str]:
    """Exit code, scores by system, all that went wrong, and what was said."""
    done = shell(f"rate -s en.txt -t {translations} -l en-es --evaluator spans-file:path={spec}")
    rows = [json.loads(line) for line in done.out.splitlines()]
    scores: dict[str, list[float | None]] = {row["system"]: [] for row in rows}
    for row in rows:
        scores[row["system"]].append(row["score"])
    return done.code, scores, [row["error"] for row in rows if row["error"]], done.err


@pytest.mark.parametrize("option", ["", ",system=s1"])
def test_no_system_gets_the_ratings_of_another(option: str, files: Shell) -> None:
    ratings(files, "s1")
    code, scores, errors, said = rate_systems(files, "s1.txt s2.txt", f"a.seg.rating{option}")
    assert (code, scores) == (3, {"s1": [-5.0] * 3, "s2": [None] * 3})
    assert [error.partition("a.seg.rating ")[2] for error in errors] == [
        "has no ratings of system 's2'; it has ratings of s1"
    ] * 3
    assert said.count("cannot be checked") == 1
    assert "mtagent: 3 ratings carry warnings; the first: s1/1: the file has no texts, so it cannot be" in said


def test_each_system_gets_its_own_ratings(files: Shell) -> None:
    ratings(files, "s2", "s1")
    assert rate_systems(files, "s1.txt s2.txt", "a.seg.rating")[:3] == (0, {"s1": [-5.0] * 3, "s2": [0.0] * 3}, [])
    assert rate_systems(files, "s2.txt", "a.seg.rating")[1] == {"s2": [0.0] * 3}


def test_names_are_matched_as_mt_metrics_eval_writes_them(files: Shell) -> None:
    ratings(files, "online_s1", "s2_v_9_0")
    _, scores, errors, _ = rate_systems(files, "online-s1=s1.txt s2-v.9.0=s2.txt", "a.seg.rating")
    assert (scores, errors) == ({"online-s1": [-5.0] * 3, "s2-v.9.0": [0.0] * 3}, [])


def test_a_single_file_of_another_name_is_rated_and_warned_of(files: Shell) -> None:
    ratings(files, "s1")
    code, scores, _, said = rate_systems(files, "mt=s2.txt", "a.seg.rating")
    assert (code, scores) == (0, {"mt": [-5.0] * 3})
    assert "the first: mt/1: the file's ratings are of the system 's1', and this one is called 'mt'" in said
    assert "is called" not in rate_systems(files, "mt=s2.txt", "a.seg.rating,system=s1")[3]


def test_which_of_several_systems_a_single_file_is_must_be_said(files: Shell) -> None:
    ratings(files, "s1", "s2")
    evaluator = "--evaluator spans-file:path=a.seg.rating"
    for done in (
        files(f"rate -s en.txt -t mt=s2.txt -l en-es {evaluator}"),
        files.postedit(f"{evaluator} --gate guards"),
    ):
        assert (done.code, "has no texts, and 2 systems: choose with system=s1|s2" in done.err) == (1, True)


def test_equal_texts_of_two_systems_have_the_ratings_of_each(files: Shell) -> None:
    pairs = [Case("1", SOURCES[0], TRANSLATIONS[0], errors, name) for name, errors in [("s1", (EL,)), ("s2", ())]]
    WRITERS["marot"](files.folder / "a.tsv", pairs)
    _, scores, errors, _ = rate_systems(files, "s1.txt s2.txt --limit 1", "a.tsv")
    assert (scores, errors) == ({"s1": [-5.0], "s2": [0.0]}, [])
    _, scores, _, _ = rate_systems(files, "x=s1.txt y=s2.txt --limit 1", "a.tsv")
    assert scores == {"x": [-2.5], "y": [-2.5]}  # nothing tells whose text it is: all that was said of it


def test_post_editing_tells_of_warnings_too(files: Shell) -> None:
    ratings(files, "s2")
    done = files.postedit("--evaluator spans-file:path=a.seg.rating --gate guards --stages pe")
    assert "mtagent: 3 ratings carry warnings; the first: 1: the file has no texts" in done.err


HEAD = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")


def two_texts(shell: Shell) -> None:
    """A Marot file in which two raters of one item had different texts before them."""
    item = ("s1", "d", "1", "1")
    rows = [
        (*item, "ann1", SOURCES[0], "El gato <v>no</v> se sentó aquí", "Accuracy/Addition", "Major"),
        (*item, "ann2", SOURCES[0], TRANSLATIONS[0], "No-error", "No-error"),
    ]
    shell.write("a.tsv", *map("\t".join, (HEAD, *rows)))


@pytest.mark.parametrize(
    ("text", "score", "rater", "places"),
    [
        (TRANSLATIONS[0], 0.0, "ann1", ("a.tsv:2", "a.tsv:3")),
        ("El gato no se sentó aquí", -5.0, "ann2", ("a.tsv:3", "a.tsv:2")),
    ],
)
def test_what_is_said_of_another_text_of_the_item_is_told(
    text: str, score: float, rater: str, places: tuple[str, str], files: Shell
) -> None:
    two_texts(files)
    files.write("s1.txt", text, *TRANSLATIONS[1:])
    code, scores, _, said = rate_systems(files, "s1.txt --limit 1", "a.tsv")
    assert (code, scores) == (0, {"s1": [score]})
    left_out = f"{places[0]}: this rating by {rater} is left out, since it is of another text than"
    assert f"mtagent: 1 rating carries a warning: s1/1: {left_out} {places[1]}: " in said
    assert "El gato no se" in said
    assert (
        "warning" not in rate_systems(files, "s1.txt --limit 1", f"a.tsv,rater={'ann2' if score == 0 else 'ann1'}")[3]
    )


def test_a_span_that_lacks_fields_is_told_which_it_needs(files: Shell) -> None:
    values = {"id": "1", "source": SOURCES[0], "translation": TRANSLATIONS[0]}
    span = {"text": "El", "severity": "minor"}
    errors = [{**span, "category": "style"}, span]
    files.write("a.jsonl", json.dumps({**values, "errors": []}), json.dumps({**values, "errors": errors}))
    done = files("rate -s en.txt -t s1.txt -l en-es --evaluator spans-file:path=a.jsonl")
    assert done.code == 1
    needed = "no 'category'; an error needs text, category, severity, and may have start, end, side, suggestion"
    assert f"a.jsonl:2: error 2 of 2: {needed}" in done.err
