"""The server of ``mtagent review``: who may ask it, what it answers, what is written."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mtagent.jobs.decisions import decide
from mtagent.records import (
    Chain,
    DecidedCause,
    Edit,
    ErrorCause,
    ErrorSpan,
    Judgement,
    PlainCause,
    Rating,
    Severity,
    Stage,
    Step,
)
from mtagent.records.decisions import Decision, fingerprint
from mtagent.store import Store
from mtagent.store.store import delete_runs
from tests.commands import environment, run
from tests.report_runs import edited, error, rating, save, segment, varied

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from mtagent.chain.decided_text import DecidedRun
from mtagent.review.queue import PART, ReviewQueue
from mtagent.review.review_app import PageAccess, make_app

PORT = 5055
HOST = f"127.0.0.1:{PORT}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(save(tmp_path, "run", varied(), logged=False)) as opened:
        yield opened


@asynccontextmanager
async def asking(store: Store, access: PageAccess | None = None, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a review of ``run``, with the token unless the headers say otherwise."""
    access = access or PageAccess(PORT)
    given = {"authorization": f"Bearer {access.token}", "host": HOST, **headers}
    transport = httpx.ASGITransport(make_app(ReviewQueue(store, ["run"], "ana"), access))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}", headers=given) as client:
        yield client


async def place(client: httpx.AsyncClient, name: str, after: int = -1) -> dict[str, Any]:
    """What a decision on the segment ``name`` begins with; it is one of the next ``after`` a position."""
    rows = (await client.get(f"/api/rows/0/{after}")).json()
    position = next(row["position"] for row in rows if row["id"] == name)
    shown = (await client.get(f"/api/segments/0/{position}")).json()
    return {"run": 0, "position": position, "version": shown["version"], "seen": shown["seen"]}


# --- who may not

ASKED = [
    ("GET", "/api/queue"),
    ("GET", "/api/rows/0/-1"),
    ("GET", "/api/segments/0/0"),
    ("GET", "/api/versions"),
    ("POST", "/api/enter"),
    ("POST", "/api/check"),
    ("POST", "/api/decide"),
    ("POST", "/api/decide-all"),
    ("GET", "/api/worth-labelling"),
    ("OPTIONS", "/api/decide"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/nothing"),
]


@pytest.mark.parametrize(("method", "path"), ASKED)
async def test_without_the_token_nothing_is_told(method: str, path: str, store: Store) -> None:
    access = PageAccess(PORT)
    guesses = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        f"Bearer {access.token[:-1]}",
        f"Bearer {access.token}x",
        f"Basic {access.token}",
    ]
    for guess in guesses:
        async with asking(store, access, authorization=guess) as client:
            answer = await client.request(method, path, headers={"cookie": f"token={access.token}"})
        assert answer.status_code == 403
        assert set(answer.json()) == {"error"}
        assert "bank" not in answer.text


async def test_a_foreign_host_is_refused_even_with_the_token(store: Store) -> None:
    for host in (
        "evil.test",
        f"evil.test:{PORT}",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1:{PORT}.evil.test",
        f"[::1]:{PORT}",
        "",
    ):
        async with asking(store, host=host) as client:
            for path in ("/", "/review.js", "/api/queue"):
                assert (await client.get(path)).status_code == 403
    async with asking(store, host=f"localhost:{PORT}") as client:
        assert (await client.get("/api/queue")).status_code == 200


