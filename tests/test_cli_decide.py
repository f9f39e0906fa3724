"""What people decide, as they type it: accept, revert, decide, export, and what compare and report make of it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtagent import Agent
from mtagent.chain.decided_text import DecidedRun
from mtagent.jobs.decision_log import export_log, import_log
from mtagent.jobs.decisions import export_decisions, import_decisions, read_decisions
from mtagent.records import Chain, Edit, ErrorSpan, PlainCause, Rating, Segment, Step
from mtagent.records.decisions import Decision, latest, not_withdrawn
from mtagent.review.queue import ReviewQueue
from mtagent.store.store import Store
from mtagent.text.paragraphs import LINE_BREAKS
from tests.commands import IMPROVED, TRANSLATIONS, Done, Shell
from tests.jobs import improving
from tests.stored import sql


def refused(done: Done) -> str:
    assert (done.code, done.out) == (1, ""), done
    return done.last


def chains() -> list[Chain]:
    """Three segments: an applied edit of style and a number that a guard refused; both quotation marks; nothing."""

    def made(number: int, source: str, given: str, *edits: Edit) -> Chain:
        segment = Segment(id=str(number), source=source, source_lang="en", target_lang="es", translation=given)
        text = given
        for edit in sorted(edits, key=lambda edit: -(edit.start or 0)):
            if edit.outcome == "applied":
                text = text[: edit.start] + edit.new + text[edit.end :]
        verdict = "kept" if text != given else "unchanged"
        return Chain(
            segment=segment, steps=(Step(stage="postedit", text=text, edits=edits, verdict=verdict, cause="better"),)
        )

    style = ErrorSpan(text="grande", category="style/awkward", severity="minor", suggestion="enorme")
    return [
        made(
            1, "A big house with 5 rooms.", "Una casa grande con 5 cuartos.",
            Edit(old="grande", new="enorme", start=9, end=15, outcome="applied", span=style),
            Edit(old="5", new="6", start=20, end=21, outcome="refused", guards=("numbers",), detail="numbers: 6"),
        ),
        made(
            2, 'He said "yes" to the plan.', 'Dijo "sí" al plan.',
            Edit(old='"', new="«", start=5, end=6, outcome="applied"),
            Edit(old='"', new="»", start=8, end=9, outcome="applied"),
        ),
        made(3, "=1+1", "=1+1"),
    ]  # fmt: skip


TEXTS = ["Una casa enorme con 5 cuartos.", "Dijo «sí» al plan.", "=1+1"]


def stored(path: Path, name: str = "r") -> Store:
    store = Store(path)
    with store.start(name, settings={}, inputs={}, total=3) as run:
        for position, chain in enumerate(chains()):
            run.save(position, chain)
        run.finish()
    return store


@pytest.fixture
def reviewed(shell: Shell) -> Shell:
    stored(shell.folder / "store.db").close()
    return shell


def test_edits_are_taken_back_and_accepted_and_nothing_is_overwritten(reviewed: Shell) -> None:
    done = reviewed("revert r 1 --edit 1 --who ana", "--reason", "not our style")
    assert done.out == "Una casa grande con 5 cuartos.\n"
    assert done.last == "mtagent: 1 edit of 1 segment taken back; --undo restores them"
    shown = reviewed("runs show r 1").out
    assert "edit 1: 'grande' -> 'enorme': applied" in shown
    assert "rejected by ana, 20" in shown
    assert ": not our style" in shown
    assert "text     Una casa enorme con 5 cuartos.\ndecided  Una casa grande con 5 cuartos." in shown
    accepted = reviewed("accept r --where guard=numbers")
    assert accepted.out == "1\tUna casa grande con 6 cuartos.\n"
    assert "segment 1: a guard found: numbers: " in accepted.err
    assert reviewed("revert r 1 --undo").out == "Una casa grande con 5 cuartos.\n", "as before the last command"
    assert reviewed("revert r 1 --undo").out == "Una casa enorme con 5 cuartos.\n"
    assert "segment 1: there is no decision on it" in refused(reviewed("revert r 1 --undo"))


def test_undo_brings_back_what_others_had_decided_before(reviewed: Shell) -> None:
    assert reviewed("accept r 1 --edit 2 --who ana").code == 0
    assert reviewed("revert r 1 --edit 2").code == 0
    undone = reviewed("revert r 1 --undo")
    assert undone.out == "Una casa enorme con 6 cuartos.\n"
    assert re.search(r"^mtagent: segment 1: withdrew: edit 2 rejected by .*, \d{4}-\d\d-\d\d \d\d:", undone.err, re.M)
    assert undone.last == "mtagent: 1 edit of 1 segment: decision withdrawn"
    assert "accepted by ana" in reviewed("runs show r 1").out
    assert reviewed("revert r 1 --edit 1 --edit 2").code == 0
    assert reviewed("revert r 1 --edit 2 --undo").out == "Una casa grande con 6 cuartos.\n"
    assert reviewed("revert r 1 --edit 1 --undo").code == 0
    assert "there is no decision on edit 1" in refused(reviewed("accept r 1 --edit 2 --edit 1 --undo"))


def test_accepting_a_segment_approves_what_the_person_sees(reviewed: Shell) -> None:
    reviewed.write("own.csv", "segment,edit,decision,text", "1,,text,Mi texto")
    assert reviewed("decide r own.csv").code == 0
    assert reviewed("accept r 1").out == "Mi texto\n"
    assert reviewed("revert r 2").code == 0
    accepted = reviewed("accept r 2")
    assert accepted.out == 'Dijo "sí" al plan.\n'
    assert "segment 2: its text stays as it was, because this confirms: rejected by " in accepted.err
    assert "; to get its edits again, take that back first: repeat --undo" in accepted.err
    assert accepted.last == "mtagent: 1 segment accepted, 1 as decided before; --undo takes this back"
    assert reviewed("accept r 3").last == "mtagent: 1 segment accepted; --undo takes this back"
    assert reviewed("export r").lines == ["Mi texto", 'Dijo "sí" al plan.', "=1+1"]


def test_a_rejection_that_was_confirmed_is_taken_back_before_its_edits_come_back(reviewed: Shell) -> None:
    assert reviewed("revert r 2").code == 0
    assert reviewed("accept r 2").code == 0
    assert reviewed("accept r 2 --undo").out == 'Dijo "sí" al plan.\n'
    assert reviewed("accept r 2 --undo").out == "Dijo «sí» al plan.\n"
    assert reviewed("accept r 2").last == "mtagent: 1 segment accepted; --undo takes this back"


def test_an_approval_is_of_one_text(reviewed: Shell) -> None:
    assert reviewed("revert r 1 --edit 1").code == 0
    assert reviewed("accept r 1").out == "Una casa grande con 5 cuartos.\n"
    assert "approved: 1 of 3" in reviewed("export r -o a.txt --only approved").err
    assert reviewed("revert r 1 --edit 1 --undo").out == "Una casa enorme con 5 cuartos.\n"
    assert "approved: 0 of 3" in reviewed("export r -o b.txt --only approved").err
    assert reviewed.read("b.txt")[0] == "Una casa grande con 5 cuartos."
    assert "not applied, because it is about another text: accepted by" in reviewed("runs show r 1").out
    reviewed.write("again.csv", "segment,edit,decision", "1,,accept")
    assert reviewed("decide r again.csv").last.startswith("mtagent: 1 new decision ")
    assert reviewed("decide r again.csv").last.startswith("mtagent: no new decision,")
    assert "approved: 1 of 3" in reviewed("export r -o c.txt --only approved").err


def test_runs_show_leaves_out_the_guards_that_the_run_left_out(shell: Shell) -> None:
    store = Store(shell.folder / "store.db")
    with store.start("r", settings={"skip_guards": ["quotes"]}, inputs={}, total=3) as run:
        for position, chain in enumerate(chains()):
            run.save(position, chain)
        run.finish()
    store.close()
    assert shell("revert r 2 --edit 1").out == 'Dijo "sí» al plan.\n'
    shown = shell("runs show r 2").out
    assert 'decided  Dijo "sí» al plan.' in shown
    assert "belong together" not in shown


def test_several_edits_and_segments_at_once(reviewed: Shell) -> None:
    assert reviewed("accept r 1 --edit 1 --edit 2").out == "Una casa enorme con 6 cuartos.\n"
    done = reviewed("revert r 1 2")
    assert done.lines == ["1\tUna casa grande con 5 cuartos.", '2\tDijo "sí" al plan.']
    assert done.last == "mtagent: 2 segments taken back; --undo restores them"
    assert reviewed("revert r 1 2 --undo").lines == ["1\tUna casa enorme con 6 cuartos.", f"2\t{TEXTS[1]}"]
    assert reviewed("revert r 1 --undo").out == f"{TEXTS[0]}\n"


def test_filters_choose_by_category_and_its_parent_and_say_what_there_is(reviewed: Shell) -> None:
    assert reviewed("revert r --where category=style").lines == ["1\tUna casa grande con 5 cuartos."]
    assert reviewed("revert r --where category=style --undo").lines == [f"1\t{TEXTS[0]}"]
    assert reviewed("revert r --where category=style/awkward --where outcome=applied").code == 0
    assert "has category=terms; there are category=style, category=style/awkward" in refused(
        reviewed("accept r --where category=terms")
    )
    assert "write KEY=VALUE, with a KEY of guard, category" in refused(reviewed("accept r --where colour=red"))
    assert "nothing was decided on an edit with guard=numbers that could be taken back" in refused(
        reviewed("accept r --where guard=numbers --undo")
    )


def test_quotation_marks_stay_together_and_say_so(reviewed: Shell) -> None:
    done = reviewed("revert r 2 --edit 1")
    assert done.out == 'Dijo "sí" al plan.\n'
    assert "segment 2: edit 2: taken back with edit 1: they belong together" in done.err


@pytest.mark.parametrize(("line", "error"), [
    ("accept r", "no edits are chosen; name segments, or choose edits with --where KEY=VALUE"),
    ("revert r 1 2 --edit 1", "--edit counts the edits of one segment"),
    ("decide r", "give a table to import, --import FILE, or --export FILE to write one"),
    ("runs delete", "give only one of these: names of runs, --older-than 30d"),
    ("runs delete r --older-than 3d", "give only one of these: names of runs, --older-than 30d"),
    ("runs delete r", "cannot ask for confirmation without a terminal; give --yes"),
])  # fmt: skip
def test_wrong_usage(line: str, error: str, reviewed: Shell) -> None:
    done = reviewed(line)
    assert (done.code, error in " ".join(done.err.split())) == (2, True), done.err
    assert "r" in reviewed.runs()


def test_a_wrong_age_is_a_wrong_value(reviewed: Shell) -> None:
    done = reviewed("runs delete --older-than soon")
    assert done.code == 1
    assert "--older-than: expected a number with h, d or w, as in 30d, not 'soon'" in done.err


@pytest.mark.parametrize(("line", "error"), [
    ("accept r 9", "run 'r': has no segment '9'"),
    ("accept r 1 --edit 7", "segment 1 has no edit 7; it has 2"),
    ("revert r 3 --edit 1", "segment 3 has no edit 1; it has none"),
    ("revert rr 1", "there is no run 'rr'; did you mean 'r'?"),
    ("runs delete r rr --yes", "there is no run 'rr'; did you mean 'r'?"),
])  # fmt: skip
def test_what_is_not_there_is_named_and_nothing_is_written(line: str, error: str, reviewed: Shell) -> None:
    assert error in refused(reviewed(line))
    with Store(reviewed.folder / "store.db") as store:
        assert not store.decisions("r")


def test_decided_texts_are_exported_and_only_approved_ones_where_that_is_asked(reviewed: Shell) -> None:
    assert reviewed("export r").lines == TEXTS
    assert reviewed("revert r 1 --edit 1").code == 0
    assert reviewed("accept r 2").code == 0
    assert reviewed("export r").lines == [chains()[0].given, *TEXTS[1:]]
    done = reviewed("export r -o approved.txt --only approved")
    assert reviewed.read("approved.txt") == [chains()[0].given, TEXTS[1], "=1+1"]
    assert "approved: 1 of 3 segments; the others have the text that was given" in done.err
    assert reviewed("accept r 3").code == 0
    done = reviewed("export r -o approved.txt --only approved --force")
    assert "approved: 2 of 3 segments (1 edited, 1 not edited); the others have the text that" in done.err
    assert reviewed("accept r 3 --undo").code == 0
    reviewed("export r -o x.txt --details d.jsonl")
    assert [line.get("reviewed") for line in reviewed.objects("d.jsonl")] == [chains()[0].given, TEXTS[1], None]
    assert reviewed("export r --format stages -o texts").code == 0
    assert (reviewed.folder / "texts" / "r.reviewed.txt").read_text().splitlines()[0] == chains()[0].given


def test_the_same_command_again_writes_what_people_decided(shell: Shell) -> None:
    shell.postedit("--name mine -o o.txt")
    assert shell.read("o.txt") == IMPROVED
    assert shell("revert mine 1 --edit 1").out == f"{TRANSLATIONS[0]}\n"
    shell.postedit("--name mine -o o2.txt")
    assert shell.read("o2.txt") == TRANSLATIONS


def test_compare_and_report_say_how_far_people_agree(reviewed: Shell) -> None:
    assert reviewed("accept r 1 --edit 1").code == 0
    assert reviewed("accept r 1 --edit 2").code == 0
    assert reviewed("revert r 2").code == 0
    shown = reviewed("compare r").out
    table = shown.split("review of r")[1]
    rows = {" ".join(line.split()) for line in table.splitlines()}
    assert "all 4 25.0 3 1 1 1" in rows
    assert "guard numbers 1 0.0 0 0 1 1" in rows
    assert "category style/awkward 1 100.0 1 1 0 0" in rows
    outcomes = {
        line.split()[0]: line.split() for line in shown.split("outcomes of")[1].split("\n\n")[0].splitlines()[1:]
    }
    assert "not run" not in shown
    assert dict(zip(outcomes["row"], outcomes["reviewed"], strict=False))["undecided"] == "1"
    note = "(edits that have a place in the text; 2 segments decided on, 2 of them approved, 0 with an own text; "
    assert f"{note}3 characters changed)" in rows
    data = json.loads(reviewed("compare r -f json").out)
    assert [row["stage"] for row in data["rows"]] == ["given", "postedit", "final", "reviewed"]
    assert data["rows"][-1]["former"] == "final"
    assert data["reviews"]["r"]["agreements"][0]["kept_wanted"] == 1
    for form in ("markdown", "json", "csv", "html"):
        assert reviewed(f"report r --format {form} -o report.{form}").code == 0
    assert "how often people agree with the machine" in (reviewed.folder / "report.markdown").read_text()
    assert "how often people agree with the machine" in (reviewed.folder / "report.html").read_text()


def test_a_table_is_written_to_be_filled_in_and_read_again(reviewed: Shell) -> None:
    assert reviewed("decide r --export d.csv").code == 0
    with (reviewed.folder / "d.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["segment"] + row["edit"] for row in rows] == ["1", "11", "12", "2", "21", "22"]
    rows[1]["decision"], rows[1]["reason"] = "Reject", "too much"
    rows[3] |= {"decision": "text", "text": "=Dijo que sí."}
    with (reviewed.folder / "d.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    done = reviewed("decide r d.csv --who ana")
    assert done.lines == ["1\tUna casa grande con 5 cuartos.", "2\t=Dijo que sí."]
    assert done.last == "mtagent: 2 new decisions on 2 segments, 4 rows without a decision"
    again = reviewed("decide r d.csv").last
    assert again == "mtagent: no new decision, 2 decisions already stored, 4 rows without a decision"
    assert "already exists" in reviewed("decide r --export d.csv").err
    assert (
        reviewed("decide r --export again.csv").last == "mtagent: written: again.csv: 6 rows, 2 of them with a decision"
    )
    assert "'=Dijo que sí." in (reviewed.folder / "again.csv").read_text(), "no spreadsheet runs it"
    assert reviewed("decide r again.csv").last.startswith("mtagent: no new decision")
    assert reviewed("export r").lines == ["Una casa grande con 5 cuartos.", "=Dijo que sí.", "=1+1"]


@pytest.mark.parametrize(("lines", "error"), [
    ([], "d.csv: is empty; `mtagent decide RUN --export FILE.csv` writes a file to fill in"),
    (["segment,decision", "1,accept"], "d.csv:1: no column 'edit' among 'segment', 'decision'; `mtagent decide"),
    (["segment,edit,decision,edit", "1,1,accept,"], "d.csv:1: two columns are called 'edit'"),
    (["segment,edit,decision", "1,1,accept", "9,1,accept"], "d.csv:3: run 'r': has no segment '9'"),
    (["segment,edit,decision", "1,1,accept", "1,7,accept"], "d.csv:3: segment 1 has no edit 7; it has 2"),
    (["segment,edit,decision", "1,one,accept"], "d.csv:2: edit is 'one'; write its number"),
    (["segment,edit,decision", "1,²,accept"], "d.csv:2: edit is '²'; write its number"),
    (["segment,edit,decision", "1,1,ok"], "d.csv:2: decision is 'ok'; write accept, reject, text, undecided, or"),
    (["segment,edit,decision", ",1,accept"], "d.csv:2: no segment; write its id"),
    (["segment,edit,decision", "1,1"], "d.csv:2: 2 columns instead of 3"),
    (["segment,edit,decision,text", "1,,text,"], "d.csv:2: the text of the segment is empty"),
    (["segment,edit,decision,text", "1,1,accept,mine"], "d.csv:2: has a text, and the decision 'accept'"),
    (["segment,edit,decision", "1,,text"], "d.csv:2: decision is 'text', and there is no column 'text'"),
    (["segment,edit,decision", "1,1,accept", "2,1,accept", "1,1,reject"], "d.csv:4: contradicts"),
    (["segment,edit,decision,old", "2,1,accept,x", "1,1,accept,grande"], "d.csv:2: old is 'x', and edit 1"),
    (["segment,edit,decision", '1,1,"accept'], "d.csv:2: a quote opens here and is never closed"),
])  # fmt: skip
def test_a_bad_table_is_named_with_its_line_and_nothing_is_written(
    lines: list[str], error: str, reviewed: Shell
) -> None:
    reviewed.write("d.csv", *lines)
    assert error in refused(reviewed("decide r d.csv"))
    with Store(reviewed.folder / "store.db") as store:
        assert not store.decisions("r")


@pytest.mark.parametrize(("encoding", "error"), [
    ("utf-16", "d.csv:1: is UTF-16; convert it first"),
    ("cp1252", "d.csv:3:10: byte 0xFC is not UTF-8; convert the file first"),
])  # fmt: skip
def test_other_encodings_are_named_with_the_way_out(encoding: str, error: str, reviewed: Shell) -> None:
    text = "segment,edit,decision,text\n1,1,reject,\n2,,text,sü\n"
    (reviewed.folder / "d.csv").write_text(text, encoding=encoding)
    assert error in refused(reviewed("decide r d.csv"))


def test_a_run_that_was_done_again_keeps_its_new_text_and_says_what_does_not_hold(reviewed: Shell) -> None:
    assert reviewed("revert r 1 --edit 1").code == 0
    with sql(reviewed.folder / "store.db") as connection:
        connection.execute("UPDATE segments SET state = 'failed' WHERE position = 0")
    with Store(reviewed.folder / "store.db") as store, store.reopen("r") as run:
        other = chains()[0]
        step = other.steps[0].model_copy(update={"edits": (), "text": "Una casa grande con 5 habitaciones."})
        run.save(0, other.model_copy(update={"steps": (step,)}))
    assert reviewed("export r").lines[0] == "Una casa grande con 5 habitaciones."
    assert "not applied, because it is about another text: rejected by" in reviewed("runs show r 1").out
    assert "warning: run 'r': 1 decision on texts that are others by now: not in force" in reviewed("compare r").out


OWN = st.text(st.characters(codec="utf-8", exclude_characters="\0" + LINE_BREAKS), min_size=1).filter(str.strip)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(st.tuples(
    st.sampled_from(["1", "2"]), st.sampled_from([None, 1, 2]),
    st.sampled_from(["accept", "reject", "undecided", "text"]), OWN,
), max_size=8))  # fmt: skip
def test_a_table_brings_the_same_texts_to_another_store(
    history: list[tuple[str, int | None, str, str]], tmp_path: Path
) -> None:
    for path in tmp_path.iterdir():
        path.unlink()
    with stored(tmp_path / "a.db") as store, stored(tmp_path / "b.db") as other:
        decisions = [
            Decision.model_validate(
                {"segment": s, "edit": e, "verdict": v, "text": text if v == "text" else None, "who": "ana"}
            )
            for s, e, v, text in history
        ]
        store.decisions("r").append([(int(decision.segment) - 1, decision) for decision in decisions])
        count = export_decisions(store, "r", tmp_path / "d.csv").decided
        done = import_decisions(other, "r", tmp_path / "d.csv", "ana")
        texts = [[result.text for _, result in DecidedRun(each, "r").segments()] for each in (store, other)]
        assert texts[0] == texts[1]
        kept = [len(latest(d for d in decisions if d.segment == segment)) for segment in ("1", "2")]
        assert (count, done.new) == (sum(kept), sum(kept))
        assert import_decisions(store, "r", tmp_path / "d.csv").new == 0
        assert len(read_decisions(tmp_path / "d.csv").rows) == 6


def test_runs_are_deleted_by_name_and_by_age(reviewed: Shell) -> None:
    assert reviewed("runs delete --older-than 1d --yes").last == "mtagent: no run is older than 1d"
    with sql(reviewed.folder / "store.db") as connection:
        connection.execute("UPDATE runs SET updated = '2020-01-01 00:00:00.000'")
    stored(reviewed.folder / "store.db", "young").close()
    done = reviewed("runs delete --older-than 1d --yes")
    assert done.err.startswith("r: 3 segments, 2020-01-01 00:00:00.000\nmtagent: deleted 1 run; the store had ")
    assert list(reviewed.runs()) == ["young"]
    assert reviewed("runs delete young --yes").code == 0
    assert not reviewed.runs()


def table(shell: Shell, name: str) -> list[dict[str, str]]:
    with (shell.folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fill(shell: Shell, name: str, rows: list[dict[str, str]], **cells: str) -> None:
    """Write ``rows``, with ``cells`` as the decision of each: ``fill(…, _1="accept")`` for the first row."""
    for place, decision in cells.items():
        rows[int(place[1:])]["decision"] = decision
    with (shell.folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_table_that_is_older_than_a_decision_of_another_person_is_refused_unless_forced(reviewed: Shell) -> None:
    assert reviewed("revert r 2 --edit 1 --who bob").code == 0
    assert reviewed("decide r --export d.csv").code == 0
    assert reviewed("revert r 1 --edit 1 --who ana").code == 0
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _1="accept", _2="accept")
    done = refused(reviewed("decide r d.csv --who bob"))
    assert "d.csv:3: decided after this table was written: edit 1 rejected by ana, 20" in done
    assert "export it again, or give --force to replace that" in done
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _0="accept", _1="", _2="")
    assert "d.csv:2: decided after" in refused(reviewed("decide r d.csv")), "it would approve what nobody has seen"
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _0="", _1="", _2="accept", _4="accept")
    assert "2 new decisions" in reviewed("decide r d.csv").last, "of what was not decided on since"
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _1="accept")
    done_with_force = reviewed("decide r d.csv --force --who bob")
    assert "segment 1: replaces: edit 1 rejected by ana, 20" in done_with_force.err
    assert reviewed("runs show r 1").out.count("accepted by bob") == 1
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _1="reject")
    assert "segment 1: replaces: edit 1 accepted by bob, 20" in reviewed("decide r d.csv --who bob").err


def test_a_decision_that_was_taken_back_does_not_block_an_older_table(reviewed: Shell) -> None:
    assert reviewed("revert r 2 --edit 1 --who cleo").code == 0
    assert reviewed("decide r --export d.csv").code == 0
    for segment, verdict in (("1", "revert"), ("2", "accept")):
        assert reviewed(f"{verdict} r {segment} --edit 1 --who ana").code == 0
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _1="accept")
    assert "edit 1 rejected by ana" in refused(reviewed("decide r d.csv --who bob"))
    for segment, verdict in (("1", "revert"), ("2", "accept")):
        assert reviewed(f"{verdict} r {segment} --edit 1 --undo --who ana").code == 0
    assert "1 new decision" in reviewed("decide r d.csv --who bob").last
    assert "accepted by bob" in reviewed("runs show r 1").out
    assert reviewed("decide r --export taken_back.csv").code == 0
    rows = table(reviewed, "taken_back.csv")
    assert [row["seen"][:4] for row in rows[:4]] == ["bob ", "bob ", "", "cleo"]
    assert [row["decided"][:4] for row in rows] == ["", "bob ", "", "", "cleo", ""]


def test_a_row_names_only_who_decided_on_it(reviewed: Shell) -> None:
    assert reviewed("accept r 1 --edit 1 --who ana").code == 0
    assert reviewed("revert r 2 --who bob").code == 0
    assert reviewed("decide r --export d.csv").code == 0
    decided_by = [(row["segment"], row["edit"], row["decided"].split(" ")[0]) for row in table(reviewed, "d.csv")]
    assert decided_by == [
        ("1", "", ""), ("1", "1", "ana"), ("1", "2", ""), ("2", "", "bob"), ("2", "1", ""), ("2", "2", ""),
    ]  # fmt: skip


def test_a_table_without_the_column_seen_is_checked_with_the_column_decided(reviewed: Shell) -> None:
    assert reviewed("decide r --export d.csv").code == 0
    rows = table(reviewed, "d.csv")
    for row in rows:
        del row["seen"]
    assert reviewed("revert r 1 --edit 1 --who ana").code == 0
    fill(reviewed, "d.csv", rows, _1="accept")
    assert "decided after this table was written" in refused(reviewed("decide r d.csv --who bob"))


def test_a_decision_that_was_withdrawn_after_the_export_stays_withdrawn_and_blocks_no_other_row(
    reviewed: Shell,
) -> None:
    assert reviewed("revert r 1 --edit 1 --edit 2 --who ana").code == 0
    assert reviewed("decide r --export d.csv").code == 0
    assert reviewed("revert r 1 --edit 1 --undo --who ana").code == 0
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _4="accept")
    done = reviewed("decide r d.csv --who bob")
    assert done.last.startswith(
        "mtagent: 1 new decision on 1 segment, 1 decision already stored, 1 decision withdrawn since the export"
    )
    assert reviewed("export r").lines[0] == TEXTS[0]
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _1="accept")
    assert "1 new decision" in reviewed("decide r d.csv --who bob").last, "a decision of one's own is no repetition"


def test_the_command_line_says_which_decisions_of_others_it_replaces(reviewed: Shell) -> None:
    assert reviewed("revert r 1 --edit 1 --who ana").code == 0
    assert "segment 1: replaces: edit 1 rejected by ana, 20" in reviewed("accept r 1 --edit 1 --who bob").err
    assert "replaces" not in reviewed("revert r 1 --edit 1 --who bob").err
    assert "segment 1: replaces: edit 1 rejected by bob, 20" in reviewed("revert r 1 --who ana").err


def test_what_a_guard_misses_twice_is_said_once(reviewed: Shell) -> None:
    reviewed.write("own.csv", "segment,edit,decision,text", "1,,text,Una casa con 7 y 7 cuartos.")
    done = reviewed("decide r own.csv")
    assert done.err.count("a guard found: numbers: number 7 is not in the source") == 1
    assert reviewed("runs show r 1").out.count("a guard found: numbers: number 7 is not in the source") == 1


def test_an_edit_of_a_segment_with_an_own_text_changes_nothing_and_that_is_said(reviewed: Shell) -> None:
    reviewed.write("own.csv", "segment,edit,decision,text", "1,,text,Mi texto")
    assert reviewed("decide r own.csv --who ana").code == 0
    done = reviewed("accept r 1 --edit 2")
    assert done.out == "Mi texto\n"
    assert "decisions on its edits have no effect, because it has its own text: a text of their own" in done.err


@pytest.mark.parametrize(("cells", "error"), [
    ({"source": "A big house."}, "d.csv:2: source is 'A big house.', and segment 1 has 'A big house with 5 rooms.'"),
    ({"result": "Una casa vieja."}, "d.csv:2: result is 'Una casa vieja.', a text that segment 1 of run 'r' never had"),
])  # fmt: skip
@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_a_table_of_another_run_is_refused_also_where_segments_alone_are_decided_on(
    cells: dict[str, str], error: str, decision: str, reviewed: Shell
) -> None:
    assert reviewed("decide r --export d.csv").code == 0
    rows = table(reviewed, "d.csv")
    rows[0] |= cells
    fill(reviewed, "d.csv", rows, _0=decision)
    assert error in refused(reviewed("decide r d.csv"))
    assert "empty the cell" in refused(reviewed("decide r d.csv"))


def test_quiet_prints_remarks_alone(reviewed: Shell) -> None:
    exported = reviewed("decide r --export d.csv -q")
    assert (exported.code, exported.out, exported.err) == (0, "", "")
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _0="accept", _1="reject")
    done = reviewed("decide r d.csv -q")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert reviewed("decide r --export log.jsonl --quiet").err == ""
    assert reviewed("decide r --import log.jsonl --quiet").err == ""
    assert "already stored" in reviewed("decide r --import log.jsonl").err
    refused = reviewed("decide r --export log.jsonl --quiet")
    assert refused.code == 1
    assert "already exists" in refused.err


def test_a_table_may_be_read_again_after_what_it_changed(reviewed: Shell) -> None:
    assert reviewed("decide r --export d.csv").code == 0
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _0="accept", _1="reject")
    assert "2 new decisions" in reviewed("decide r d.csv").last
    assert "no new decision" in reviewed("decide r d.csv --who ana").last
    fill(reviewed, "d.csv", table(reviewed, "d.csv"), _2="accept")
    assert "2 new decisions" in reviewed("decide r d.csv").last, "one's own decisions may be replaced"


def test_tables_as_spreadsheets_leave_them(reviewed: Shell) -> None:
    reviewed.write(
        "d.csv", "sep=;", "segment;edit;decision;Remark", " 1 ; 1 ;Reject;too much", ";;;", " ; ;;", "2;;accept;"
    )
    done = reviewed("decide r d.csv")
    assert done.lines == ["1\tUna casa grande con 5 cuartos.", "2\tDijo «sí» al plan."]
    assert "mtagent: d.csv: ignored 1 column: 'remark'" in done.err
    assert done.last == "mtagent: 2 new decisions on 2 segments"


def test_an_apostrophe_of_ones_own_stays(reviewed: Shell) -> None:
    reviewed.write("d.csv", "segment,edit,decision,text,guarded", "1,,text,'k hoor je,text", "2,,text,'=1,text")
    assert reviewed("decide r d.csv").lines == ["1\t'k hoor je", "2\t=1"]


def test_errors_that_nobody_corrected_are_shown_and_have_a_row(shell: Shell) -> None:
    error = ErrorSpan(text="grande", category="style/awkward", severity="major", explanation="too plain")
    rating = Rating(evaluator="gemba", score=-5, errors=(error,), role="editor")
    segment = Segment(id="1", source="A big house.", source_lang="en", target_lang="es", translation="Una casa grande.")
    step = Step(
        stage="postedit",
        text="Una casa grande.",
        ratings=(rating,),
        verdict="unchanged",
        cause=PlainCause(kind="no-edit"),
    )
    with Store(shell.folder / "store.db") as store, store.start("r", settings={}, inputs={}) as run:
        run.save(0, Chain(segment=segment, steps=(step,)))
        run.finish()
    shown = shell("runs show r 1").out
    assert "postedit: unchanged (no edit)\n  not fixed: major style/awkward 'grande': too plain" in shown
    assert shell("decide r --export d.csv").code == 0
    (row,) = table(shell, "d.csv")
    assert (row["segment"], row["edit"], row["result"]) == ("1", "", "Una casa grande.")
    assert row["why"] == "not fixed: major style/awkward 'grande': too plain"


def test_runs_show_lists_no_error_that_a_later_step_removed_or_that_was_listed_before(shell: Shell) -> None:
    def rated(*words: str) -> tuple[Rating, ...]:
        errors = [ErrorSpan(text=word, category="style/awkward", severity="major") for word in words]
        return (Rating(evaluator="gemba", score=-5, errors=tuple(errors), role="editor"),)

    given, final = "Una casa \x7fgrande y fea.", "Una casa grande y fea."
    segment = Segment(id="1", source="A big, ugly house.", source_lang="en", target_lang="es", translation=given)
    unchanged = PlainCause(kind="no-edit")
    steps = (
        Step(stage="rules", text=given, ratings=rated("\x7f", "fea"), verdict="unchanged", cause=unchanged),
        Step(stage="postedit", text=final, ratings=rated("fea", "casa"), verdict="kept", cause="better"),
    )
    with Store(shell.folder / "store.db") as store, store.start("r", settings={}, inputs={}) as run:
        run.save(0, Chain(segment=segment, steps=steps))
        run.finish()

    def listed() -> list[str]:
        return [line.strip() for line in shell("runs show r 1").out.splitlines() if "not fixed:" in line]

    assert listed() == ["not fixed: major style/awkward 'fea'", "not fixed: major style/awkward 'casa'"]
    shell.write("approved.csv", "segment,edit,decision,text", "1,,accept,")
    assert shell("decide r approved.csv").code == 0
    assert listed() == []


def aged(shell: Shell) -> None:
    with sql(shell.folder / "store.db") as connection:
        connection.execute("UPDATE runs SET updated = '2020-01-01 00:00:00.000'")


def test_by_age_runs_that_are_worked_on_or_shown_are_left_and_the_others_deleted(reviewed: Shell) -> None:
    for name in ("busy", "shown"):
        stored(reviewed.folder / "store.db", name).close()
    with Store(reviewed.folder / "store.db") as store, store.reopen("busy"):
        page = ReviewQueue(store, ["shown"])
        aged(reviewed)
        done = reviewed("runs delete --older-than 1d --yes")
        assert done.code == 0
        assert "mtagent: kept: run 'busy': process" in done.err
        assert "mtagent: kept: run 'shown': is open in `mtagent review`, or another command is reading it" in done.err
        assert done.last.startswith("mtagent: deleted 1 run; the store had ")
        assert list(reviewed.runs()) == ["busy", "shown"]
        assert len(page.rows(0, -1)) == 3


def test_a_run_that_is_open_in_a_review_is_not_deleted(reviewed: Shell) -> None:
    with Store(reviewed.folder / "store.db") as store:
        pages = [ReviewQueue(store, ["r"]), ReviewQueue(store, ["r"])]
        assert reviewed("accept r 1").code == 0, "others may decide meanwhile"
        while pages:
            assert "run 'r': is open in `mtagent review`" in refused(reviewed("runs delete r --yes"))
            pages.pop()
        assert reviewed("runs delete r --yes").code == 0
    assert not [file.name for file in reviewed.folder.iterdir() if file.name.endswith(".lock")]


@pytest.mark.parametrize("line", ["", "r --older-than 1d", "r --outside", "--older-than 1d --outside"])
def test_one_way_to_choose_what_to_delete(line: str, reviewed: Shell) -> None:
    done = reviewed(f"runs delete {line}")
    assert done.code == 2
    assert "give only one of these: names of runs, --older-than 30d, --outside" in done.err


def test_what_an_agent_asked_outside_of_runs_is_listed_and_deleted(reviewed: Shell) -> None:
    with Agent(llm=improving(), store=reviewed.folder / "store.db") as agent:
        agent.postedit(["a private phrase end."], ["una frase errado fin."], "en", "es")
    listed = reviewed("runs list")
    assert [line.split()[0] for line in listed.lines] == ["name", "r"]
    pattern = r"mtagent: the store also has (\d calls) of Agent\(store=…\) outside of runs, .*; `mtagent runs delete"
    calls = re.match(pattern, listed.last)
    assert calls is not None
    assert f"mtagent: deleted {calls[1]} outside of runs; the store had " in reviewed("runs delete --outside --yes").err
    content = b"".join(file.read_bytes() for file in reviewed.folder.glob("store.db*"))
    assert b"a private phrase end" not in content
    assert reviewed("runs list").err == ""
    assert list(reviewed.runs()) == ["r"]
    assert reviewed("runs delete --outside --yes").last == "mtagent: nothing to delete"


# -- decisions of two people in two stores


@pytest.fixture
def two(reviewed: Shell) -> Shell:
    """Ana's store is ``store.db``; Bob has a copy of it."""
    stored(reviewed.folder / "bob.db").close()
    return reviewed


