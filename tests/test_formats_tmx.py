"""Translation memories: what TMX files hold, and what the chain does with exact and with similar entries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtagent.errors import InputError
from mtagent.formats.tmx import TmxFile, TranslationMemory
from mtagent.records import MemoryMatch, Segment
from tests.commands import Shell

REAL_FILES = Path(__file__).parents[2] / "shared" / "data" / "formats" / "tmx"
HEAD = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header/><body>
"""
MEMORY = """<tu><tuv xml:lang="en-US"><seg>Hello <ph x="1">&lt;br/></ph> world.</seg></tuv>
<tuv xml:lang="es-ES"><seg>Hola <ph x="1">&lt;br/></ph> mundo.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Press <bpt i="1" x="1">&lt;b></bpt>this key<ept i="1">&lt;/b></ept> now.</seg></tuv>
<tuv xml:lang="es"><seg>Pulsa ya <bpt i="7" x="1">&lt;b></bpt>esta tecla<ept i="7">&lt;/b></ept>.</seg></tuv></tu>
"""
XLIFF = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en" target-language="es" datatype="plaintext"><body>
<trans-unit id="done" approved="yes"><source>Delete 3 files now.</source><target>Borre ya 3 archivos</target>
</trans-unit>
<trans-unit id="kept" translate="no"><source>Save 3 files now.</source><target>Save 3 files now.</target></trans-unit>
<trans-unit id="again"><source>Delete 3 files now.</source></trans-unit>
<trans-unit id="agrees"><source>Delete 3 files now.</source><target>Borre ya 3 archivos</target></trans-unit>
<trans-unit id="similar"><source>Delete 4 files now.</source></trans-unit>
<trans-unit id="new"><source>Hello <x id="1"/> world.</source></trans-unit>
<trans-unit id="other"><source>Something else entirely</source><target>Otra cosa del todo</target></trans-unit>
</body></file></xliff>
"""


def tmx(path: Path, body: str, encoding: str = "utf-8") -> Path:
    path.write_text(f"{HEAD.format(encoding=encoding)}{body}</body></tmx>", encoding=encoding)
    return path


def segment(source: str, pair: str = "en>es") -> Segment:
    source_lang, target_lang = pair.split(">")
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang)


def matches(path: Path, source: str, pair: str = "en>es") -> tuple[MemoryMatch, ...]:
    return TranslationMemory([path]).matches(segment(source, pair))


# -- reading


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_tags_have_the_numbers_that_they_have_in_localization_files(tmp_path: Path, encoding: str) -> None:
    entries = list(TmxFile(tmx(tmp_path / "m.tmx", MEMORY, encoding)).entries("en", "es"))
    assert [entry[:2] for entry in entries] == [
        ("Hello <1/> world.", "Hola <1/> mundo."),
        ("Press <1>this key</1> now.", "Pulsa ya <1>esta tecla</1>."),
    ]
    assert entries[1].origin == f"{tmp_path / 'm.tmx'}:6"


def test_highlights_are_text_and_codes_with_texts_in_them_are_not(tmp_path: Path) -> None:
    body = """<tu><tuv lang="EN-GB"><seg>A <hi>b</hi> <it pos="begin">&lt;i></it>c<ut>{</ut>
<ph>&lt;img alt="<sub>never</sub>"></ph></seg></tuv><tuv lang="fr"><prop type="x">p</prop><seg>A b c</seg></tuv></tu>"""
    [entry] = TmxFile(tmx(tmp_path / "m.tmx", body)).entries("en", "fr")
    assert entry.source == "A b <1/>c<2/>\n<3/>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<tbx/>", "m.tmx:1: the first element is <tbx>, not <tmx>"),
        ("<tmx><body>\n<tu><tuv><seg>x</seg></tuv></tu></body></tmx>", "m.tmx:2: this <tuv> has no xml:lang"),
        ("<tmx><body>\n<tu>", "m.tmx:2:5: not well-formed XML"),
        ('<!DOCTYPE tmx [\n<!ENTITY a "b">]><tmx/>', "m.tmx:2: declares the entity 'a'"),
        ('<!DOCTYPE tmx [\n<!ENTITY a SYSTEM "/etc/passwd">]><tmx/>', "m.tmx:2: declares the entity 'a'"),
        ('<!DOCTYPE tmx SYSTEM "t.dtd"><tmx>\n&a;</tmx>', "m.tmx:2: the entity &a; is not declared"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "m.tmx").write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        TmxFile(tmp_path / "m.tmx")
    assert message in str(caught.value)


@pytest.mark.skipif(not REAL_FILES.exists(), reason="needs the files from public repositories")
def test_real_memories_are_read() -> None:
    entries = 0
    for path in sorted(REAL_FILES.glob("*.tmx")):
        file = TmxFile(path)
        assert file.languages
        entries += len(list(file.entries(file.languages[0], file.languages[-1])))
    assert entries > 100


# -- matching


def test_the_best_three_are_found_and_only_the_same_text_is_exact(tmp_path: Path) -> None:
    texts = ["Open the file", "Open the files", "Open the big file", "Open a file", "Close everything"]
    body = "".join(
        f'<tu><tuv xml:lang="en"><seg>{text}</seg></tuv><tuv xml:lang="es"><seg>T {text}</seg></tuv></tu>'
        for text in texts
    )
    found = matches(tmx(tmp_path / "m.tmx", body), "Open the file")
    assert [(match.source, match.similarity, match.exact) for match in found] == [
        ("Open the file", 100, True),
        ("Open the files", 96, False),
        ("Open the big file", 86, False),
    ]
    assert matches(tmp_path / "m.tmx", "Nothing like it") == ()


@pytest.mark.parametrize(
    ("in_file", "wanted", "exact"),
    [("pt-BR", "pt", [True]), ("pt", "pt-PT", [True]), ("pt-BR", "pt-PT", [False]), ("fr", "pt", [])],
)
def test_a_text_for_another_region_is_not_taken(
    tmp_path: Path, in_file: str, wanted: str, exact: list[bool], caplog: pytest.LogCaptureFixture
) -> None:
    body = f'<tu><tuv xml:lang="en"><seg>Bus</seg></tuv><tuv xml:lang="{in_file}"><seg>X</seg></tuv></tu>'
    found = matches(tmx(tmp_path / "m.tmx", body), "Bus", f"en>{wanted}")
    assert [match.exact for match in found] == exact
    assert ("m.tmx: has nothing for en-pt; its languages: en, fr" in caplog.text) == (not exact)


# -- in the chain


@pytest.fixture
def project(shell: Shell) -> Shell:
    (shell.folder / "app.xlf").write_text(XLIFF, encoding="utf-8")
    tmx(shell.folder / "m.tmx", MEMORY)
    return shell


@pytest.mark.loopback
def test_exact_matches_are_taken_without_a_call_and_left_alone(project: Shell, server: str) -> None:
    model = ["--base-url", server, "--model", "m", "--gate", "guards"]
    done = project("postedit app.xlf --memory m.tmx -o out.xlf --details d.jsonl", *model)
    assert done.code == 0, done.err
    assert "as approved in the translation memory: 3" in done.err
    details = {chain["id"]: chain for chain in project.objects("d.jsonl")}
    for name, text, stage in (
        ("again", "Borre ya 3 archivos", "translate"),
        ("agrees", "Borre ya 3 archivos", "rules"),
        ("new", "Hola <1/> mundo.", "translate"),
    ):
        steps = details[name]["stages"]
        assert details[name]["text"] == text
        assert [step["cause"]["kind"] for step in steps] == ["memory"] * len(steps)
        assert steps[0]["stage"] == stage
        assert all(step["calls"] == [] for step in steps)
    assert details["again"]["stages"][0]["reason"] == "as approved in the translation memory: app.xlf:3"
    assert details["other"]["stages"][0]["calls"]
    assert 'Hola <x id="1"/> mundo.' in (project.folder / "out.xlf").read_text(encoding="utf-8")
    without = project("postedit app.xlf --no-own-memory -o plain.xlf --details p.jsonl", *model)
    assert "translation memory" not in without.err


def test_exact_matches_fill_empty_targets_without_a_model(project: Shell) -> None:
    command = "postedit app.xlf --memory m.tmx --in-place --lock"
    done = project(f"{command} --details d.jsonl")
    assert done.code == 0, done.err
    details = {chain["id"]: chain for chain in project.objects("d.jsonl")}
    for name, text in (("again", "Borre ya 3 archivos"), ("new", "Hola <1/> mundo.")):
        assert details[name]["text"] == text
        assert {step["cause"]["kind"] for step in details[name]["stages"]} == {"memory"}
    written = (project.folder / "app.xlf").read_text(encoding="utf-8")
    assert 'Hola <x id="1"/> mundo.' in written
    assert "1 not in the run: no target, and no model or MT system to translate with" in done.err
    assert "nothing to process; no model was called" in project(command).err
    assert (project.folder / "app.xlf").read_text(encoding="utf-8") == written


def test_a_file_without_any_target_is_filled_from_the_memory(project: Shell) -> None:
    untranslated = re.sub(r"<target.*?</target>", "", XLIFF)
    (project.folder / "app.xlf").write_text(untranslated, encoding="utf-8")
    done = project("postedit app.xlf --memory m.tmx -o out.xlf")
    assert done.code == 0, done.err
    assert "as approved in the translation memory" in done.err
    assert 'Hola <x id="1"/> mundo.' in (project.folder / "out.xlf").read_text(encoding="utf-8")
    project.write("s.jsonl", '{"id": "a", "source": "Hello <1/> world."}', '{"id": "b", "source": "Unknown."}')
    mixed = project("postedit -s s.jsonl -l en-es --memory m.tmx -o s2.jsonl")
    assert mixed.code == 3, mixed.err
    assert project.objects("s2.jsonl")[0]["translation"] == "Hola <1/> mundo."


def test_similar_texts_are_shown_and_only_where_there_are_some(project: Shell) -> None:
    dry_run = "postedit app.xlf --dry-run --model m --base-url http://127.0.0.1:9/v1"
    shown = project(f"{dry_run} --memory m.tmx").out
    plain = project(f"{dry_run} --no-own-memory").out
    of_similar = shown.partition("--- segment similar")[2].partition("--- segment new")[0]
    assert "placeholders always come from the source" in of_similar
    assert "- Delete 3 files now. = Borre ya 3 archivos" in of_similar
    assert "segment again" not in shown
    others = shown.partition("--- segment other")[2]
    assert others
    assert others == plain.partition("--- segment other")[2]


def test_several_approved_texts_or_one_that_is_too_long_are_only_shown(project: Shell) -> None:
    second = MEMORY.replace("Hola", "Buenas")
    tmx(project.folder / "two.tmx", second)
    dry_run = "postedit app.xlf --dry-run --model m --base-url http://127.0.0.1:9/v1 --memory m.tmx"
    assert "--- segment new" not in project(dry_run).out
    assert "= Buenas <1/> mundo." in project(f"{dry_run} --memory two.tmx").out.partition("--- segment new")[2]
    (project.folder / "app.xlf").write_text(XLIFF.replace('id="new"', 'id="new" maxwidth="3" size-unit="char"'))
    assert "--- segment new" in project(dry_run).out


@pytest.mark.parametrize(("option", "is_taken"), [("", False), ("--gate none", True), ("--skip-guards length", True)])
def test_guards_that_a_run_leaves_out_refuse_nothing_from_the_memory(
    project: Shell, option: str, is_taken: bool
) -> None:
    long = "Hola a todos. " * 20
    tmx(project.folder / "m.tmx", MEMORY.replace("Hola ", long))
    (project.folder / "app.xlf").write_text(re.sub(r"<target.*?</target>", "", XLIFF), encoding="utf-8")
    shown = project(f"postedit app.xlf --memory m.tmx --dry-run --model m --base-url http://127.0.0.1:9/v1 {option}")
    assert ("--- segment new" not in shown.out) == is_taken
    filled = project(f"postedit app.xlf --memory m.tmx -o out.xlf {option}")
    assert (filled.code == 0) == is_taken, filled.err
    assert ("as approved in the translation memory: 1" in filled.err) == is_taken
    project.write("s.jsonl", '{"id": "a", "source": "Hello <1/> world."}')
    alone = project(f"postedit -s s.jsonl -l en-es --memory m.tmx -o s2.jsonl {option}")
    assert (alone.code == 0) == is_taken, alone.err


def test_the_papers_use_no_memory(project: Shell) -> None:
    refused = project("postedit app.xlf --memory m.tmx --preset paper")
    assert refused.code == 1
    assert "memory: m.tmx has no effect" in refused.err
