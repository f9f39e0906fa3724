"""``mtagent export`` as a user meets it: what the files hold, that they can be read again, what is refused."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.formats import read_annotations
from mtagent.formats.exports import RunTexts, SegmentTexts
from mtagent.formats.mtme import MTME
from mtagent.records import Chain, Edit, ErrorSpan, Rated, Rating, RatingRole, Segment, Stage, Step, Verdict
from mtagent.store import Store
from mtagent.text import paragraphs
from mtagent.text.edits import apply
from tests.commands import IMPROVED, ROOT, SOURCES, TRANSLATIONS, Shell, run
from tests.taken_back import taken_back

REFERENCES = ["El gato estaba sentado aquí.", "Hola, gran mundo.", "Pague 5 dólares ahora."]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with simulator("--behaviour", "tests.simulator.evaluators:answer") as base_url:
        yield base_url


@pytest.fixture
def improved(shell: Shell) -> Shell:
    """The shell with an offline run ``r`` of three segments, whose gate rated them."""
    shell.write("ref.txt", *REFERENCES)
    assert shell.postedit("-r ref.txt --gate rate --name r -o o.txt -q").code == 0
    return shell


def segment(number: int, source: str, translation: str | None, **more: str) -> Segment:
    fields = {"source_lang": "en", "target_lang": "de", **more}
    return Segment(id=str(number), source=source, translation=translation, **fields)


def chain(number: int, source: str, translation: str | None, *steps: Step, **more: str) -> Chain:
    return Chain(segment=segment(number, source, translation, **more), steps=steps)


def by(evaluator: str, score: float, model: str = "m", errors: tuple[ErrorSpan, ...] | None = ()) -> Rating:
    return Rating(evaluator=evaluator, score=score, errors=errors, signature=f"{evaluator}|model:{model}")


def step(stage: Stage, text: str, *ratings: Rating, verdict: Verdict = "kept", edits: Sequence[Edit] = ()) -> Step:
    """A step with the editor's rating first, if it has one, and then the judge's of the text before and after."""
    roles: tuple[RatingRole, ...] = ("before", "after") if len(ratings) > 2 or stage != "postedit" else ("after",)
    roles = ("editor", *roles) if stage == "postedit" else roles
    in_roles = tuple(rating.model_copy(update={"role": role}) for rating, role in zip(ratings, roles, strict=False))
    return Step(stage=stage, text=text, ratings=in_roles, verdict=verdict, cause="-", edits=tuple(edits))


def store(shell: Shell, *chains: Chain, name: str = "r", total: int | None = None) -> None:
    """Save ``chains`` as a run."""
    with Store(shell.folder / "store.db") as opened:
        begun = opened.start(name, settings={}, inputs={}, total=total or len(chains))
        for position, saved in enumerate(chains):
            begun.save(position, saved)
        begun.finish()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def scores(path: Path) -> list[tuple[str, str]]:
    """The pairs of system and score of a file."""
    return [(line.split("\t")[0], line.split("\t")[1]) for line in path.read_text("utf-8").splitlines()]


def refused(shell: Shell, line: str, *said: str) -> None:
    """``line`` ends with an error that says all this."""
    done = shell(line)
    assert (done.code, [words for words in said if words not in done.err]) == (1, [])


# --- mt-metrics-eval


def test_mtme_is_a_folder_with_texts_documents_and_scores(improved: Shell) -> None:
    done = improved("export r --format mtme -o set")
    assert (done.code, done.out, done.err) == (0, "", "mtagent: written: set (8 files)\n")
    rows = [f"{system}\t{score}" for system in ("postedit", "final") for score in ("0.0", "0.0", "0.0")]
    assert {name: content.decode().splitlines() for name, content in files(improved.folder / "set").items()} == {
        "sources/en-es.txt": SOURCES,
        "references/en-es.refA.txt": REFERENCES,
        "system-outputs/en-es/given.txt": TRANSLATIONS,
        "system-outputs/en-es/postedit.txt": IMPROVED,
        "system-outputs/en-es/final.txt": IMPROVED,
        "documents/en-es.docs": ["unknown\tunknown"] * 3,
        "metric-scores/en-es/rules-src.seg.score": ["given\t-0.1", "given\t0.0", "given\t0.0", *rows],
        "metric-scores/en-es/rules-src.sys.score": [f"given\t{-0.1 / 3}", "postedit\t0.0", "final\t0.0"],
    }


@pytest.mark.slow
@pytest.mark.loopback
def test_every_score_stands_with_the_text_that_it_is_about(shell: Shell, server: str) -> None:
    """Another run that rates the same stages gives the same scores, wherever the chain has had one."""
    words = ["red", "old", "big"] * 4
    shell.write("long.txt", *(f"The {word} cat number {i} sat here." for i, word in enumerate(words)))
    run = f"translate -s long.txt -l en-es --base-url {server} --stages tpp --gate rate --margin 2 -o o.txt -q"
    assert shell(f"{run} --name r --evaluator rubric-mqm --judge gemba-mqm").code == 0
    done = shell("export r --format mtme -o set")
    assert done.code == 0
    exported = {}
    for name in ("rubric_mqm", "gemba_mqm"):
        shell(f"rate --run r --evaluator {name.replace('_', '-')} --base-url {server} -o {name}.seg.score -q")
        rated = scores(shell.folder / f"{name}.seg.score")
        exported[name] = scores(shell.folder / f"set/metric-scores/en-es/{name}-src.seg.score")
        pairs = list(zip(exported[name], rated, strict=True))
        assert all(own == other for own, other in pairs if own[1] != "None")
        assert all(own[0] == other[0] for own, other in pairs)
    edited = {score for system, score in exported["gemba_mqm"] if system in ("postedit", "final")}
    assert edited - {"None"}  # the judge saw edited texts, the editor drafts alone
    assert any(score != "None" for system, score in exported["rubric_mqm"] if system == "translate")
    missing, total = sum(score == "None" for _, score in exported["rubric_mqm"]), len(exported["rubric_mqm"])
    assert f"rubric_mqm-src: {missing} of {total} texts are not rated (None)" in done.err


EDITOR, JUDGE_OLD, JUDGE_NEW = by("rubric-mqm", -5), by("rubric-mqm", -7, "judge"), by("rubric-mqm", -2, "judge")


def test_a_judge_of_the_same_name_is_another_rater(shell: Shell) -> None:
    kept = step("postedit", "Ein Kater.", EDITOR, JUDGE_OLD, JUDGE_NEW)
    store(shell, chain(1, "A dog.", "Ein Hund."), chain(2, "A cat.", "Ein Hund.", kept))
    done = shell("export r --format mtme -o set")
    assert "renamed, as names there allow no '.', '-' and the like: rubric-mqm is rubric_mqm\n" in done.err
    assert "en-de: rubric_mqm_2 is another rubric_mqm: rubric-mqm|model:judge" in done.err
    folder = shell.folder / "set/metric-scores/en-de"
    systems = [system for system in ("given", "postedit", "final") for _ in range(2)]
    first = ["None", "-5.0", "None", "None", "None", "None"]
    assert scores(folder / "rubric_mqm-src.seg.score") == list(zip(systems, first, strict=True))
    assert scores(folder / "rubric_mqm-src.sys.score")[1] == ("postedit", "None")
    second = scores(folder / "rubric_mqm_2-src.seg.score")
    assert [score for _, score in second] == ["None", "-7.0", "None", "-2.0", "None", "-2.0"]
    done = shell("export r --format marot")
    assert [line.split("\t")[:5:4] for line in done.out.splitlines()[1:]] == [
        ["given", "rubric-mqm"], ["given", "rubric-mqm_2"], ["postedit", "rubric-mqm_2"], ["final", "rubric-mqm_2"]
    ]  # fmt: skip
    assert "rubric-mqm_2 is another rubric-mqm" in done.err


def reverted() -> Chain:
    """A chain one of whose two edits was taken back."""
    given = "Ein Hund und Hase."
    both = [
        Edit(old=old, new=new, start=given.index(old), end=given.index(old) + len(old), outcome="applied")
        for old, new in (("Hund", "Kater"), ("Hase", "Igel"))
    ]
    text = apply(given, both)
    first = step("postedit", text, by("rules", -3), by("rules", -1), edits=both)
    later = step("proofread", text, by("rules", -1), by("rules", 0), verdict="rejected")
    return taken_back(chain(1, "A cat.", given, first, later), 1)


# What a signature says of a single rating (its order) makes no other evaluator.
ORDERED = [Rating(evaluator="rules", score=n, signature=f"rules|model:m|order:{n}|version:1") for n in (1, 2)]
REJECTED = step("postedit", "Hund.", by("rules", -5), by("rules", -2), verdict="rejected")
UNKNOWN = Step(
    stage="proofread", text="Ein Kater.", ratings=(by("rules", -1), by("rules", -2)), verdict="kept", cause="its own"
)


@pytest.mark.parametrize(
    ("rated", "expected"),
    [
        (chain(1, "A cat.", "Hund.", step("postedit", "Kater.", *ORDERED)), ["1.0", "2.0", "2.0"]),
        (chain(1, "A cat.", "Hund.", REJECTED), ["-5.0"] * 3),
        (reverted(), ["-3.0", "None", "None", "None"]),
        (chain(1, "A cat.", "Ein Hund.", UNKNOWN), None),
    ],
    ids=["one evaluator", "a rejected text", "edits taken back", "an unknown gate"],
)
def test_a_rating_stands_with_the_stages_whose_text_it_is_about(
    rated: Chain, expected: list[str] | None, shell: Shell
) -> None:
    store(shell, rated)
    done = shell("export r --format mtme -o set")
    assert shell.read("set/system-outputs/en-de/final.txt") == [rated.text]
    written = {path.name: [score for _, score in scores(path)] for path in shell.folder.rglob("*.seg.score")}
    assert written == ({"rules-src.seg.score": expected} if expected else {})
    assert ("en-de: the run holds no rating of these texts: no metric-scores" in done.err) == (expected is None)


def test_an_evaluator_that_saw_references_is_named_after_them(shell: Shell) -> None:
    with_reference = Rating(evaluator="rubric-mqm", score=-1, signature="rubric-mqm|reference:yes")
    chains = [
        Chain(segment=segment(i, "A cat.", "Ein Hund.", **more), steps=(step("postedit", "Ein Hund.", with_reference),))
        for i, more in enumerate([{"reference": "Eine Katze."}, {"target_lang": "fr"}, {}])
    ]
    store(shell, *chains)
    done = shell("export r --format mtme -o set")
    names = {path.name for path in (shell.folder / "set").rglob("*.seg.score")}
    assert names == {"rubric_mqm-refA.seg.score", "rubric_mqm-src.seg.score"}
    assert "en-de: 1 of 2 segments have no reference: empty lines" in done.err
    assert (shell.folder / "set/references/en-de.refA.txt").read_text("utf-8") == "Eine Katze.\n\n"
    assert not (shell.folder / "set/references/en-fr.refA.txt").exists()


def test_each_language_pair_has_its_files_with_documents_in_one_piece(shell: Shell) -> None:
    about = [
        *[("a doc", "news", "de"), ("a doc", "news", "de"), ("b", None, "de"), ("d", "news", "sr-Latn-RS")],
        *[("a doc", "so cial", "de"), (None, None, "de")],
    ]
    segments = [
        segment(i, f"s{i}", f"t{i}", target_lang=lang).model_copy(update={"document": document, "domain": domain})
        for i, (document, domain, lang) in enumerate(about)
    ]
    store(shell, *(Chain(segment=each) for each in segments))
    done = shell("export r --format mtme -o set --systems given")
    assert shell.read("set/sources/en-sr_Latn_RS.txt") == ["s3"]
    assert shell.read("set/system-outputs/en-de/given.txt") == ["t0", "t1", "t2", "t4", "t5"]
    assert not (shell.folder / "set/system-outputs/en-de/final.txt").exists()
    lines = shell.read("set/documents/en-de.docs")
    assert lines == ["news\ta_doc", "news\ta_doc", "unknown\tb", "so_cial\ta_doc_2", "unknown\tunknown"]
    assert "documents renamed, to be in one piece and without spaces: 2 (a doc is a_doc, a doc is a_doc_2)" in done.err


BROKEN = "C:\\new\nline\r\nand \\\\ more\\n"


def test_a_line_break_is_refused_or_escaped_and_can_be_undone(shell: Shell) -> None:
    store(shell, chain(1, "one\n\ntwo", "a\\b"), chain(2, "x", BROKEN))
    refused(shell, "export r --format mtme -o set", "segment '1' (and 1 more): has a line break", "--escape")
    assert not (shell.folder / "set").exists()
    done = shell("export r --format mtme -o set --escape")
    assert (done.code, r"a line feed is written \n" in done.err) == (0, True)
    assert shell.read("set/sources/en-de.txt") == [r"one\n\ntwo", "x"]
    lines = shell.read("set/system-outputs/en-de/final.txt")
    assert [unescaped(line) for line in lines] == ["a\\b", BROKEN]


def unescaped(line: str) -> str:
    """What the page says about undoing it."""
    page = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, str] = {"line": line}
    exec(code, names)
    return names["text"]


def test_names_of_systems_are_mapped_and_said_or_refused(improved: Shell) -> None:
    improved.write("gpt-4.1.txt", *TRANSLATIONS)
    improved.write("gpt_4_1.txt", *IMPROVED)
    both = "rate -s en.txt -t gpt-4.1.txt up/../x=gpt_4_1.txt -l en-es --name two -q -o two.jsonl"
    assert improved(both).code == 0
    assert "gpt-4.1 is gpt_4_1, up/../x is up____x\n" in improved("export two --format mtme -o set").err
    written = {path.name for path in (improved.folder / "set/system-outputs/en-es").iterdir()}
    assert written == {"gpt_4_1.txt", "up____x.txt"}
    improved("rate -s en.txt -t gpt-4.1.txt gpt_4_1.txt -l en-es --name same -q -o same.jsonl")
    twins = "other: 'gpt-4.1' and 'gpt_4_1' would both be called 'gpt_4_1': choose one with --systems"
    refused(improved, "export same --format mtme -o other", twins)
    assert improved("export same --format mtme -o other --systems gpt-4.1").code == 0


# --- Marot


def test_the_marot_file_is_read_back_with_the_spans_of_the_run(improved: Shell) -> None:
    done = improved("export r --format marot -o spans.tsv --systems given,final")
    assert (done.code, done.err) == (0, "mtagent: written: spans.tsv\n")
    annotations = read_annotations(improved.folder / "spans.tsv")
    assert [(annotation.system, annotation.rater, annotation.segment) for annotation in annotations] == [
        (system, "rules", str(i)) for i in (1, 2, 3) for system in ("given", "final")
    ]
    assert [(span.text, span.suggestion) for span in annotations[0].errors or ()] == [("aquí", "aquí.")]
    rated = improved("rate -s en.txt -t es.txt -l en-es --evaluator spans-file:path=spans.tsv -o again.jsonl -q")
    assert rated.code == 0
    again = [json.loads(line) for line in improved.read("again.jsonl")]
    assert [(rating["score"], [span["text"] for span in rating["errors"]]) for rating in again] == [
        (-0.1, ["aquí"]), (0, []), (0, [])
    ]  # fmt: skip


def test_marot_goes_to_standard_output_and_numbers_segments_that_nobody_rated(shell: Shell) -> None:
    chains = [chain(i, "A cat.", f"Hund {i}.", document="d") for i in (1, 2)]
    rated = step("postedit", "Hund 3.", by("rules", 0), by("da", 90, errors=None), by("da", 91, errors=None))
    store(shell, *chains, Chain(segment=segment(3, "A cat.", "Hund 3.", document="d"), steps=(rated,)))
    done = shell("export r --format marot --systems given")
    assert done.code == 0
    assert done.out.splitlines()[1:] == ["given\td\t3\t3\trules\tA cat.\tHund 3.\tNo-error\tNo-error\t{}"]
    assert "mtagent: ratings without a row, as their evaluator marks no spans: 1" in done.err


def test_marot_refuses_line_breaks_and_a_run_without_spans(shell: Shell) -> None:
    store(shell, chain(1, "A cat.", "Ein\nHund."), name="broken")
    store(shell, chain(1, "A cat.", "Ein Hund."), name="unrated")
    refused(shell, "export broken --format marot -o m.tsv", "has a line break", "use --format mtme --escape")
    refused(shell, "export unrated --format marot -o m.tsv", "run 'unrated' has a rating with error spans: see `mta")
    assert not (shell.folder / "m.tsv").exists()


# --- WMT25


def submitted(text: str) -> dict[str, str]:
    """The hypotheses by document."""
    documents = [json.loads(line) for line in text.splitlines()]
    assert all(list(document) == ["doc_id", "hypothesis"] for document in documents)
    return {document["doc_id"]: document["hypothesis"] for document in documents}


def test_segments_of_a_document_are_joined_by_the_breaks_between_paragraphs(shell: Shell) -> None:
    pieces = [
        ("d_#_1", "Uno."), ("e", "Otro.\n"), ("d_#_1", ""), ("e", "Fin."), ("d_#_1", "\nDos."), ("e", "\n\nY más."),
        (None, "Solo."),
    ]  # fmt: skip
    store(shell, *(
        Chain(segment=segment(i, "x", text).model_copy(update={"document": document}))
        for i, (document, text) in enumerate(pieces)
    ))  # fmt: skip
    done = shell("export r --format wmt25")
    assert done.code == 0
    assert list(submitted(done.out).items()) == [
        ("d_#_1", "Uno.\n\n\n\n\nDos."), ("e", "Otro.\nFin.\n\nY más."), ("6", "Solo.")
    ]  # fmt: skip


def test_a_document_in_two_language_pairs_is_refused(shell: Shell) -> None:
    german, french = (segment(i, "x", "y", document="d", target_lang=lang) for i, lang in enumerate(("de", "fr")))
    store(shell, Chain(segment=german), Chain(segment=french))
    refused(shell, "export r --format wmt25 -o s.jsonl", "s.jsonl: segment '1': there is another document called 'd'")
    assert not (shell.folder / "s.jsonl").exists()


def test_a_submission_holds_one_stage_the_final_one_by_default(improved: Shell) -> None:
    improved("rate --run r --name ratings -q -o x.jsonl")
    for line, texts in {
        "r": IMPROVED, "r --systems given": TRANSLATIONS, "ratings --systems final": IMPROVED
    }.items():  # fmt: skip
        assert list(submitted(improved(f"export {line} --format wmt25").out).values()) == texts
    several = "wmt25 holds one system; choose it with --systems given|final"
    refused(improved, "export r --format wmt25 --systems final,given", several)
    refused(improved, "export ratings --format wmt25", "choose it with --systems given|postedit|final")


def wmt25(data: Path) -> list[tuple[str, str, str, str]]:
    """Document, target language, source and the first system's translation of every document."""
    lines = (data / "wmt25_docs.jsonl").read_text("utf-8").split("\n")
    return [
        (item["doc"], item["lp"].partition("-")[2].replace("_", "-"), item["src"], next(iter(item["hyps"].values())))
        for item in map(json.loads, filter(None, lines))
    ]