def test_decisions_go_from_one_store_to_the_other_and_back(two: Shell) -> None:
    assert two("revert r 1 --edit 1 --who ana --reason", "not our style").code == 0
    assert two("accept r 1 --edit 2 --who ana").code == 0
    assert two("accept r 1 --edit 2 --undo --who ana").code == 0
    assert (
        two("decide r --export ana.jsonl").last
        == "mtagent: written: ana.jsonl: 3 decisions, with all that were replaced or withdrawn"
    )
    done = two("decide r --import ana.jsonl --store bob.db")
    assert done.lines == ["1\tUna casa grande con 5 cuartos."]
    assert done.remarks[0] == "mtagent: 1 segment with the decided text:"
    assert done.last == "mtagent: 3 new decisions on 1 segment"
    assert two("decide r ana.jsonl --store bob.db").last == "mtagent: no new decision, 3 decisions already stored"
    assert "rejected by ana, 20" in two("runs show r 1 --store bob.db").out
    assert two("accept r 2 --who bob --store bob.db").code == 0
    assert two("decide r --export bob.jsonl --store bob.db").code == 0
    back = two("decide r --import bob.jsonl")
    assert back.last == "mtagent: 1 new decision on 1 segment, 3 decisions already stored"
    with Store(two.folder / "store.db") as ana, Store(two.folder / "bob.db") as bob:
        logs = []
        for store in (ana, bob):
            history = store.decisions("r").history(0) + store.decisions("r").history(1)
            logs.append([(each.segment, each.edit, each.verdict, each.who, each.at, each.reason) for each in history])
    assert logs[0] == logs[1]
    assert two("export r").lines == two("export r --store bob.db").lines