async def test_a_page_of_another_origin_is_refused_even_with_the_token(store: Store) -> None:
    foreign = [
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:5056"},
        {"origin": f"http://localhost:{PORT}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ]
    for headers in foreign:
        async with asking(store, **headers) as client:
            assert (await client.get("/api/queue")).status_code == 403
            assert (await client.post("/api/decide", json={})).status_code == 403
    async with asking(store, origin=f"http://{HOST}") as client:
        answer = await client.get("/api/queue", headers={"sec-fetch-site": "same-origin"})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_paths_lead_nowhere_else(store: Store) -> None:
    async with asking(store) as client:
        for path in (
            "/../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/review.js/../../pyproject.toml",
            "//etc/passwd",
            "/..%5c..%5cetc",
            "/review.py",
            "/page/page.js",
            "/colours.css%00.py",
            "/api/segments/0/../../queue/x",
            "/api/segments/%2e%2e/0",
        ):
            answer = await client.get(path)
            assert answer.status_code in (404, 422), path
        for run_number in (1, -1):
            for asked in (f"/api/segments/{run_number}/0", f"/api/rows/{run_number}/-1"):
                answer = await client.get(asked)
                assert (answer.status_code, "there is no run" in answer.text) == (400, True)
        for after in (-2, 2**70):
            assert (await client.get(f"/api/rows/0/{after}")).status_code == 400
        for position in (99, -1, 2**70):
            answer = await client.get(f"/api/segments/0/{position}")
            assert (answer.status_code, "has no segment" in answer.text) == (410, True)


async def test_every_answer_forbids_scripts_of_others_and_frames(store: Store) -> None:
    async with asking(store) as client:
        for path in ("/", "/review.js", "/elements.js", "/review.css", "/colours.css", "/api/queue", "/nothing"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
        page = (await client.get("/")).text
    assert not re.search(r"<script>|<style|\son\w+=|https?://", page)


async def test_the_address_for_the_browser_opens_once(store: Store) -> None:
    access = PageAccess(PORT)
    code = access.code
    async with asking(store, access, authorization=f"Bearer {code}") as client:
        assert (await client.get("/api/queue")).status_code == 403
        assert (await client.post("/api/enter")).json() == {"token": access.token}
        assert (await client.post("/api/enter")).status_code == 403
        assert (await client.post("/api/enter", headers={"authorization": "Bearer "})).status_code == 403


# --- decisions


async def test_a_decision_is_written_with_name_and_time_and_changes_the_text(store: Store) -> None:
    async with asking(store) as client:
        about = await place(client, "bank")
        answer = await client.post("/api/decide", json={**about, "edit": 1, "verdict": "reject", "seconds": 2.5})
    assert answer.json()["text"] == "Die Bank des Flusses."
    (written,) = store.decisions("run").history(about["position"])
    assert (written.edit, written.verdict, written.who, written.seconds) == (1, "reject", "ana", 2.5)
    assert written.at


async def test_a_window_that_is_late_gets_the_newer_state_and_writes_nothing(store: Store) -> None:
    async with asking(store) as client:
        about = await place(client, "bank")
        await client.post("/api/decide", json={**about, "edit": 1, "verdict": "reject"})
        late = await client.post("/api/decide", json={**about, "edit": None, "verdict": "text", "text": "Das Ufer."})
        assert late.status_code == 409
        newer = late.json()["segment"]
        assert (newer["text"], newer["version"] > about["version"]) == ("Die Bank des Flusses.", True)
        again = {**about, "version": newer["version"], "edit": None, "verdict": "text", "text": "Das Ufer."}
        assert (await client.post("/api/decide", json=again)).json()["text"] == "Das Ufer."
        unseen = await client.post(
            "/api/decide", json={**again, "seen": "another text", "verdict": "accept", "text": None}
        )
        assert unseen.status_code == 409
    assert len(store.decisions("run").history(about["position"])) == 2


async def test_what_cannot_be_decided_is_an_error_in_one_line(store: Store) -> None:
    async with asking(store) as client:
        about = await place(client, "bank")
        for wrong in (
            {"verdict": "accept", "edit": 9},
            {"verdict": "text"},
            {"verdict": "maybe"},
            {"verdict": "accept", "text": "x"},
            {"verdict": "accept", "seconds": -1},
            {"verdict": "accept", "who": "bob"},
            {"verdict": "text", "text": "\ud800"},
        ):
            answer = await client.post("/api/decide", content=json.dumps({**about, **wrong}))
            assert answer.status_code in (400, 422), wrong
            assert "\n" not in answer.json()["error"]
        assert (await client.post("/api/decide", content=b"{")).status_code == 422
    assert store.decisions("run").histories() == {}


async def test_the_guards_look_at_a_text_while_it_is_written(store: Store) -> None:
    async with asking(store) as client:
        about = await place(client, "refused")
        asked = {"run": 0, "position": about["position"], "text": "Zahlen n Dollar."}
        found = (await client.post("/api/check", json=asked)).json()
        assert (found["refusal"], [damage["guard"] for damage in found["found"]]) == ("", ["placeholders"])
        fine = (await client.post("/api/check", json={**asked, "text": "Zahlen Sie {n} Dollar."})).json()
    assert fine == {"refusal": "", "found": []}


UNUSABLE = [
    (" \t", "the text is empty"),
    ("Zahlen {n}\nDollar.", "the text has a line break"),
    ("Zahlen {n}\0", "NUL"),
    ("x" * 100_001, "has 100,001 characters; the most is 100,000"),
]


@pytest.mark.parametrize(("text", "why"), UNUSABLE)
async def test_an_own_text_that_no_file_could_hold_is_refused_while_it_is_written_and_when_it_is_saved(
    text: str, why: str, store: Store
) -> None:
    async with asking(store) as client:
        about = await place(client, "refused")
        asked = {"run": 0, "position": about["position"], "text": text}
        assert why in (await client.post("/api/check", json=asked)).json()["refusal"]
        answer = await client.post("/api/decide", json={**about, "verdict": "text", "text": text})
    assert (answer.status_code, why in answer.json()["error"]) == (400, True)
    assert not store.decisions("run")


async def test_a_request_of_several_megabytes_is_not_read(store: Store) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"{}"

    async with asking(store) as client:
        about = await place(client, "refused")
        large = await client.post("/api/check", json={"run": 0, "position": about["position"], "text": "x" * 3_000_000})
        unsaid = await client.post("/api/check", content=pieces())
    assert (large.status_code, unsaid.status_code) == (413, 413)


async def test_a_decision_is_withdrawn_by_its_id_and_what_was_decided_before_holds_again(store: Store) -> None:
    async with asking(store) as client:
        about = await place(client, "bank")

        async def decide(**what: Any) -> dict[str, Any]:
            answer = (await client.post("/api/decide", json={**about, **what})).json()
            about["version"] = answer["version"]
            return dict(answer)

        def state(shown: dict[str, Any]) -> list[str | None]:
            return [said and said["verdict"] for said in (shown["decision"], *(e["decision"] for e in shown["edits"]))]

        await decide(verdict="reject", edit=1)
        whole = await decide(verdict="reject")
        await decide(verdict="accept", edit=2)
        accepted = await decide(verdict="accept")
        assert state(accepted) == ["reject", None, "accept"]
        assert state(await decide(verdict="undecided", withdraws=accepted["made"])) == ["reject", None, "accept"]
        assert state(await decide(verdict="undecided", withdraws=whole["made"])) == [None, "reject", "accept"]
        twice = await client.post("/api/decide", json={**about, "verdict": "undecided", "withdraws": whole["made"]})
    assert (twice.status_code, "withdrawn" in twice.json()["error"]) == (400, True)


async def test_a_decision_whose_answer_was_lost_is_not_written_twice(store: Store) -> None:
    async with asking(store) as client:
        about = await place(client, "bank")
        first, again = [
            (await client.post("/api/decide", json={**about, "verdict": "reject", "edit": 1})).json() for _ in range(2)
        ]
        about["version"] = first["version"]
        undo = {**about, "verdict": "undecided", "edit": 1, "withdraws": first["made"]}
        undone = [(await client.post("/api/decide", json=undo)).status_code for _ in range(2)]
    assert (first["made"], undone) == (again["made"], [200, 200])
    assert len(store.decisions("run").history(about["position"])) == 2


async def test_what_is_gone_is_gone_for_good(store: Store) -> None:
    async with asking(store) as client:
        about = await place(client, "bank")
        delete_runs(store.database, [1], ["run"])  # as where no lock could be held
        answer = await client.post("/api/decide", json={**about, "verdict": "accept"})
    assert (answer.status_code, "was deleted" in answer.json()["error"]) == (410, True)


async def test_the_errors_that_the_decided_text_still_has_are_named(tmp_path: Path) -> None:
    given = "Die Bank des Flusses ist alt."
    errors = (error(given, "Bank", "Ufer"), error(given, "Flusses"), error(given, "alt", severity="neutral"))
    chain = edited(segment("s", "The bank of the river is old.", given), "Die Ufer des Flusses ist alt.", *errors)
    with Store(save(tmp_path, "run", [chain], logged=False)) as store:
        async with asking(store) as client:
            (row,) = ReviewQueue(store, ["run"]).rows(0, -1)
            shown = (await client.get("/api/segments/0/0")).json()
            about = await place(client, "s")
            assert (await client.post("/api/decide", json={**about, "verdict": "accept"})).status_code == 200
            approved = (await client.get("/api/segments/0/0")).json()
    assert [left["text"] for left in shown["errors_left"]] == ["Flusses"]
    assert shown["not_fixed"] == [1]
    assert "1 major error not fixed" in row["why"]
    assert approved["errors_left"] == []  # a person finds the text right


async def test_what_the_last_judge_finds_missing_is_named(tmp_path: Path) -> None:
    given = "Die Bank ist alt."
    chain = edited(segment("s", "The bank of the river is old.", given), "Das Ufer ist alt.")
    missing = error("of the river", "of the river", category="accuracy/omission", side="omission")
    step = chain.steps[0].model_copy(update={"ratings": (rating(-3, missing, role="after"),)})
    chain = chain.model_copy(update={"steps": (step,)})
    with Store(save(tmp_path, "run", [chain], logged=False)) as store:
        async with asking(store) as client:
            (row,) = ReviewQueue(store, ["run"]).rows(0, -1)
            shown = (await client.get("/api/segments/0/0")).json()
    assert [left["text"] for left in shown["errors_left"]] == ["of the river"]
    assert "1 major error not fixed" in row["why"]


# --- the queue


def judged(name: str, before: float, after: float, *, kept: bool) -> Chain:
    """A sentence that a judge scored before and after it was edited."""
    edit = Edit(old="old", new="new", outcome="applied" if kept else "rejected", start=0, end=3)
    step = Step(
        stage="postedit",
        text="new" if kept else "old",
        proposed="new",
        edits=(edit,),
        verdict="kept" if kept else "rejected",
        cause=DecidedCause(kind="scores", judgements=(Judgement(judge="judge", before=before, after=after),)),
    )
    return Chain(segment=segment(name, "source", "old"), steps=(step,))


def test_what_is_most_likely_wrong_comes_first(tmp_path: Path) -> None:
    failed = Step(stage="postedit", text="old", verdict="failed", cause=ErrorCause(error="ServerError"))
    chains = [
        judged("surely kept", 0, 9, kept=True),
        judged("hardly kept", 0, 1, kept=True),
        judged("surely rejected", 9, 0, kept=False),
        judged("rejected, though better", 0, 4, kept=False),
        Chain(segment=segment("failed", "source", "old"), steps=(failed,)),
        Chain(segment=segment("none", "source", None)),
        Chain(segment=segment("untouched", "source", "old")),
    ]
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        rows = sorted(ReviewQueue(store, ["run"]).rows(0, -1), key=lambda row: (-row["worth"], row["position"]))
    assert [row["id"] for row in rows] == [
        "none",
        "failed",
        "rejected, though better",
        "hardly kept",
        "surely kept",
        "surely rejected",
        "untouched",
    ]
    assert [row["why"] for row in rows[:3]] == [
        ["no translation"],
        ["postedit failed"],
        ["rejected: the judge prefers the new text (0 → 4)"],
    ]
    assert rows[-1]["worth"] == 0


def with_errors(name: str, *severities: Severity, by: Stage = "rules", later: Sequence[Step] = ()) -> Chain:
    """A segment in which a stage found an error of each of ``severities`` and corrected none."""
    errors = tuple(
        ErrorSpan(text=f"{number}", category="accuracy/mistranslation", severity=severity)
        for number, severity in enumerate(severities)
    )
    rating = Rating(evaluator="e", score=0, errors=errors, role="editor")
    found = Step(stage=by, text="0 1 2", verdict="unchanged", cause=PlainCause(kind="no-edit"), ratings=(rating,))
    return Chain(segment=segment(name, "source", "0 1 2"), steps=(found, *later))


def test_errors_that_nobody_fixed_come_first_with_the_most_severe_ones_and_are_the_first_reason(tmp_path: Path) -> None:
    no_error = Rating(evaluator="e", score=0, errors=(), role="editor")
    overlooked = Step(
        stage="postedit", text="0 1 2", verdict="unchanged", cause=PlainCause(kind="error-free"), ratings=(no_error,)
    )
    reworded = Step(stage="proofread", text="one", proposed="one", verdict="kept", cause=PlainCause(kind="unchecked"))
    corrected = Step(stage="rules", text="new", proposed="new", verdict="kept", cause=PlainCause(kind="unchecked"))
    chains = [
        judged("tie", 5, 5, kept=True),
        with_errors("minor", "minor"),
        with_errors("major", "minor", "major", later=[overlooked]),
        with_errors("critical", "critical", by="postedit"),
        with_errors("reworded", "critical", later=[overlooked, reworded]),
        Chain(segment=segment("rules", "source", "old"), steps=(corrected,)),
    ]
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        rows = sorted(ReviewQueue(store, ["run"]).rows(0, -1), key=lambda row: (-row["worth"], row["position"]))
    assert [(row["id"], row["why"]) for row in rows] == [
        ("critical", ["1 critical error not fixed"]),
        ("major", ["1 major and 1 minor error not fixed"]),
        ("tie", ["kept: the judge scores both texts 5"]),
        ("minor", ["1 minor error not fixed"]),
        ("reworded", ["kept: no judge was asked"]),
        ("rules", []),
    ]


def test_the_strongest_reason_is_the_first(tmp_path: Path) -> None:
    failed = Step(stage="proofread", text="0 1 2", verdict="failed", cause=ErrorCause(error="ServerError"))
    with Store(save(tmp_path, "run", [with_errors("s", "minor", later=[failed])], logged=False)) as store:
        (row,) = ReviewQueue(store, ["run"]).rows(0, -1)
    assert row["why"] == ["proofread failed", "1 minor error not fixed"]


def test_the_queue_knows_new_decisions(store: Store) -> None:
    review = ReviewQueue(store, ["run", "run"])
    assert review.names == ["run"]
    first = review.rows(0, -1)
    assert {row["decided"] for row in first} == {"no"}
    row = next(row for row in first if row["id"] == "zeta")
    seen = review.segment(0, row["position"])[0]
    review.decide(0, row["position"], Decision(segment="", verdict="accept"), version=0, seen=fingerprint(seen.chain))
    decided = [row for row in review.rows(0, -1) if row["decided"] == "all"]
    assert [(row["id"], row["version"]) for row in decided] == [("zeta", review.segment(0, row["position"])[1])]


def test_the_queue_is_read_in_parts_with_equal_worth_in_each(tmp_path: Path) -> None:
    """All segments differ in their judge's difference; the scale is the run's, not the part's."""
    number = PART + 20
    chains = [judged(f"{place}", 0, 1 + place % 50, kept=True) for place in range(number)]
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        review = ReviewQueue(store, ["run"])
        assert review.segments() == (number, number)
        parts = [review.rows(0, after) for after in (-1, PART - 1, number - 1)]
        log = store.decisions("run")
        for place in (3, number - 1):
            said = Decision(segment=f"{place}", verdict="accept")
            log.append([(place, DecidedRun(store, "run").checked(chains[place], said, ()))])
        later = review.rows(0, PART - 1)
    assert [len(part) for part in parts] == [PART, 20, 0]
    rows = parts[0] + parts[1]
    assert [row["position"] for row in rows] == list(range(number))
    assert len({(row["position"] % 50, row["worth"]) for row in rows}) == 50
    assert [row["decided"] for row in later] == ["no"] * 19 + ["all"]


def test_a_judge_of_few_segments_counts_in_the_queue_of_a_large_run(tmp_path: Path) -> None:
    """The typical difference is that of some segments from all over the run; a judge may be in none of them."""
    chains = [judged("first", 0, 1, kept=True), *(Chain(segment=segment("none", "source", "old")) for _ in range(6000))]
    other = DecidedCause(kind="scores", judgements=(Judgement(judge="rare", before=0, after=5),))
    step = chains[0].steps[0].model_copy(update={"cause": other})
    chains[1] = chains[0].model_copy(update={"steps": (step,)})
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        rows = ReviewQueue(store, ["run"]).rows(0, -1)
    assert rows[1]["worth"] == rows[0]["worth"] > 0


# --- what the gate can learn


async def test_the_page_says_when_the_gate_is_worth_learning(tmp_path: Path) -> None:
    """A judge that is right three times of four, where half of the edits are good; people decide as they are."""
    chains = []
    for number in range(240):
        good, right = number % 2 == 0, number % 4 != 1
        difference = (3.0 if good == right else -3.0) + number % 7 / 10
        chain = judged(f"{number}", 0, difference, kept=True)
        own = {"document": f"d{number}", "source": f"source {number}"}
        chains.append(chain.model_copy(update={"segment": chain.segment.model_copy(update=own)}))
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        async with asking(store) as client:

            async def said(upto: int) -> dict[str, Any]:
                queue = ReviewQueue(store, ["run"])
                for position in range(upto):
                    result, version = queue.segment(0, position)
                    verdict = Decision(segment="", edit=1, verdict="accept" if position % 2 == 0 else "reject")
                    queue.decide(0, position, verdict, version=version, seen=fingerprint(result.chain))
                (found,) = (await client.get("/api/gates")).json()
                return dict(found)

            few, early, enough = await said(20), await said(32), await said(240)
    assert few["paragraphs"] == [
        "The gate cannot learn from the decisions yet: you have decided on 20 edited texts (10 accepted, 10 rejected); "
        "at least 30 are needed to learn from; 200 are recommended (an edited text is what one stage made of a "
        "segment; it counts once all its edits are decided on)."
    ]
    assert early["paragraphs"][0].startswith("You have decided on 32 edited texts (16 accepted, 16 rejected); 200 are")
    assert re.match(r"Decisions on about \d+ edited texts would show whether the gate is", early["paragraphs"][-2])
    assert enough["paragraphs"][-2] == "Your decisions are enough to show that the gate is better than keeping no edit."
    for told in (few, early, enough):
        assert told["commands"][0] == "mtagent gate calibrate --run run --decisions -o gate.json"
    # The command tells the same in the same words.
    calibrated = run(tmp_path, "gate", "calibrate", "--run", "run", "--decisions")
    assert calibrated.code == 0, calibrated.err
    printed = [line.removeprefix("mtagent:").strip() for line in calibrated.err.splitlines()]
    words = " ".join(enough["paragraphs"]).casefold()
    start = next(number for number, line in enumerate(printed) if line.startswith("what this gate does"))
    for line in printed[start : start + 7]:
        assert line.casefold() in words
    assert printed[start + 6] == "your decisions are enough to show that the gate is better than keeping no edit"


async def test_nobody_is_asked_for_more_decisions_or_a_next_run_where_every_edit_can_be_kept(tmp_path: Path) -> None:
    """A judge that knows nothing, and edits that people nearly always accept."""
    chains = []
    for number in range(240):
        difference = (3.0 if number % 3 else -3.0) + number % 7 / 10
        chain = judged(f"{number}", 0, difference, kept=True)
        judgement = Judgement(judge="judge", signature="judge|v:1", before=0, after=difference)
        step = chain.steps[0].model_copy(update={"cause": DecidedCause(kind="scores", judgements=(judgement,))})
        other = chain.segment.model_copy(update={"source": f"source {number}"})
        chains.append(Chain(segment=other, steps=(step,)))
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        queue = ReviewQueue(store, ["run"])
        for position in range(220):
            result, version = queue.segment(0, position)
            verdict = Decision(segment="", edit=1, verdict="reject" if position % 20 == 0 else "accept")
            queue.decide(0, position, verdict, version=version, seen=fingerprint(result.chain))
        async with asking(store) as client:
            (found,) = (await client.get("/api/gates")).json()
    *_, outlook, advice, command = found["paragraphs"]
    assert outlook.endswith("better than keeping every edit, and more decisions would hardly change that.")
    assert advice == "A run like this needs no gate: --gate guards keeps every edit that does no damage."
    assert command.startswith("This command makes the gate all the same.")
    assert found["commands"] == ["mtagent gate calibrate --run run --decisions -o gate.json"]
    # The command tells the same in the same words, and nothing after it.
    calibrated = run(tmp_path, "gate", "calibrate", "--run", "run", "--decisions", "-o", "gate.json")
    assert calibrated.code == 0, calibrated.err
    printed = [line.removeprefix("mtagent:").strip() + "." for line in calibrated.err.splitlines()]
    assert [line.casefold() for line in printed[-2:]] == [outlook.casefold(), advice.casefold()]


def test_decisions_on_two_documents_do_not_show_that_a_run_needs_no_gate(tmp_path: Path) -> None:
    chains = []
    for number in range(40):
        difference = (3.0 if number % 2 else -3.0) + number % 7 / 10
        chain = judged(f"{number}", 0, difference, kept=True)
        judgement = Judgement(judge="judge", signature="judge|v:1", before=0, after=difference)
        step = chain.steps[0].model_copy(update={"cause": DecidedCause(kind="scores", judgements=(judgement,))})
        more = {"source": f"source {number}", "document": f"document {number % 2}"}
        chains.append(Chain(segment=chain.segment.model_copy(update=more), steps=(step,)))
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        queue = ReviewQueue(store, ["run"])
        for position in range(40):
            result, version = queue.segment(0, position)
            verdict = Decision(segment="", edit=1, verdict="accept" if position % 2 else "reject")
            queue.decide(0, position, verdict, version=version, seen=fingerprint(result.chain))
        (found,) = queue.gates(store)
    words = " ".join(found["paragraphs"])
    assert "0.50 if the judge decides alone" in words
    assert "The edits come from too few documents" in words
    assert "200 decided edited texts are recommended; these do not show that the gate is better" in words
    assert "needs no gate" not in words


async def test_the_segments_from_which_the_gate_learns_most_come_without_those_that_are_labelled(
    tmp_path: Path,
) -> None:
    chains = [judged(f"{number}", 0, 0.1 + number, kept=True) for number in range(30)]
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        async with asking(store) as client:
            (first,) = (await client.get("/api/worth-labelling")).json()
            assert sorted(first, key=int) == [f"{number}" for number in range(30)]
            assert first[0] == "29", "the largest difference tells most"
            await client.post("/api/decide", json={**await place(client, "29"), "edit": 1, "verdict": "accept"})
            (second,) = (await client.get("/api/worth-labelling")).json()
            assert "29" not in second
            assert len(second) == 29


async def test_decisions_on_several_segments_are_written_together_except_where_somebody_was_faster(
    store: Store,
) -> None:
    async with asking(store) as client:
        places = {name: await place(client, name) for name in ("bank", "worse", "zeta")}

        def entry(name: str, *decisions: dict[str, Any], **changes: Any) -> dict[str, Any]:
            shown = {key: places[name][key] for key in ("position", "version", "seen")}
            return {**shown, "decisions": list(decisions), **changes}

        await client.post("/api/decide", json={**places["worse"], "verdict": "reject"})
        reject, accept = {"edit": 1, "verdict": "reject"}, {"verdict": "accept"}
        batch = [entry("bank", reject, accept), entry("worse", accept), entry("zeta", accept), entry("zeta", accept)]
        bank, worse, zeta, again = (await client.post("/api/decide-all", json={"run": 0, "segments": batch})).json()
        assert [len(state["made"]) for state in (bank, worse, zeta)] == [2, 0, 1]
        assert (bank["text"], bank["decided"]) == ("Die Bank des Flusses.", "all")
        assert again["made"] == zeta["made"], "a segment that is named twice is decided once"
        repeated = (await client.post("/api/decide-all", json={"run": 0, "segments": batch[:3]})).json()
        assert repeated == [bank, worse, zeta], "the page did not receive the answer and asked again"
        histories = store.decisions("run").histories()
        assert [(d.edit, d.verdict, d.who) for d in histories[places["bank"]["position"]]] == [
            (1, "reject", "ana"),
            (None, "accept", "ana"),
        ]
        assert len(histories[places["worse"]["position"]]) == len(histories[places["zeta"]["position"]]) == 1
        undo = [
            {"edit": e, "verdict": "undecided", "withdraws": made}
            for e, made in zip((1, None), bank["made"], strict=True)
        ]
        undone = entry("bank", *reversed(undo), version=bank["version"])
        (bank,) = (await client.post("/api/decide-all", json={"run": 0, "segments": [undone]})).json()
        assert (bank["text"], bank["decided"]) == ("Das Ufer des Flusses.", "no")


async def test_an_undo_of_decisions_together_leaves_out_what_was_withdrawn_elsewhere(store: Store) -> None:
    async with asking(store) as client:
        batch = []
        for name in ("bank", "zeta"):
            shown = {key: (await place(client, name))[key] for key in ("position", "version", "seen")}
            batch.append({**shown, "decisions": [{"verdict": "accept"}]})
        made = (await client.post("/api/decide-all", json={"run": 0, "segments": batch})).json()
        decide(store, "run", "undecided", ["bank"])
        undo = []
        for state, name in zip(made, ("bank", "zeta"), strict=True):
            shown = {key: (await place(client, name))[key] for key in ("position", "version", "seen")}
            undo.append({**shown, "decisions": [{"verdict": "undecided", "withdraws": state["made"][0]}]})
        answer = await client.post("/api/decide-all", json={"run": 0, "segments": undo})
        assert answer.status_code == 200, answer.text
        bank, zeta = answer.json()
        assert (bank["made"], bank["decided"]) == ([], "no")
        assert (len(zeta["made"]), zeta["decided"]) == (1, "no")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"decisions": []}, 422), ({"decisions": [{"verdict": "accept", "edit": 9}]}, 400),
        ({"decisions": [{"verdict": "text", "text": "\ud800"}]}, 422), ({"position": 99}, 410),
        ({"decisions": [{"verdict": "accept", "who": "eve"}]}, 422), ({"more": 1}, 422),
    ],
)  # fmt: skip
async def test_a_batch_with_one_bad_decision_writes_nothing(change: dict[str, Any], status: int, store: Store) -> None:
    async with asking(store) as client:
        good, other = [
            {key: (await place(client, name))[key] for key in ("position", "version", "seen")}
            for name in ("bank", "zeta")
        ]
        accept = {"decisions": [{"verdict": "accept"}]}
        headers = {"content-type": "application/json"}
        segments = [{**good, **accept}, {**other, **accept, **change}]
        answer = await client.post(
            "/api/decide-all", content=json.dumps({"run": 0, "segments": segments}), headers=headers
        )
        assert answer.status_code == status, answer.text
        assert store.decisions("run").histories() == {}