def given_texts(shell: Shell, rows: Sequence[tuple[str, str, str, str]]) -> dict[str, str]:
    """Post-edit the rows as JSON Lines (the source language begins the document's name), and export them as given."""
    names = ("document", "source_lang", "target_lang", "source", "translation")
    shell.write(
        "docs.jsonl", *(json.dumps(dict(zip(names, (row[0], row[0][:2], *row[1:]), strict=True))) for row in rows)
    )
    assert shell("postedit -s docs.jsonl -o out.jsonl --name r -q").code == 0
    return submitted(shell("export r --format wmt25 --systems given").out)


@pytest.mark.data
def test_whole_documents_come_back_with_every_paragraph_break(shell: Shell, data: Path) -> None:
    clean = {doc: text for doc, _, _, text in wmt25(data)}
    rows = [(*row[:3], row[3].replace(" ", "  ", 1)) for row in wmt25(data)]  # a space that the rules take away
    assert sum("\n\n" in text for *_, text in rows) > 40
    given = given_texts(shell, rows)
    assert given == {doc: text for doc, _, _, text in rows}
    final = submitted(shell("export r --format wmt25").out)
    assert sum(final[doc] == text != given[doc] for doc, text in clean.items()) > 40
    separators = [{doc: paragraphs.split(text).separators for doc, text in texts.items()} for texts in (given, final)]
    assert separators[0] == separators[1]