@pytest.mark.parametrize("first", ["ana", "bob"])
def test_of_two_peoples_decisions_the_later_one_counts_and_both_are_shown(first: str, two: Shell) -> None:
    stores = {"ana": "store.db", "bob": "bob.db"}
    verdicts = {"ana": "revert", "bob": "accept"}
    for who in sorted(stores, key=lambda who: who != first):
        assert two(f"{verdicts[who]} r 1 --edit 1 --who {who} --store {stores[who]}").code == 0
        assert two(f"decide r --export {who}.jsonl --store {stores[who]}").code == 0
    done = two("decide r --import bob.jsonl")
    rejected, accepted = "edit 1 rejected by ana, 20", "edit 1 accepted by bob, 20"
    earlier, later = (rejected, accepted) if first == "ana" else (accepted, rejected)
    (conflict,) = [line for line in done.remarks if "decided differently" in line]
    assert conflict.startswith(f"mtagent: segment 1: decided differently: {earlier}")
    assert f" | {later}" in conflict
    assert conflict.endswith("; the later one counts now")
    older = "" if first == "ana" else " (1 older than decisions here, which count)"
    assert done.last == f"mtagent: 1 new decision on 1 segment{older}, 1 conflict"
    assert two("decide r --import ana.jsonl --store bob.db").last.endswith("1 conflict")
    text = TEXTS[0] if first == "ana" else "Una casa grande con 5 cuartos."
    assert two("export r").lines[0] == two("export r --store bob.db").lines[0] == text
    again = two("decide r --import bob.jsonl")
    assert again.remarks == ["mtagent: no new decision, 1 decision already stored"]


