"""Research data of the field, read and written back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mtagent.formats import Result
from mtagent.formats.jsonl import JSONL_LENIENT
from mtagent.text.languages import name, parse_pair
from mtagent.text.scripts import script_of

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("MTAGENT_TEST_DATA", ROOT.parent / "shared" / "data"))

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="needs the research data that MTAGENT_TEST_DATA names"),
]


@pytest.mark.parametrize("file", ["mqm_spans.jsonl", "wmt25_docs.jsonl", "mlqe_pe.jsonl"])
def test_research_data_with_foreign_names_is_written_back_to_the_byte(file: str, tmp_path: Path) -> None:
    content = (DATA / file).read_text(encoding="utf-8")
    path = tmp_path / file
    path.write_text(content, encoding="utf-8", newline="")
    segments = list(JSONL_LENIENT.read(path))
    assert len(segments) > 50
    results = [Result(segment=segment, text=segment.translation or "") for segment in segments]
    JSONL_LENIENT.write(path, results, like=path)
    assert path.read_text(encoding="utf-8") == content


def test_the_language_pairs_of_wmt25_are_understood() -> None:
    lines = (DATA / "wmt25_paragraph_scores.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    pairs = {line.split("\t")[0] for line in lines}
    assert len(pairs) == 31
    for pair in pairs:
        source, target = parse_pair(pair)
        assert "Unknown" not in name(source) + name(target)
        assert script_of(target)