@pytest.mark.data
def test_documents_that_were_cut_into_paragraphs_are_whole_again(shell: Shell, data: Path) -> None:
    cut = [
        (doc, lang, *pair)
        for doc, lang, source, text in wmt25(data)
        if source.count("\n\n") == text.count("\n\n")
        for pair in zip(source.split("\n\n"), text.split("\n\n"), strict=True)
    ]
    whole = {doc: text for doc, _, _, text in wmt25(data)}
    given = given_texts(shell, cut)
    assert len(given) > 40
    assert all(whole[doc] == text for doc, text in given.items())


# --- a file per stage


def test_each_stage_has_a_file_like_the_source(improved: Shell) -> None:
    done = improved("export r --format stages -o texts")
    assert (done.code, done.err) == (0, "mtagent: written: texts (3 files)\n")
    stages = {"given": TRANSLATIONS, "postedit": IMPROVED, "final": IMPROVED}
    assert files(improved.folder / "texts") == {
        f"r.{stage}.txt": "".join(f"{line}\n" for line in texts).encode() for stage, texts in stages.items()
    }


def test_stages_with_line_breaks_are_json_lines_that_can_be_improved_again(shell: Shell) -> None:
    store(shell, chain(1, "one\n\ntwo", "eins\n\nzwei", document="d"), name="../r")
    done = shell("export ../r --format stages -o texts")
    assert "JSON Lines, for there are segments with a line break: 1 (first: '1')" in done.err
    assert sorted(files(shell.folder / "texts")) == [".._r.final.jsonl", ".._r.given.jsonl"]
    assert shell("postedit -s texts/.._r.final.jsonl --name again -q").code == 0
    again = shell("export again --format wmt25 --systems given")
    assert submitted(again.out) == {"d": "eins\n\nzwei"}


