"""Termbases in TBX: every dialect, statuses and notes, defects, and XML that is meant to harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtagent.errors import InputError
from mtagent.formats.glossary import is_tbx, read_tbx
from mtagent.records import Term

V2 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXBasiccoreStructV02.dtd">
<martif type="TBX-Basic" xml:lang="en"><martifHeader><fileDesc><sourceDesc><p>Ours</p></sourceDesc></fileDesc>
</martifHeader><text><body>
<termEntry id="c1">
  <descripGrp><descrip type="definition">money that a bank keeps for
     somebody</descrip></descripGrp>
  <langSet xml:lang="en"><tig><term>account</term></tig></langSet>
  <langSet xml:lang="de-DE">
    <tig><term><hi>Kon</hi>to</term><termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></tig>
    <ntig><termGrp><term>Account</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote>
      </termGrp></ntig>
  </langSet>
  <langSet xml:lang="fr"><tig><term>compte</term></tig></langSet>
</termEntry></body></text></martif>
"""
V3_DCA = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Basic" style="dca" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"><tbxHeader/><text><body>
<conceptEntry id="1">
  <note>not the side of a river</note>
  <langSec xml:lang="en">
    <termSec><term>bank</term><termNote type="partOfSpeech">noun</termNote></termSec>
    <termSec><term>banking house</term>
      <termNote type="administrativeStatus">supersededTerm-admn-sts</termNote></termSec>
  </langSec>
  <langSec xml:lang="pt-PT"><termSec><term>banco</term></termSec><termSec><term>casa bancária</term>
      <termNote type="administrativeStatus">supersededTerm-admn-sts</termNote></termSec></langSec>
</conceptEntry></body></text></tbx>
"""
V3_DCT = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Min" style="dct" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"
     xmlns:min="http://www.tbxinfo.net/ns/min" xmlns:basic="http://www.tbxinfo.net/ns/basic"><tbxHeader/><text><body>
<conceptEntry id="1"><basic:definition>a place in a program</basic:definition>
  <langSec xml:lang="en"><termSec><term>branch</term></termSec></langSec>
  <langSec xml:lang="de"><termSec><term>Zweig</term>
      <min:administrativeStatus>preferredTerm-admn-sts</min:administrativeStatus></termSec>
    <termSec><term>Branch</term><min:administrativeStatus>deprecatedTerm-admn-sts</min:administrativeStatus></termSec>
  </langSec></conceptEntry></body></text></tbx>
"""


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "terms.tbx"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_tbx_basic_of_version_2_is_read_with_status_and_definition(tmp_path: Path) -> None:
    path, note = written(tmp_path, V2), "money that a bank keeps for somebody"
    assert is_tbx(path)
    assert read_tbx(path, "en-GB", "de") == (
        Term(source="account", target="Konto", note=note),
        Term(source="account", target="Account", forbidden=True, note=note),
    )
    assert read_tbx(path, "fr", "en") == (Term(source="compte", target="account", note=note),)
    assert [term.target for term in read_tbx(path, "de", "fr")] == ["compte", "compte"]  # a forbidden source is one


def test_version_3_in_dca_is_read_and_another_region_stands_in(tmp_path: Path) -> None:
    note = "not the side of a river"
    assert read_tbx(written(tmp_path, V3_DCA), "en", "pt-BR") == tuple(
        Term(source=source, target=target, forbidden=target != "banco", note=note)
        for source in ("bank", "banking house")
        for target in ("banco", "casa bancária")
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_version_3_in_dct_is_read_in_the_encodings_of_xml(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, V3_DCT.replace("UTF-8", encoding.removesuffix("-sig")).encode(encoding))
    assert is_tbx(path)
    assert read_tbx(path, "en", "de") == (
        Term(source="branch", target="Zweig", note="a place in a program"),
        Term(source="branch", target="Branch", forbidden=True, note="a place in a program"),
    )


LAUGHS = '<!DOCTYPE tbx [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;">]>\n<tbx><text>&b;</text></tbx>'
OUTSIDE = '<!DOCTYPE tbx [\n<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<tbx><text>&x;</text></tbx>'
PARAMETER = '<!DOCTYPE tbx [<!ENTITY % x SYSTEM "http://127.0.0.1:9/evil.dtd"> %x;]>\n<tbx/>'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", r"terms\.tbx:1: is not well-formed XML: no element found"),
        ("<tbx>\n<text>", r"terms\.tbx:2: is not well-formed XML"),
        ("<xliff/>", r"terms\.tbx:1: is not TBX: the outermost element is xliff, not martif or tbx"),
        ("<tbx><text/></tbx>", r"terms\.tbx: has no termEntry or conceptEntry"),
        (V2.replace(' xml:lang="fr"', ""), r"terms\.tbx:14: a langSet without xml:lang"),
        (V2.replace("<term>compte</term>", ""), r"terms\.tbx:14: a tig without a term in it"),
        (V2.replace("compte", "  "), r"terms\.tbx:14: a tig without a term in it"),
        (V2.replace("compte", "&eacute;t&eacute;"), r"terms\.tbx:14: the entity &eacute; is not declared; write the"),
        (V2.replace('"fr"', '"ja"'), r"terms\.tbx: has no terms in fr; it has de-DE, en, ja"),
        (V2.encode().replace(b"compte", b"compt\xe9"), r"terms\.tbx:14: is not well-formed XML: not well-formed"),
        (V2.replace('"UTF-8"', '"no-such"'), r"terms\.tbx:1: .*unknown encoding"),
        (LAUGHS, r"terms\.tbx:1: declares the entity 'a', which is not read; write the text in its place"),
        (OUTSIDE, r"terms\.tbx:2: declares the entity 'x'"),
        (PARAMETER, r"terms\.tbx:1: declares the entity 'x'"),
        ("<tbx>" * 5000, r"terms\.tbx:1: more than 100 elements within each other"),
    ],
)
def test_a_defect_is_refused_with_file_and_line(tmp_path: Path, content: str | bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_tbx(written(tmp_path, content), "en", "fr")


def test_a_long_definition_is_cut_and_entries_without_the_pair_are_left_out(tmp_path: Path) -> None:
    long = V2.replace("somebody", "word " * 100).replace('"de-DE"', '"sr-Latn"')
    (term,) = read_tbx(written(tmp_path, long), "en", "fr")
    assert term.note is not None
    assert len(term.note) <= 202
    assert term.note.endswith("word …")
    with pytest.raises(InputError, match="has no terms in sr; it has en, fr, sr-Latn"):  # another script
        read_tbx(written(tmp_path, long), "en", "sr")


def test_no_table_is_taken_for_tbx(tmp_path: Path) -> None:
    assert not is_tbx(written(tmp_path, "\ufeffsource,target\n<b>,<b>\n"))
    assert not is_tbx(written(tmp_path, "source,target\n"))


def test_an_empty_termbase_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "empty.tbx").write_bytes(b"")
    with pytest.raises(InputError, match=r"empty\.tbx: is empty, and not TBX"):
        is_tbx(tmp_path / "empty.tbx")
