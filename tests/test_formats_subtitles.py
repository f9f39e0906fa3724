"""Subtitles: cues keep numbers and times, and a sentence over several cues is one unit."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import webvtt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtagent.errors import InputError
from mtagent.formats.documents import DocumentFormat, LocalizationFile, fault, replaced
from mtagent.formats.subtitles import SRT, VTT, wrapped

ENGLISH = """1
00:00:01,000 --> 00:00:03,500
When we came home,

2
00:00:04,000 --> 00:00:06,500  X1:40 Y1:20
the <i>lights</i> were
already on.

3
00:00:08,000 --> 00:00:10,000
- Who is there?
- Me.

4
00:00:11,000 --> 00:00:12,000

"""
GERMAN = (
    ENGLISH.replace("When we came home,", "Als wir heim kamen,")
    .replace("the <i>lights</i> were\nalready on.", "brannten die <i>Lichter</i>\nschon.")
    .replace("- Who is there?\n- Me.", "- Wer ist da?\n- Ich.")
)


def opened(folder: Path, text: str, source: str | None = None, name: str = "a.de.srt") -> LocalizationFile:
    """The subtitles in a file of this content."""
    form = VTT if name.endswith("vtt") else SRT
    path = folder / name
    path.write_bytes(text.encode())
    if source is None:
        return form.open(path)
    (folder / "a.en.srt").write_bytes(source.encode())
    return form.open(path, folder / "a.en.srt")


def test_a_sentence_over_two_cues_is_one_unit_and_dialogue_is_not(tmp_path: Path) -> None:
    document = opened(tmp_path, GERMAN, ENGLISH)

    assert [(unit.id, unit.source, unit.target) for unit in document.units] == [
        (
            "1-2",
            "When we came home, <1/> the <i>lights</i> were\nalready on.",
            "Als wir heim kamen, <1/> brannten die <i>Lichter</i>\nschon.",
        ),
        ("3", "- Who is there?\n- Me.", "- Wer ist da?\n- Ich."),
        ("4", "", None),
    ]
    assert (document.units[0].source_lang, document.units[0].target_lang) == ("en", "de")


def test_only_the_texts_of_changed_cues_differ(tmp_path: Path) -> None:
    for newline in ("\n", "\r\n"):
        text = "\ufeff" + GERMAN.replace("\n", newline)
        document = opened(tmp_path, text, ENGLISH)
        target = "Als wir heim kamen, <1/> waren die <i>Lichter</i> schon an."

        assert replaced(document, {}) == document.data
        assert replaced(document, {"1-2": target}).decode() == text.replace(
            f"brannten die <i>Lichter</i>{newline}schon.", "waren die <i>Lichter</i> schon an."
        )


def test_a_file_without_a_source_file_is_translated_itself(tmp_path: Path) -> None:
    document = opened(tmp_path, ENGLISH, name="a.en.srt")

    assert [unit.target for unit in document.units] == [None, None, None]
    translated = replaced(document, {"3": "- Wer da?\n- Ich."})
    assert translated.decode() == ENGLISH.replace("- Who is there?\n- Me.", "- Wer da?\n- Ich.")


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("Als wir heim kamen, brannte Licht.", "loses <1/>"),
        ("Als wir kamen, <1/>", "leaves subtitle 2 empty"),
        ("Als wir heim kamen, <1/> " + "brannte Licht " * 9, "has 147 characters, and at most 102 are allowed"),
        ("Als wir kamen, <1/> " + "brannte Licht " * 4, "has 55 characters in subtitle 2, and at most 50 fit"),
        ("Als wir kamen, <1/> brannte\n\nLicht.", "has a blank line"),
        ("Als wir kamen, <1/> brannte\n \nLicht.", "has a blank line"),
        ("Als wir kamen, <1/> brannte \ud800.", "has the character U+D800"),
        ("Als wir --> kamen, <1/> brannte Licht.", "has -->"),
        ("Als wir heim kamen, <1/> brannten <i>Lichter</i>.", None),
    ],
)
def test_what_a_cue_cannot_hold_is_refused(tmp_path: Path, target: str, problem: str | None) -> None:
    document = opened(tmp_path, GERMAN, ENGLISH)

    found = fault(document, document.units[0], target)

    assert (found is None) if problem is None else (found is not None and problem in found)


def test_cuts_stay_in_their_order(tmp_path: Path) -> None:
    times = "00:00:0{0}.000 --> 00:00:0{1}.000\n"
    texts = ("one,", "two,", "three.")
    content = "WEBVTT\n\nNOTE x\n\n" + "".join(
        times.format(place, place + 1) + f"{text}\n\n" for place, text in enumerate(texts)
    )
    document = opened(tmp_path, content, name="a.vtt")

    assert document.units[0].source == "one, <1/> two, <2/> three."
    problem = fault(document, document.units[0], "eins, <2/> zwei, <1/> drei.")
    assert problem is not None
    assert "in another order" in problem


def test_a_cue_may_end_the_header(tmp_path: Path) -> None:
    content = "WEBVTT\n00:00:01.000 --> 00:00:02.000\nOne.\n\n00:00:03.000 --> 00:00:04.000\nTwo.\n"

    assert [(unit.source, unit.line) for unit in opened(tmp_path, content, name="a.vtt").units] == [
        ("One.", 2),
        ("Two.", 5),
    ]


def test_a_cue_whose_text_stays_keeps_its_line_ends(tmp_path: Path) -> None:
    german = GERMAN.replace("\n", "\r\n").replace("Lichter</i>\r\n", "Lichter</i>\n")
    document = opened(tmp_path, german, ENGLISH)
    target = "Als wir kamen, <1/> brannten die <i>Lichter</i>\nschon."

    new = replaced(document, {"1-2": target}).decode()

    assert new == german.replace("Als wir heim kamen", "Als wir kamen")


def test_captions_without_punctuation_are_cut_into_units(tmp_path: Path) -> None:
    cues = [f"{number}\n00:00:{number:02},000 --> 00:00:{number:02},900\nand so on\n\n" for number in range(1, 21)]

    units = opened(tmp_path, "".join(cues)).units

    assert [unit.id for unit in units] == ["1-8", "9-16", "17-20"]


def test_lines_are_wrapped_evenly() -> None:
    assert wrapped("A line that is far too long for one line of a screen.", 42, 2) == (
        "A line that is far too long\nfor one line of a screen."
    )
    assert wrapped("Short.", 42, 2) == "Short."
    assert wrapped("- A line that someone says to somebody else now\n- And an answer.", 42, 2).count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "units"),
    [
        ("a.srt", "\n1\n\n0:0:1,5-->0:0:2.250 X1:1\nA.\n2\n0:03 --> 0:03\n{\\an8}B.\n", {"1": "A.", "2": "{\\an8}B."}),
        ("a.srt", "00:00:01,000 --> 00:00:02,000\nA.\n\n00:00:01,500 --> 00:00:02,500\nB.\n", {"1": "A.", "2": "B."}),
        ("a.srt", "7\n00:00:01,0 --> 00:00:02,0\nA.\n\n7\n00:00:03,0 --> 00:00:04,0\nB.\n", {"1": "A.", "2": "B."}),
        ("a.srt", "5\n00:00:01,0 --> 00:00:02,0\n42.\n43\n\n6\n0:03,0 --> 0:04,0\nB.\n", {"5": "42.\n43", "6": "B."}),
        ("a.vtt", "WEBVTT\n\nlost\n\na b\n00:01.000 --> 00:02.000 line:0\n<v Ann>A.</v>\n", {"a b": "<v Ann>A.</v>"}),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n00:03.000 --> 00:04.000\nB.\n", {"1": "", "2": "B."}),
        ("a.vtt", "WEBVTT\n\n2\n00:01.000 --> 00:02.000\nA.\n\n00:03.000 --> 00:04.000\nB.\n", {"1": "A.", "2": "B."}),
    ],
)  # fmt: skip
def test_what_players_show_is_read(tmp_path: Path, name: str, content: str, units: dict[str, str]) -> None:
    document = opened(tmp_path, content, name=name)

    assert {unit.id: unit.source for unit in document.units} == units
    for unit in document.units:
        if unit.source:
            new = replaced(document, {unit.id: "N."}).decode()
            assert new == content.replace(unit.source, "N.")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.srt", "1\n00:00:02,000 --> 00:00:01,000\na\n", "a.srt:2: the cue ends before it begins"),
        ("a.srt", "1\n-00:00:02,000 --> 00:00:03,000\na\n", "a.srt:2: expected the times of a cue"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\na\n\nb\n", "a.srt:5: expected the times .* no blank line"),
        ("a.srt", "x\n00:00:01,000 --> 00:00:02,000\na\n", "a.srt:1: expected the number of a cue, not 'x'"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02:000\na\n", "a.srt:2: expected the times of a cue"),
        ("a.vtt", "WEBVTT\n\n00:00:01.000 --> 00:00:1d.000\na\n", "a.vtt:3: expected the times of a cue"),
        ("a.vtt", "00:00:01.000 --> 00:00:02.000\na\n", "a.vtt:1: the first line must be WEBVTT"),
        ("a.vtt", "WEBVTT\n", "a.vtt: has no cues"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(tmp_path, content, name=name)


def test_other_times_than_in_the_source_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.de\.srt:5: cue 2 has other times than .*a\.en\.srt:5"):
        opened(tmp_path, GERMAN.replace("00:00:04,000", "00:00:04,001"), ENGLISH)
    with pytest.raises(InputError, match=r"has 3 cues, and .* has 4"):
        opened(tmp_path, GERMAN.partition("4\n00:00:11")[0], ENGLISH)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("ab ,é字.\n", min_size=1, max_size=30), min_size=2, max_size=2))
def test_any_text_that_fits_comes_back_with_the_same_times(tmp_path: Path, parts: list[str]) -> None:
    document = opened(tmp_path, GERMAN, ENGLISH)
    target = " <1/> ".join(part.strip() for part in parts)
    if fault(document, document.units[0], target):
        return
    again = opened(tmp_path, replaced(document, {"1-2": target}).decode(), ENGLISH)
    new = again.units[0].target
    assert new is not None
    assert new.split() == target.split()


def document_or_refusal(path: Path, form: DocumentFormat) -> LocalizationFile | str:
    """The file, or the message of its refusal."""
    try:
        return form.open(path)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("ending", ["srt", "vtt"])
def test_real_files_are_read_or_refused_and_others_can_read_the_result(data: Path, tmp_path: Path, ending: str) -> None:
    read = 0
    for path in sorted((data / "formats" / ending).iterdir()):
        document = document_or_refusal(path, VTT if ending == "vtt" else SRT)
        if isinstance(document, str):
            assert document.startswith(f"{path}:")
            continue
        read += 1
        assert replaced(document, {}) == document.data
        for unit in document.units:
            if not unit.source.strip():
                continue
            marker = " ".join(["XX", *(f"{cut} YY" for cut in unit.inline)])
            new_data = replaced(document, {unit.id: marker})
            captions = webvtt.from_buffer(io.StringIO(new_data.decode("utf-8-sig")), format=ending)
            original = webvtt.from_buffer(io.StringIO(document.data.decode("utf-8-sig")), format=ending)
            changed = []
            for new, old in zip(captions, original, strict=True):
                assert (new.start, new.end) == (old.start, old.end)
                if new.text != old.text:
                    changed.append(new.text)
            assert changed == ["XX", *["YY"] * len(unit.inline)]
    assert read >= 4