def test_a_segment_without_translation_is_an_empty_line_reported_with_exit_code_3(shell: Shell) -> None:
    failed = Chain(segment=segment(2, "x", None), steps=(step("translate", "", verdict="failed"),))
    store(shell, chain(1, "A.", "B."), failed, chain(3, "C.", "D."))
    for form in ("stages", "mtme"):
        done = shell(f"export r --format {form} -o {form}")
        assert done.code == 3
        assert "mtagent: segments without a translation, whose lines are empty: 1 (first: '2')" in done.err
    assert shell.read("stages/r.final.txt") == ["B.", "", "D."]
    assert shell.read("mtme/system-outputs/en-de/given.txt") == ["B.", "", "D."]
    assert shell.read("mtme/sources/en-de.txt") == ["A.", "x", "C."]
    assert shell("export r --format wmt25 -o s.jsonl").code == 3
    assert (shell("export r").code, shell("export r").out) == (3, "B.\n\nD.\n")


# --- rating runs


def test_a_rating_run_is_exported_with_its_systems_texts_and_ratings(shell: Shell) -> None:
    shell.write("t.jsonl", *(
        json.dumps({"source": source, "translation": text})
        for source, text in zip(SOURCES, [TRANSLATIONS[0], None, TRANSLATIONS[2]], strict=True)
    ))  # fmt: skip
    assert shell("rate -s t.jsonl -l en-es --name ratings -q -o x.jsonl").code == 3
    done = shell("export ratings --format mtme -o set")
    assert done.code == 3
    assert shell.read("set/system-outputs/en-es/t.txt") == [TRANSLATIONS[0], "", TRANSLATIONS[2]]
    assert shell.read("set/metric-scores/en-es/rules-src.seg.score") == ["t\t-0.1", "t\tNone", "t\t0.0"]
    marot = shell("export ratings --format marot")
    assert "mtagent: 1 failed ratings have no row in a Marot file" in marot.err
    assert marot.out == shell("export ratings --format marot").out
    assert list(submitted(shell("export ratings --format wmt25").out)) == ["1", "2", "3"]