async def test_decisions_are_taken_while_the_gate_learns(tmp_path: Path) -> None:
    chains = [judged(f"{number}", 0, 3.0 - 6 * (number % 3 == 0), kept=True) for number in range(600)]
    with Store(save(tmp_path, "run", chains, logged=False)) as store:
        run, log = DecidedRun(store, "run"), store.decisions("run")
        verdicts = [Decision(segment=chain.segment.id, edit=1, verdict="accept") for chain in chains]
        log.append([(at, run.checked(chains[at], said, ())) for at, said in enumerate(verdicts[:-1])])
        async with asking(store) as client:
            about = await place(client, "599", after=597)
            gates = asyncio.create_task(client.get("/api/gates"))
            await asyncio.sleep(0.05)
            answer = await client.post("/api/decide", json={**about, "verdict": "accept"})
            assert not gates.done()
            assert answer.status_code == 200
            assert (await gates).status_code == 200


# --- the command


@pytest.mark.loopback
def test_a_store_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    save(tmp_path, "run", varied(), logged=False)
    (tmp_path / "store.db-shm").mkdir()  # as on read-only media, SQLite cannot make its own files
    done = run(tmp_path, "review", "run", "--no-browser", "--port", "0", "--idle", "1s")
    assert done.code == 0
    assert re.search(r"mtagent: cannot store decisions now, so they wait in the browser: .* is read-only", done.err)