@pytest.mark.parametrize("other", ["revert", "accept"])
def test_what_one_person_decided_in_two_stores_at_the_same_time_is_equal_or_a_conflict(other: str, two: Shell) -> None:
    for store, verdict in (("store.db", "revert"), ("bob.db", other)):
        assert two(f"{verdict} r 1 --edit 1 --who ana --store {store}").code == 0
        with sql(two.folder / store) as connection:
            connection.execute("UPDATE decisions SET at = '2026-01-31 09:30:00.000'")
        assert two(f"decide r --export {store}.jsonl --store {store}").code == 0
    for store, exported in (("store.db", "bob.db"), ("bob.db", "store.db")):
        done = two(f"decide r --import {exported}.jsonl --store {store}")
        if other == "revert":
            assert done.remarks == ["mtagent: no new decision, 1 decision already stored"]
        else:
            assert any("decided differently" in line for line in done.remarks)
            assert done.last.endswith("1 conflict")
    assert two("export r").lines == two("export r --store bob.db").lines


def test_who_replaces_or_repeats_a_decision_of_another_is_in_no_conflict(two: Shell) -> None:
    assert two("revert r 1 --edit 1 --who ana").code == 0
    assert two("accept r 1 --edit 2 --who ana").code == 0
    assert two("decide r --export ana.jsonl").code == 0
    assert two("decide r --import ana.jsonl --store bob.db").code == 0
    assert two("accept r 1 --edit 1 --who bob --store bob.db").code == 0
    assert two("accept r 1 --edit 2 --who bob --store bob.db").code == 0
    assert two("decide r --export bob.jsonl --store bob.db").code == 0
    done = two("decide r --import bob.jsonl")
    assert done.last == "mtagent: 2 new decisions on 1 segment, 2 decisions already stored"
    assert done.out == "1\tUna casa enorme con 6 cuartos.\n"