def test_segments_of_a_rating_run_that_are_called_alike_stay_apart(shell: Shell) -> None:
    with Store(shell.folder / "store.db") as opened:
        begun = opened.start("r", settings={}, inputs={}, total=2, kind="rating")
        for n in (0, 1):
            rated = Rated(segment=segment(7, f"s{n}", None), system="a", translation=f"t{n}", rating=by("rules", -n))
            begun.save_ratings(n, [rated])
        begun.finish()
    assert shell("export r --format mtme -o set").code == 0
    assert shell.read("set/system-outputs/en-de/a.txt") == ["t0", "t1"]
    assert shell.read("set/metric-scores/en-de/rules-src.seg.score") == ["a\t0.0", "a\t-1.0"]


# --- nothing is overwritten, nothing is half-written


def test_what_is_there_already_is_replaced_only_with_force(improved: Shell) -> None:
    for form, output in (("marot", "m.tsv"), ("wmt25", "s.jsonl"), ("csv", "o.csv")):
        improved.write(output, "mine")
        refused(improved, f"export r --format {form} -o {output}", f"{output}: already exists; --force replaces it")
        assert improved.read(output) == ["mine"]
        assert improved(f"export r --format {form} -o {output} --force").code == 0
        assert improved.read(output) != ["mine"]


