"""Files with error spans, well and badly made: what they say is read, what they cannot say is refused with its line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from mtagent.errors import InputError
from mtagent.evaluators.spans_file import SpansFile
from mtagent.formats import SPAN_FORMATS, SpanFormatName
from mtagent.records import Rating, Segment
from tests.span_writers import write

SOURCE, TEXT = "The bank pays.", "Die Bank zahlt nicht, die Bank."
Short = tuple[str, int | None, int | None, str, str, str]


def rate(path: Path) -> Rating:
    segment = Segment(id="1", source=SOURCE, source_lang="en", target_lang="de")
    return asyncio.run(SpansFile(path=path).rate(segment, TEXT))


def span(
    text: str,
    start: int | None = None,
    end: int | None = None,
    category: str = "other",
    severity: str = "minor",
    side: str = "translation",
) -> Short:
    return (text, start, end, category, severity, side)


def comet(**error: Any) -> str:
    values = {"src": SOURCE, "mt": TEXT, "COMET": 0.9, "errors": [{"severity": "minor", **error}]}
    return json.dumps({"de.txt": [values]})


def own(**error: Any) -> str:
    errors = [{"severity": "minor", "category": "other", **error}]
    return json.dumps({"id": "1", "source": SOURCE, "translation": TEXT, "errors": errors})


def esa(**error: Any) -> str:
    return json.dumps({"line_id": 1, "src": SOURCE, "tgt": TEXT, "esa_spans": [{"severity": "minor", **error}]})


def bio(**error: Any) -> str:
    errors = [{"severity": "Minor", "error_category": "Style", **error}]
    return json.dumps([{"SEG_ID": "1", "source": SOURCE, "target": TEXT, "target_errors": errors}])


def mtme(**error: Any) -> str:
    return f"sys\t{json.dumps({'errors': [error]})}\trater\n"


def row(target: str, category: str, severity: str, source: str = SOURCE, rater: str = "r", note: str = "") -> str:
    return "\t".join(["s", "d", "1", "1", rater, source, target, category, severity, note]) + "\n"


def wmt(starts: str, ends: str, types: str) -> str:
    head = "segment_id\tsource_segment\thypothesis_segment\tstart_indices\tend_indices\terror_types\n"
    return f"{head}1\t{SOURCE}\t{TEXT}\t{starts}\t{ends}\t{types}\n"


HEAD = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
MARKED = "Die <v>Bank</v> zahlt nicht, die Bank."
ROUNDABOUT = {
    "segment": {"id": "1", "source": SOURCE},
    "system": "s",
    "translation": TEXT,
    "rating": {"evaluator": "e", "errors": []},
    "error": None,
}


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        (comet(text="zahlt", start=9, end=14), [span("zahlt", 9, 14)]),
        (comet(text="Bank", start=26, end=30), [span("Bank", 26, 30)]),
        (own(text="zahlt"), [span("zahlt", 9, 14)]),
        (own(text="bank", side="source"), [span("bank", side="source")]),
        (own(text="pays", side="omission", before="Bank "), [span("pays", side="omission")]),
        (own(text="", start=4, end=4, side="omission"), [span("", 4, 4, side="omission")]),
        (json.dumps(ROUNDABOUT), []),
        (HEAD + row(MARKED, "Style/Awkward", "Minor"), [span("Bank", 4, 8, "Style/Awkward")]),
        (row(MARKED, "Style/Awkward", "minor"), [span("Bank", 4, 8, "Style/Awkward")]),  # no header
        (row(MARKED, "Style", "Critical").replace("\t\n", "\n"), [span("Bank", 4, 8, "Style", "critical")]),
        (HEAD + row(TEXT, "Accuracy/Omission", "major", source="The bank <v>pays</v>."),
         [span("pays", None, None, "Accuracy/Omission", "major", "omission")]),
        (HEAD + row(TEXT, "Source issue", "major", source="The <v>bank</v> pays."),
         [span("bank", None, None, "Source issue", "major", "source")]),
        (HEAD + row("Die<v></v> Bank zahlt nicht, die Bank.", "Accuracy/Omission", "Major"),
         [span("", 3, 3, "Accuracy/Omission", "major", "omission")]),
        (HEAD + row(TEXT, "Accuracy/Omission", "minor"), [span("", None, None, "Accuracy/Omission", side="omission")]),
        (HEAD + row(TEXT, "Non-translation!", "Major"), [span(TEXT, 0, 31, "Non-translation!", "major")]),
        (HEAD + row(TEXT, "Style", "Minor", note='{"marked_text": "zahlt"}'), [span("zahlt", 9, 14, "Style")]),
        (HEAD + row(TEXT, "no-error", "no-error"), []),
        (HEAD + row(TEXT, "No-error", "No-error") + row(MARKED, "Found", "HOTW-test") + row(TEXT, "", "", rater=""),
         []),
        (wmt("missing 4", "missing 8", "major minor"),
         [span("", None, None, "accuracy/omission", "major", "omission"), span("Bank", 4, 8)]),
        (wmt("missing", "missing", "missing"), [span("", None, None, "accuracy/omission", side="omission")]),
        (wmt("-1", "-1", "no-error"), []),
        (esa(start_i=4, end_i=7), [span("Bank", 4, 8)]),
        (esa(start_i=4, end_i=4, error_type="Style"), [span("B", 4, 5, "Style")]),
        (esa(start_i="missing", end_i="missing"), [span("", None, None, "accuracy/omission", side="omission")]),
        ("\ufeff" + bio(startIndex=4, endIndex=7), [span("Bank", 4, 8, "Style")]),
        (bio(startIndex=4, endIndex=7, error_subcategory="Register"), [span("Bank", 4, 8, "Style/Register")]),
    ],
)  # fmt: skip
def test_what_a_file_says(tmp_path: Path, content: str, errors: list[Short]) -> None:
    rating = rate(write(tmp_path / "file", content))
    assert [span(e.text, e.start, e.end, e.category, e.severity, e.side) for e in rating.errors or ()] == errors
    assert rating.warnings == ()


@pytest.mark.parametrize(
    ("content", "error", "warning"),
    [
        (comet(text="zahlt", start=8, end=14),
         span("zahlt", 9, 14), "the span 'zahlt' is not at 8–14, but at 9–14; it is taken from there"),
        (comet(text="Bank", start=5, end=9),
         span("Bank"), "the span 'Bank' is not at 5–9, and the span stands in 2 places; it has no place"),
        (comet(text="Kasse", start=5, end=10), span("Kasse"), "the span is not in the text; it has no place"),
        (own(text="Bank"), span("Bank"), "the span 'Bank': the span stands in 2 places; it has no place"),
        (own(text="bench", side="source"), span("bench", side="source"), "in the source: the span 'bench': "),
        (wmt("26", "99", "minor"),
         span("Bank.", 26, 31), "the span 26–99 ends behind the text of 31 characters; it is cut there"),
        (wmt("31", "32", "minor"), span(""), "the span 31–32 lies behind the text of 31 characters; it has no place"),
        (esa(start_i=4, end_i=7, severity="undecided"),
         span("Bank", 4, 8, severity="neutral"), "1 spans are undecided"),
        (HEAD + row(TEXT, "Style", "Minor"), span("", category="Style"), "the error 'Style' marks no span"),
        (HEAD + row("<v>Die</v> Bank zahlt nicht, <v>die</v> Bank.", "Style", "Minor"),
         span("Die", 0, 3, "Style"), "the error marks 2 spans; only the first one is taken"),
        (HEAD + row(MARKED, "Style", "Minor") + row(TEXT, "No-error", "No-error"),
         span("Bank", 4, 8, "Style"), "the rater marks errors and 'no error'; the errors count"),
    ],
)  # fmt: skip
def test_what_is_odd_is_a_warning_that_names_its_line(tmp_path: Path, content: str, error: Short, warning: str) -> None:
    path = write(tmp_path / "file", content)
    rating = rate(path)
    assert [span(e.text, e.start, e.end, e.category, e.severity, e.side) for e in rating.errors or ()] == [error]
    assert len(rating.warnings) == 1
    assert warning in rating.warnings[0]
    assert rating.warnings[0].startswith(f"{path}:")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "file: is empty"),
        ("hello\n", r"file:1: the content tells no known format; name one: format=marot\|mtme"),
        ("{}", "file:1: the content tells no known format"),
        ('{"id": "1", "source": "a"}\n', "file:1: the content tells no known format"),
        ('[{"a": 1}]', "file:1: the content tells no known format"),
        ('{"de.txt": [{"src": "a", "mt"', "file:1:30: not JSON"),
        (HEAD, "file: has no annotations"),
        (HEAD + "s\td\n", "file:2: 2 columns instead of 10"),
        (HEAD + row("Die <v>Bank.", "Style", "Minor"), "file:2: a <v> has no </v>, or the other way round; correct"),
        (
            HEAD + row(MARKED, "Style", "bad"),
            "file:2: the severity 'bad' must be one of neutral, minor, major, critical",
        ),
        (HEAD + row(MARKED, "Style", ""), "file:2: the severity '' must be one of"),
        (mtme(start=1, end=2, severity="minor") + "b\n", r"file:2: 1 columns; a line is SYSTEM"),
        ('a\t{"errors": [}\tr\n', "file:1: not JSON"),
        ('a\t{"errors": 3}\tr\n', 'file:1: "errors" must be a list of objects'),
        (mtme(start=1, severity="minor"), "file:1: the offset None must be a whole number from 0"),
        (mtme(start=-1, end=2, severity="minor"), "file:1: the offset -1 must be a whole number from 0"),
        (mtme(start=1.5, end=2, severity="minor"), r"file:1: the offset 1\.5 must be a whole number from 0"),
        (mtme(start=True, end=2, severity="minor"), "file:1: the offset True must be a whole number"),
        (mtme(start=5, end=2, severity="minor"), "file:1: the span from 5 to 2 ends before it begins"),
        (mtme(start=1, end=2), "file:1: the severity None must be one of"),
        (mtme(start=1, end=2, severity="minor", category=7), "file:1: expected a text as category .*got 7"),
        (mtme(start=1, end=2, severity="minor", score="x"), "a number as score, got None and 'x'; correct it"),
        (wmt("1 2", "3", "minor"), "file:2: 2 starts, 1 ends and 1 types; every span needs one of each"),
        (wmt("1 -1", "3 -1", "minor no-error"), "file:2: no-error and errors at the same time"),
        (wmt("x", "3", "minor"), "file:2: the offset 'x' must be a whole number"),
        (wmt("-1", "3", "minor"), "file:2: the offset '-1' must be a whole number"),
        (comet(start=1, end=2), "file: de.txt, segment 1: 'text' must be a text; it is None"),
        ('{"de.txt": [{"src": "a", "mt": "b", "COMET": 0.5}]}',
         'no segment has "errors"; only XCOMET models mark spans'),
        ('{"line_id": 1, "src": "a", "tgt": "b", "esa_spans": null}', "file:1: the spans must be a list of objects"),
        ('{"line_id": 1, "src": "a", "esa_spans": []}', "file:1: 'tgt' must be a text"),
        (esa(start_i="missing", end_i=3), "file:1: a span from 'missing' to 3; both must be 'missing', or none"),
        (esa(start_i="4", end_i="x"), "file:1: the offset 'x' must be a whole number"),
        ("r,s,1,TGT,eng,deu,80,d,False,[,1,2\n", "file:1: not JSON"),
        ("r,s,1,TGT,eng,deu,80,d,False,[],1,2\nr,s\n", "file:2: 2 columns instead of 12"),
        (own(text="a") + '\n{"id": "2", "translation": "b"}\n', r"file:2: no 'errors'; write \[\] for a translation"),
        (own(text="a") + "\n[]\n", "file:2: a line must hold an object"),
        (own(text="a", span=1),
         "file:1: error 1 of 1: unknown field 'span'; an error needs text, category, severity, and"),
        (own(text="a", start=1), "file:1: error 1 of 1: start and end go together"),
        (own(), "file:1: error 1 of 1: no 'text'; an error needs text, category, severity, and may"),
        (bio(startIndex=4), "file: segment 1: the offset None must be a whole number from -1"),
        (bio(startIndex=4, endIndex=7, severity=3), "file: segment 1: the severity 3 must be one of"),
    ],
)  # fmt: skip
def test_what_a_file_cannot_say(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        rate(write(tmp_path / "file", content))


@pytest.mark.parametrize(
    ("note", "explanation", "suggestion"),
    [
        ("", None, None),
        ("sounds odd", "sounds odd", None),
        ("5", "5", None),
        ('{"note": " odd ", "timestamp": 5}', "odd", None),
        ('{"note": "", "suggestion": "Sparkasse", "marked_text": "Bank"}', None, "Sparkasse"),
    ],
)  # fmt: skip
def test_a_remark_in_marot_is_kept(tmp_path: Path, note: str, explanation: str | None, suggestion: str | None) -> None:
    (error,) = rate(write(tmp_path / "file", HEAD + row(MARKED, "Style", "Minor", note=note))).errors or ()
    assert (error.text, error.explanation, error.suggestion) == ("Bank", explanation, suggestion)


def test_the_option_of_the_evaluator_names_every_format() -> None:
    assert get_args(SpanFormatName) == tuple(SPAN_FORMATS)


@pytest.mark.parametrize("kind", get_args(SpanFormatName))
@pytest.mark.parametrize("content", ["", "\n", "[1]", "{}", "a\tb", '"', "\ufeff[]", "null", "[[]]", '{"a": [1]}'])
def test_no_content_breaks_a_reader(tmp_path: Path, kind: SpanFormatName, content: str) -> None:
    with pytest.raises(InputError, match="file"):
        SpansFile(path=write(tmp_path / "file", content), format=kind)


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(HEAD.encode() + row("Gr\xfc\xdfe", "no-error", "no-error").encode("latin-1"))
    with pytest.raises(InputError, match=r"file:2:.* is not UTF-8; convert the file first"):
        rate(path)