def test_an_imported_command_is_taken_back_as_one(two: Shell) -> None:
    assert two("revert r 2 --who ana").code == 0
    assert two("revert r 1 --edit 1 --edit 2 --who ana").code == 0
    assert two("accept r 2 --who ana").code == 0
    assert two("decide r --export ana.jsonl").code == 0
    assert two("decide r --import ana.jsonl --store bob.db").code == 0
    assert "2 edits" in two("revert r 1 --undo --store bob.db").last
    assert two("export r --store bob.db").lines[0] == TEXTS[0]


def test_a_new_decision_counts_though_the_other_clock_is_ahead(two: Shell) -> None:
    assert two("revert r 1 --edit 1 --who ana").code == 0
    with sql(two.folder / "store.db") as connection:
        connection.execute("UPDATE decisions SET at = strftime('%Y-%m-%d %H:%M:%f', 'now', '+30 minutes')")
    assert two("decide r --export ana.jsonl").code == 0
    assert two("decide r --import ana.jsonl --store bob.db").code == 0
    assert two("accept r 1 --edit 1 --store bob.db").out == f"{TEXTS[0]}\n"


def test_decisions_on_other_texts_are_counted_and_those_of_another_run_refused(two: Shell) -> None:
    assert two("revert r 1 --edit 1").code == 0
    assert two("accept r 2").code == 0
    assert two("decide r --export ana.jsonl").code == 0
    with Store(two.folder / "other.db") as store:
        with store.start("r", settings={}, inputs={}, total=2) as run:
            run.save(0, chains()[1])
            run.save(1, chains()[2])
            run.finish()
        with store.start("q", settings={}, inputs={}, total=1) as run:
            run.save(0, chains()[2])
            run.finish()
    done = two("decide r --import ana.jsonl --store other.db")
    assert done.last == (
        "mtagent: 1 new decision on 1 segment, 1 decision not stored: on texts or edits that this run does not have "
        "(segments: 1)"
    )
    assert "ana.jsonl: has 2 decisions on run 'r', and none is on a text of run 'q': import it into" in refused(
        two("decide q --import ana.jsonl --store other.db")
    )