def test_a_folder_that_is_not_empty_is_written_to_only_with_force(improved: Shell) -> None:
    (improved.folder / "set/sources").mkdir(parents=True)
    improved.write("set/sources/en-es.txt", "old")
    improved.write("set/notes.txt", "mine")
    refused(improved, "export r --format mtme -o set", "set: is not empty; --force writes into it")
    assert len(files(improved.folder / "set")) == 2
    done = improved("export r --format mtme -o set --force")
    assert done.code == 0
    assert "other files in set, which were not changed: 1" in done.err
    assert improved.read("set/notes.txt") == ["mine"]
    assert improved.read("set/sources/en-es.txt") == SOURCES
    before = files(improved.folder / "set")
    assert improved("export r --format mtme -o set --force").code == 0  # the same again, given texts included
    assert files(improved.folder / "set") == before
    (improved.folder / "empty/.mtagent-0123.tmp").mkdir(parents=True)  # what a killed export leaves does not count
    assert improved("export r --format stages -o empty").code == 0
    assert len(files(improved.folder / "empty")) == 3


def test_the_output_of_a_run_that_changed_nothing_may_be_written_again(shell: Shell) -> None:
    shell.write("one.txt", "The cat sat here.")
    shell.write("uno.txt", "El gato estaba aquí.")
    assert shell("postedit -s one.txt -t uno.txt -l en-es --name same -o out.txt -q").code == 0
    assert shell.read("out.txt") == shell.read("uno.txt")
    assert shell("export same -o out.txt --force").code == 0
    refused(shell, "export same -o uno.txt --force", "uno.txt: the run was made from this file")


