"""Parquet files: all columns and their types survive, and each defect is named."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import InputError, OutputError
from mtagent.formats import PARQUET, Result, SegmentDefaults
from mtagent.records import Segment
from tests.commands import SOURCES, TRANSLATIONS, Shell

pyarrow = pytest.importorskip("pyarrow", reason="the extra ray is not installed")
from pyarrow import parquet  # noqa: E402

pytestmark = pytest.mark.extra
LANGUAGES = SegmentDefaults(source_lang="en", target_lang="es")


def written(path: Path, **columns: Any) -> Path:
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def test_only_the_texts_change(shell: Shell) -> None:
    times = pyarrow.array([datetime(2026, 1, day) for day in (1, 2, 3)], "timestamp[ns]")
    given = {"key": ["a", "b", "c"], "src": SOURCES, "mt": TRANSLATIONS, "made": times, "tags": [["x"], [], None]}
    written(shell.folder / "given.parquet", **given)
    done = shell("postedit -s given.parquet -l en-es -o better.parquet")
    assert done.code == 0, done.err
    before, after = (parquet.read_table(shell.folder / name) for name in ("given.parquet", "better.parquet"))
    assert after.schema == before.schema
    assert after.drop(["mt"]) == before.drop(["mt"])
    assert after["mt"].to_pylist() == ["El gato se sentó aquí.", *TRANSLATIONS[1:]]


def test_segments_are_written_without_a_file_to_follow(tmp_path: Path) -> None:
    segment = Segment(id="7", source="Hello", source_lang="en", target_lang="es", document="d", max_length=9)
    assert PARQUET.write(tmp_path / "out.parquet", [Result(segment=segment, text="Hola")]) == 1
    assert list(PARQUET.read(tmp_path / "out.parquet")) == [segment.model_copy(update={"translation": "Hola"})]
    assert PARQUET.write(tmp_path / "empty.parquet", []) == 0


def test_a_missing_translation_column_is_added(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", source=SOURCES)
    segments = list(PARQUET.read(path, LANGUAGES))
    results = [Result(segment=segment, text="x" if segment.id == "1" else "") for segment in segments]
    PARQUET.write(path, results, like=path)
    assert parquet.read_table(path).to_pydict() == {"source": SOURCES, "translation": ["x", None, None]}
    with pytest.raises(OutputError, match=r"the results end after 2, before .*a.parquet:3"):
        PARQUET.write(path, results[:2], like=path)
    with pytest.raises(OutputError, match="result 4 is one more than"):
        PARQUET.write(path, [*results, results[0]], like=path)
    assert parquet.read_table(path)["translation"].to_pylist() == ["x", None, None]


def test_defects_are_named(shell: Shell) -> None:
    path = shell.folder / "a.parquet"
    for columns, message in [
        ({"text": ["a"]}, "a.parquet: no column holds the source; the first line must name the columns, and has text"),
        ({"source": ["a", None]}, "a.parquet:2: field 'source': field required"),
        ({"id": ["1", "1"], "source": ["a", "b"]}, "a.parquet:2: the id '1' was already used in line 1"),
    ]:
        written(path, **columns)
        with pytest.raises(InputError, match=message):
            list(PARQUET.read(path, LANGUAGES))
    for missing, message in (("none.parquet", "no such file"), (".", "director")):
        with pytest.raises(InputError, match=message):
            list(PARQUET.read(shell.folder / missing, LANGUAGES))
    full = Path("/dev/full")
    if full.exists():
        with pytest.raises(OutputError, match="/dev/full: cannot be written"):
            PARQUET.write(
                full, [Result(segment=next(PARQUET.read(written(path, source=SOURCES), LANGUAGES)), text="x")]
            )
    path.write_text("no table")
    with pytest.raises(InputError, match=r"a.parquet: isn't a Parquet file"):
        list(PARQUET.read(path, LANGUAGES))
    written(path, source=SOURCES, translation=TRANSLATIONS)
    assert (
        "a parquet file cannot be written to standard output: give -o a file"
        in shell("postedit -s a.parquet -l en-es").err
    )