def test_decisions_reach_a_run_whose_gate_kept_other_edits_and_the_others_are_named(two: Shell) -> None:
    first, second, third = chains()
    step = first.steps[0]
    rejected = step.edits[0].model_copy(update={"outcome": "rejected"})
    other_step = step.model_copy(update={"edits": (rejected, *step.edits[1:]), "text": first.given})
    reworded = second.model_copy(update={"steps": ()})
    with Store(two.folder / "other.db") as store, store.start("r2", settings={}, inputs={}, total=3) as run:
        for position, chain in enumerate([first.model_copy(update={"steps": (other_step,)}), reworded, third]):
            run.save(position, chain)
        run.finish()
    assert two("accept r 1 --edit 1 --who ana").code == 0
    assert two("revert r 1 --edit 2 --who ana").code == 0
    two.write("own.csv", "segment,edit,decision,text", "2,,text,Un texto propio")
    assert two("decide r own.csv --who ana").code == 0
    assert two("decide r --export ana.jsonl").code == 0
    done = two("decide r2 --import ana.jsonl --store other.db")
    assert done.last == "mtagent: 3 new decisions on 2 segments"
    assert two("export r2 --store other.db").lines[:2] == two("export r").lines[:2]
    again = two("decide r2 --import ana.jsonl --store other.db")
    assert again.last == "mtagent: no new decision, 3 decisions already stored"
    assert two("revert r 2 --undo").code == 0
    assert two("decide r --export later.jsonl").code == 0
    assert two("decide r2 --import later.jsonl --store other.db").code == 0
    assert two("export r2 --store other.db").lines[1] == reworded.given