def test_neither_the_files_of_the_run_nor_its_store_are_ever_replaced(improved: Shell) -> None:
    made_from = "es.txt: the run was made from this file"
    improved("rate -s en.txt -t es.txt -l en-es --name ratings -q -o x.jsonl")
    for line in (
        "r --format marot -o",
        "r --format wmt25 -o",
        "ratings --format marot -o",
        "r -o",
        "r -o n.txt --details",
    ):
        refused(improved, f"export {line} es.txt --force", made_from)
    refused(improved, "export r --format wmt25 -o store.db --force", "is the store")
    (improved.folder / "texts").mkdir()
    improved.write("texts/r.final.txt", *TRANSLATIONS)  # the input, under the name of an output
    refused(improved, "export r --format stages -o texts --force", "texts/r.final.txt: the run was made from this file")
    assert list(files(improved.folder / "texts")) == ["r.final.txt"]
    assert improved.read("es.txt") == TRANSLATIONS


@pytest.mark.slow
def test_an_export_that_fails_leaves_nothing_behind_and_names_the_file(shell: Shell) -> None:
    store(shell, chain(1, "x", "long " * 100_000))
    shell.write("old.txt", "old")
    for line in ("--format mtme -o out", "--format stages -o out", "-o old.txt --force"):
        # No file may grow beyond this: what a full disk is to a program.
        done = run(shell.folder, "export", "r", *line.split(), shell_prefix="ulimit -f 200")
        assert done.code == 1
        assert re.fullmatch(r"mtagent: \S+\.txt: cannot be written: file too large\n", done.err), done.err
        assert ".tmp" not in done.err
    assert shell.read("old.txt") == ["old"]
    assert sorted(path.name for path in shell.folder.iterdir() if path.name[0] in ".o") == ["old.txt"]


def test_places_that_cannot_be_written_to_are_refused(improved: Shell) -> None:
    (improved.folder / "d/r.final.txt").mkdir(parents=True)
    refused(improved, "export r --format mtme -o a/b", "a/b: the folder a does not exist")
    refused(improved, "export r --format stages -o en.txt --force", "en.txt: is a file; name a folder")
    refused(improved, "export r --format wmt25 -o d", "d: is a folder; name a file in it")
    refused(improved, "export r --format stages -o d --force", "r.final.txt: is a folder; move it away")


def test_a_run_that_is_not_complete_is_exported_only_on_demand(shell: Shell) -> None:
    store(shell, chain(1, "A.", "B."), total=2)
    for line in ("export r --format stages -o texts", "export r -o texts.txt"):
        refused(shell, line, "run 'r': is incomplete, with 1 of 2 segments")
        assert not (shell.folder / line.split()[-1]).exists()
        partial = shell(f"{line} --partial")
        assert partial.code == 0
        assert "mtagent: exported 1 of 2 segments; left out: 1" in partial.err
    store(shell, name="empty", total=1)
    refused(shell, "export empty --format wmt25 --partial", "run 'empty': has no segments to export")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("export r --format mtme", 2, "--format mtme writes a folder; name it with -o DIR"),
        ("export r --format stages", 2, "--format stages writes a folder; name it with -o DIR"),
        (
            "export r --systems final",
            2,
            "--systems needs a --format for other tools: mtme, marot, wmt25, pearmut, stages",
        ),
        ("export r --format wmt25 --like en.txt", 2, "--format wmt25 cannot be combined with --details, --like, -s"),
        ("export r --format wmt25 --escape", 2, "--escape needs --format mtme"),
        ("export r --format wmt25 --systems best", 1, "run 'r': has no system 'best'; there are: given, postedit"),
        ("export q --format wmt25", 1, "there is no run 'q'"),
        ("export r --format wmt25 --store none.db", 1, "none.db: there is no store yet"),
    ],
)
def test_wrong_usage_is_answered_with_the_way_out(line: str, code: int, said: str, improved: Shell) -> None:
    done = improved(line)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


# --- the run's own output


def test_the_texts_of_a_run_are_written_again_in_any_format_of_segments(improved: Shell) -> None:
    assert improved("export r").out.splitlines() == IMPROVED
    done = improved("export r -o new.jsonl --details d.jsonl")
    assert (done.code, done.err) == (0, "mtagent: written: new.jsonl, d.jsonl\n")
    assert [json.loads(line)["translation"] for line in improved.read("new.jsonl")] == IMPROVED
    assert [json.loads(line)["text"] for line in improved.read("d.jsonl")] == IMPROVED
    improved.write("like.csv", "id,mt,src", *(f"{n},,{source}" for n, source in enumerate(SOURCES, start=1)))
    assert improved("export r --like like.csv").out.splitlines()[1] == f"1,{IMPROVED[0]},{SOURCES[0]}"
    improved.write("other.csv", "id,mt,src", *(f"{n},,Another text." for n in range(1, len(SOURCES) + 1)))
    refused(
        improved, "export r -o new.csv --like other.csv", "new.csv: other.csv:2 has another source than segment '1'"
    )
    assert improved("export r --format csv").out.startswith("id,source_lang,")
    refused(improved, "export r -o new.tsv --like like.csv", "new.tsv: is tsv, and --like like.csv is csv: leave out")
    refused(improved, "export r -o new.odt", "new.odt: is a document with layout")