def test_ctrl_c_while_it_is_loaded_is_not_lost_in_a_finalizer(tmp_path: Path) -> None:
    save(tmp_path, "run", varied(), logged=False)
    interrupted = """import os, signal, time
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
Last()
raise ModuleNotFoundError('not here', name='fastapi')"""
    (tmp_path / "fastapi.py").write_text(interrupted, encoding="utf-8")
    done = run(tmp_path, "review", "run", "--no-browser")
    assert (done.code, done.last.startswith("mtagent: stopped")) == (130, True)


@pytest.mark.loopback
def test_the_command_tells_its_address_and_ends_by_itself(tmp_path: Path) -> None:
    save(tmp_path, "run", varied(), logged=False)
    command = [sys.executable, "-m", "mtagent", "review", "run", "--no-browser", "--port", "0", "--idle", "1s"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path / "store.db"), text=True, capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert re.search(r"review at http://127\.0\.0\.1:\d+/#[\w-]{43}\n", done.stderr)


@pytest.mark.loopback
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_demo_on_a_terminal_serves_its_review_until_ctrl_c(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    given = environment(tmp_path / "store.db")
    for display in ("DISPLAY", "WAYLAND_DISPLAY"):
        given.pop(display, None)
    keyboard, stdin = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mtagent", "demo", "--pages", "pages"],
        cwd=tmp_path, env=given, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = ""
        while "Ctrl-C stops it" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        found = re.search(r"review at (http://127\.0\.0\.1:\d+)/#[\w-]{43}\n", said)
        assert found is not None
        assert httpx.get(found[1], timeout=10).status_code == 200
        process.send_signal(signal.SIGINT)
        process.wait(30)
    os.close(stdin)
    os.close(keyboard)
    assert f"report at {(tmp_path / 'pages' / 'report.html').as_uri()}" in said


def test_a_run_that_is_not_there_or_holds_ratings_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "run", varied(), logged=False)
    done = run(tmp_path, "review", "rum", "--no-browser", "--port", "0")
    assert (done.code, "did you mean 'run'" in done.err) == (1, True)


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    save(tmp_path, "run", varied(), logged=False)
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('not here', name='fastapi')", encoding="utf-8")
    done = run(tmp_path, "review", "run", "--no-browser")
    assert (done.code, done.last) == (
        1, "mtagent: mtagent review needs an optional package: pip install 'mtagent[serve]'"
    )  # fmt: skip