def test_an_import_that_fails_on_the_way_stores_nothing(two: Shell) -> None:
    assert two("revert r 1 2 --who ana").code == 0
    assert two("decide r --export ana.jsonl").code == 0
    with sql(two.folder / "bob.db") as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON decisions WHEN NEW.segment = '2'"
            " BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    assert two("decide r --import ana.jsonl --store bob.db").code == 1
    with Store(two.folder / "bob.db") as store:
        assert not store.decisions("r")
    with sql(two.folder / "bob.db") as connection:
        connection.execute("DROP TRIGGER full")
    assert "2 new decisions" in two("decide r --import ana.jsonl --store bob.db").last


HASH = "0" * 24


@pytest.mark.parametrize(("change", "error"), [
    ({"edit": 9}, "log.jsonl:2: segment 1 has no edit 9; it has 2"),
    ({"edit": 1.5}, "log.jsonl:2: edit: Input should be a valid integer"),
    ({"edit": -1}, "log.jsonl:2: edit: -1 cannot be; export the decisions again"),
    ({"verdict": "delete"}, "log.jsonl:2: verdict: Input should be 'accept', 'reject', 'text' or 'undecided'"),
    ({"verdict": "text", "text": "a\nb"}, "log.jsonl:2: edit 1 of segment 1: the text has a line break"),
    ({"verdict": "text", "text": "x" * 100_001}, "log.jsonl:2: edit 1 of segment 1: the text has 100,001 characters"),
    ({"at": "2999-01-01 00:00:00.000"}, "log.jsonl:2: was made at 2999-01-01 00:00:00.000 (UTC), which is later"),
    ({"at": "2025-13-01 00:00:00.000"}, 'log.jsonl:2: at: "2025-13-01 00:00:00.000" cannot be'),
    ({"at": ""}, 'log.jsonl:2: at: "" cannot be'),
    ({"id": 0}, "log.jsonl:2: id: 0 cannot be"),
    ({"id": True}, "log.jsonl:2: id: Input should be a valid integer"),
    ({"command": 10**30}, "log.jsonl:2: command: "),
    ({"position": -1}, "log.jsonl:2: position: -1 cannot be"),
    ({"chain": "x' OR 1"}, "log.jsonl:2: chain: \"x' OR 1\" cannot be"),
    ({"seconds": -1.0}, "log.jsonl:2: seconds: -1.0 cannot be"),
    ({"who": "x" * 201}, "log.jsonl:2: who: "),
    ({"drop": 1}, "log.jsonl:2: drop: Extra inputs are not permitted"),
    ({"verdict": "undecided", "withdraws": 7}, "log.jsonl:2: withdraws decision 7, and no line above holds such"),
    ({"withdraws": 7}, "log.jsonl:2: decision: Value error, a decision that withdraws another must be 'undecided'"),
    ({"segment": "9", "position": 8}, "none is on a text of run 'r'"),
    ({"chain": HASH, "about": HASH}, "none is on a text of run 'r'"),
    ({"about": "x"}, 'log.jsonl:2: about: "x" cannot be'),
])  # fmt: skip
def test_a_log_that_was_tampered_with_is_refused(change: dict[str, object], error: str, two: Shell) -> None:
    assert two("revert r 1 --edit 1 --who ana").code == 0
    assert two("decide r --export ana.jsonl").code == 0
    head, decision = two.objects("ana.jsonl")
    two.write("log.jsonl", json.dumps(head), json.dumps(decision | change))
    assert error in refused(two("decide r --import log.jsonl --store bob.db"))
    two.write("log.jsonl", json.dumps(head), json.dumps(decision), json.dumps(decision | change))
    assert refused(two("decide r --import log.jsonl --store bob.db")), "nor beside a decision that is all right"
    with Store(two.folder / "bob.db") as store:
        assert not store.decisions("r")