def test_the_ratings_of_a_run_are_written_again_in_any_format_of_ratings(improved: Shell) -> None:
    assert improved("rate -s en.txt -t es.txt -l en-es --name ratings -q -o x.jsonl").code == 0
    assert improved("export ratings").out == (improved.folder / "x.jsonl").read_text("utf-8")
    done = improved("export ratings -o y.seg.score")
    assert (done.code, done.err) == (0, "mtagent: written: y.seg.score, y.sys.score, y.seg.rating\n")
    assert improved("export ratings -o y.tsv").code == 0
    assert improved("export ratings --format marot").out == (improved.folder / "y.tsv").read_text("utf-8")
    refused(improved, "export ratings -o y.sys.score", "y.seg.score: is there already")
    refused(improved, "export ratings --like en.txt", "run 'ratings' holds ratings: --details, --like and --only are")


@pytest.mark.slow
def test_the_time_of_an_mtme_folder_grows_with_its_ratings_and_not_with_their_square(tmp_path: Path) -> None:
    def seconds(number: int) -> float:
        systems = tuple(f"system{n}" for n in range(8))

        def segments() -> Iterator[SegmentTexts]:
            for item in (segment(n, "source", None) for n in range(number)):
                rated = (Rated(segment=item, system=name, translation="text", rating=by("e", -1.0)) for name in systems)
                yield SegmentTexts(item, dict.fromkeys(systems, "text"), tuple(rated))

        folder = tmp_path / f"{number}-{time.monotonic_ns()}"
        start = time.process_time()
        MTME.export(RunTexts("r", systems, segments), folder)
        return time.process_time() - start

    # Sixteen times the ratings; quadratic work would take up to 256 times as long.
    assert seconds(8_000) < 40 * max(seconds(500), 0.01)


# -- Pearmut


def span(text: str, start: int | None, end: int | None, **more: str) -> ErrorSpan:
    fields = {"category": "accuracy/mistranslation", "severity": "major", **more}
    return ErrorSpan.model_validate({"text": text, "start": start, "end": end, **fields})


def test_a_pearmut_campaign_has_the_fields_that_pearmut_reads(shell: Shell) -> None:
    errors = (
        span("Hund", 2, 6),
        span("😀", 0, 1, severity="minor"),
        span("da", 7, 9, severity="critical"),
        span("nowhere", None, None),
        span("quickly", None, None, side="omission", category="accuracy/omission"),
    )
    rated = step("postedit", "😀 Katze\nda", by("rubric-mqm", -5, errors=errors))
    store(
        shell,
        chain(1, "The cat quickly", "😀 Hund\nda", rated, document="a.md"),
        chain(2, "Yes", "Ja", step("postedit", "Ja"), reference="Ja"),
    )
    done = shell("export r --format pearmut -o c.json --systems given,postedit")
    assert done.code == 0, done.err
    assert "errors without a place in the translation, which Pearmut cannot show: 1" in done.err
    [campaign] = [json.loads((shell.folder / "c.json").read_text("utf-8"))]
    assert campaign["info"] == {"assignment": "task-based", "protocol": "ESA"}
    assert campaign["campaign_id"] == "r"
    [[[first], [second]]] = campaign["data"]
    category = "accuracy/mistranslation"
    assert first == {
        "item_id": "1",
        "src": "The cat quickly",
        "tgt": {"given": "😀 Hund\nda", "postedit": "😀 Katze\nda"},
        "error_spans": {
            "given": [
                {"start_i": 3, "end_i": 6, "severity": "major", "category": category},
                {"start_i": 0, "end_i": 1, "severity": "minor", "category": category},  # two UTF-16 units
                {"start_i": 7, "end_i": 8, "severity": "major", "category": category},  # line feeds don't count
                {"start_i": 9, "end_i": 9, "severity": "major", "category": "accuracy/omission"},  # [missing]
            ],
            "postedit": [],
        },
    }
    assert second == {
        "item_id": "2",
        "src": "Yes",
        "ref": "Ja",
        "tgt": {"given": "Ja", "postedit": "Ja"},
        "error_spans": {"given": [], "postedit": []},
    }