@pytest.mark.parametrize("lines", [[], ["[]"], ["{}"], ['{"format": "mtagent decisions 2", "run": "r"}'], ["x"]])
def test_a_file_that_is_no_log_is_refused(lines: list[str], two: Shell) -> None:
    two.write("log.jsonl", *lines)
    assert "log.jsonl:1:" in refused(two("decide r --import log.jsonl"))
    assert two("decide r --import log.jsonl --who ana").code == 2


CHOICES = st.sampled_from(["accept", "reject", "undecided", "text", "undo"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(st.tuples(
    st.sampled_from(["ana", "bob"]), st.sampled_from([0, 1]), st.sampled_from([None, 1, 2]), CHOICES,
), max_size=10))  # fmt: skip
def test_two_stores_end_with_the_same_decisions_and_texts(
    history: list[tuple[str, int, int | None, str]], tmp_path: Path
) -> None:
    for path in tmp_path.iterdir():
        path.unlink()
    with stored(tmp_path / "ana.db") as ana, stored(tmp_path / "bob.db") as bob:
        stores = {"ana": ana, "bob": bob}
        for number, (who, position, edit, choice) in enumerate(history):
            run = DecidedRun(stores[who], "r")
            chain, log = run.run.chain_at(position), run.log.history(position)
            fields: dict[str, object] = {"segment": chain.segment.id, "edit": edit, "verdict": choice, "who": who}
            if choice == "text":
                fields["text"] = f"Texto {number}"
            if choice == "undo":
                standing = not_withdrawn(log)
                if not standing:
                    continue
                fields |= {"verdict": "undecided", "edit": standing[-1].edit, "withdraws": standing[-1].id}
            at = f"2026-01-01 00:00:{number:02}.000"
            decision = run.checked(chain, Decision.model_validate(fields | {"at": at}), log)
            run.log.append([(position, decision)])
        for source, target in (("ana", "bob"), ("bob", "ana")):
            export_log(stores[source], "r", tmp_path / f"{source}.jsonl")
            import_log(stores[target], "r", tmp_path / f"{source}.jsonl")
        for source, target in (("ana", "bob"), ("bob", "ana")):
            export_log(stores[source], "r", tmp_path / f"{source}.jsonl")
            again = import_log(stores[target], "r", tmp_path / f"{source}.jsonl")
            assert (again.new, again.missing.total(), again.conflicts) == (0, 0, [])
        texts = [[result.text for _, result in DecidedRun(store, "r").segments()] for store in (ana, bob)]
        assert texts[0] == texts[1]
