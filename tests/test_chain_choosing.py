"""Several texts for one place: candidates of other systems, and several proposals of the post-editor."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent import Agent
from mtagent.chain.calibration import CautiousPoint, ExpectedGain, JudgeWeight
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import Gate, OpenGate, PairwiseJudge, PanelGate, RateGate, RatingJudge
from mtagent.errors import ConfigError, EvaluationError, ServerError
from mtagent.evaluators.pairwise import Pairwise
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Call, Chain, Completion, Message, Rating, Segment, Step, Term, Usage
from mtagent.store import Store
from tests.codes import without_codes
from tests.commands import Shell, run
from tests.jobs import improve as improve_files

SOURCE = "The bridge is closed."
TEXTS = ("El puente está cerrado.", "El puente cerró.", "Puente cerrado.", "Está cerrado el puente.")
BEFORE, BETTER, BEST, OTHER = TEXTS


class Judge:
    """Scores texts from a table, at one call each."""

    name = signature = "judge"

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores, self.asked = scores, list[str]()

    async def rate(self, segment: Segment, translation: str) -> Rating:
        self.asked.append(translation)
        await asyncio.sleep(0)
        call = Call(purpose="judge", model="m", usage=Usage(calls=1))
        return Rating(evaluator=self.name, score=self.scores[translation], signature=self.signature, calls=(call,))


def segment(*candidates: str, **fields: Any) -> Segment:
    known = {"source": SOURCE, "translation": BEFORE, **fields}
    return Segment(id="1", source_lang="en", target_lang="es", candidates=candidates, **known)


async def reranked(gate: Gate, *candidates: str, **fields: Any) -> Step:
    (step,) = (await improve(segment(*candidates, **fields), Plan(("rerank",), gate=gate))).steps
    return step


def gain_gate(judge: Judge, *, scale: float = 1.0, cautious: float | None = None) -> PanelGate:
    weight = JudgeWeight(judge="judge", signature="judge", scale=1, weight=2)
    points = (CautiousPoint(chance_of_worse=0.25, worse=0.2, kept=0.3),)
    gain = ExpectedGain(
        intercept=-1, judges=(weight,), scale=scale, tie_band=0, ridge=0.3, calibrated_on=200, cautious=points
    )
    return PanelGate(RatingJudge(judge), gain=gain, cautious=cautious)


def comparing(llm: ScriptedLLM) -> PanelGate:
    return PanelGate(PairwiseJudge(Pairwise(llm)))


def by_length(messages: Sequence[Message], purpose: str) -> str:
    """Prefers the shorter text in any order."""
    asked = without_codes(messages[-1].content)
    a, b = (asked.split(f"<translation_{side}>")[1].split("</")[0] for side in "ab")
    return json.dumps({"better": "tie" if len(a) == len(b) else "A" if len(a) < len(b) else "B"})


# --- which one is kept


@given(
    st.lists(st.integers(-3, 3), min_size=4, max_size=4),
    st.lists(st.sampled_from([*TEXTS, "", "A note: I cannot translate this."]), min_size=1, max_size=6),
    st.sampled_from(["rate", "gain"]),
)
async def test_the_kept_text_is_a_candidate_or_the_text_before_and_the_best_by_the_judge(
    scores: list[int], candidates: list[str], kind: str
) -> None:
    judge = Judge(dict(zip(TEXTS, scores, strict=True)))
    gate = RateGate(judge) if kind == "rate" else gain_gate(judge)
    chain = await improve(segment(*candidates), Plan(("rerank",), gate=gate))
    rivals = {text for text in candidates if text in TEXTS} - {BEFORE}
    needed = 0 if kind == "rate" else 0.25  # a gain of 2 x root of 0.25 - 1
    better = [text for text in rivals if judge.scores[text] > judge.scores[BEFORE] + needed]
    if better:
        assert chain.text in better
        assert judge.scores[chain.text] == max(judge.scores[text] for text in better)
        assert chain.steps[0].cause.chosen == candidates.index(chain.text) + 1, "of equals the first"
    else:
        assert chain.text == BEFORE
    if any(candidates):
        assert chain.text in {BEFORE, *candidates}
        assert sorted(judge.asked) == sorted({BEFORE, *rivals} if rivals else []), "each text is rated once"
        assert chain.usage.calls == len(judge.asked)
        assert len(chain.steps[0].cause.candidates) == len(candidates)
    else:
        assert not chain.steps


async def test_a_comparing_judge_has_each_challenge_the_best_so_far_at_two_calls() -> None:
    llm = ScriptedLLM(by_length)
    step = await reranked(comparing(llm), BETTER, OTHER, BETTER, BEST)
    assert (step.verdict, step.text, step.cause.chosen) == ("kept", BEST, 4)
    assert len(llm.requests) == step.usage.calls == 6, "equal candidates are judged once"
    assert [cause.against for cause in step.cause.candidates] == [None, 1, None, 1]
    choices = [cause.judgements[0].choices[0] for cause in step.cause.candidates]
    assert choices == ["after", "before", "after", "after"]
    assert step.reason.startswith("candidate 4 of 4 kept: 1: scripted, comparing both texts: prefers the new text")
    assert " | 2 against 1: scripted, comparing both texts: prefers the earlier text" in step.reason


@pytest.mark.parametrize("kind", ["rate", "gain"])
async def test_a_judge_that_fails_on_one_candidate_leaves_the_others_to_choose_from(kind: str) -> None:
    class Failing(Judge):
        async def rate(self, segment: Segment, translation: str) -> Rating:
            if translation not in self.scores:
                error = EvaluationError("no reply")
                error.calls = (Call(purpose="judge", model="m", usage=Usage(calls=1)),)
                raise error
            return await super().rate(segment, translation)

    def gate(scores: dict[str, float]) -> PanelGate:
        return RateGate(Failing(scores)) if kind == "rate" else gain_gate(Failing(scores))

    step = await reranked(gate({BEFORE: 0, OTHER: 4}), BETTER, OTHER, BEST)
    assert (step.verdict, step.text, step.cause.chosen) == ("kept", OTHER, 2)
    assert [cause.kind == "error" for cause in step.cause.candidates] == [True, False, True]
    assert ": no reply" in step.reason
    assert [rating.role for rating in step.ratings] == ["before", "after"]
    assert step.usage.calls == 4
    failed = await reranked(gate({BEFORE: 0, OTHER: -4}), BETTER, OTHER)
    assert (failed.verdict, failed.text, failed.cause.error) == ("failed", BEFORE, "EvaluationError"), "to be retried"
    assert failed.usage.calls == 3


async def test_a_calibrated_gain_holds_all_against_the_text_before_and_says_each_gain() -> None:
    judge = Judge({BEFORE: 0, BETTER: 1, BEST: 9, OTHER: 4})  # the gain goes by the root
    step = await reranked(gain_gate(judge), BETTER, BEST, OTHER)
    assert (step.text, step.cause.gain) == (BEST, 5)
    assert [(cause.gain, cause.against) for cause in step.cause.candidates] == [(1, None), (5, None), (3, None)]
    assert step.reason == (
        "candidate 2 of 3 kept: 1: expected gain +1: judge 0 -> 1 | 2: expected gain +5: judge 0 -> 9 | "
        "3: expected gain +3: judge 0 -> 4"
    )
    unsure = await reranked(gain_gate(Judge(judge.scores), scale=10, cautious=0.2), BETTER, BEST)
    assert (unsure.verdict, unsure.text, unsure.cause.chosen, unsure.cause.gain) == ("rejected", BEFORE, None, 5)
    assert unsure.reason.startswith("none of 2 kept: 1: expected gain +1 (46% likely worse; 25% allowed)")


async def test_the_step_has_the_difference_as_edits_and_each_rating_with_its_role() -> None:
    judge = Judge({BEFORE: 0, BETTER: 1, BEST: 3, OTHER: 2})
    step = await reranked(RateGate(judge), BETTER, BEST, OTHER)
    assert [(edit.old, edit.new, edit.outcome) for edit in step.edits] == [(BEFORE, BEST, "applied")]
    roles = [(rating.role, rating.score) for rating in step.ratings]
    assert roles == [("before", 0), ("try", 1), ("after", 3), ("try", 2)]
    assert step.rating("after") is not None
    step = await reranked(RateGate(Judge(dict.fromkeys(TEXTS, 0))), BETTER, BEST)
    assert (step.verdict, step.text, {edit.outcome for edit in step.edits}) == ("rejected", BEFORE, {"rejected"})


async def test_guards_look_at_each_candidate_and_say_what_they_have_against_it() -> None:
    judge = Judge({BEFORE: 0, BETTER: -1})
    talk = "I'm sorry, but I cannot translate this text."
    step = await reranked(RateGate(judge), talk, "", BEFORE, "Dos\nlíneas.", BETTER)
    assert step.verdict == "rejected"
    assert [cause.kind for cause in step.cause.candidates] == ["guards", "missing", "no-edit", "lines", "scores"]
    assert "none of 5 kept: 1: guards: length: the text speaks of" in step.reason
    assert judge.asked == [BEFORE, BETTER]
    step = await reranked(RateGate(judge), talk, "")
    assert (step.verdict, step.cause.kind, step.cause.guards) == ("rejected", "guards", ("length",))
    step = await reranked(RateGate(judge), "", BEFORE)
    assert (step.verdict, step.text, step.reason) == (
        "unchanged",
        BEFORE,
        "none of 2 kept: 1: no text | 2: no edit",
    )
    keep = (Term(source="Nike"),)
    step = await reranked(
        RateGate(judge), "La Victoria vende.", source="Nike sells.", translation="Nike vende.", terms=keep
    )
    assert step.cause.guards == ("terms",)


async def test_what_was_paid_before_a_judge_failed_is_counted() -> None:
    llm = ScriptedLLM(['{"better": "A"}', '{"better": "B"}', '{"better": "A"}', ServerError("down")])
    step = await reranked(comparing(llm), BETTER, BEST)
    assert (step.verdict, step.text, step.usage.calls) == ("failed", BEFORE, 3)


async def test_a_gate_of_the_users_own_chooses_by_its_word_on_two_texts() -> None:
    class Longest:
        name = "longest"

        async def decide(self, segment: Segment, before: str, after: str, rate: Any) -> Any:
            decision = await OpenGate("guards").decide(segment, before, after, rate)
            return decision._replace(keep=len(after) > len(before))

    step = await reranked(Longest(), BEFORE + " Ya.", BEFORE + " Hoy ya.", BEST)
    assert (step.text, step.cause.chosen) == (BEFORE + " Hoy ya.", 2)


@pytest.mark.parametrize("gate", ["none", "guards"])
async def test_a_gate_without_a_judge_cannot_choose(gate: str) -> None:
    with pytest.raises(ConfigError, match=f"the gate {gate} calls no judge, so it can't choose .* set judge"):
        await reranked(OpenGate(gate), BETTER)


@pytest.mark.parametrize("gate", ["none", "guards"])
def test_nor_can_it_choose_among_proposals(gate: str) -> None:
    with pytest.raises(ConfigError, match="can't choose the best of several texts"):
        Agent(gate=gate, stages="pe", proposals=2).postedit([SOURCE], [BEFORE], "en", "es")


# --- from Python, and in files


def test_an_agent_looks_at_candidates_before_it_edits_and_skips_the_stage_where_there_are_none() -> None:
    agent = Agent(evaluator="rules", judge="rules", stages=None)
    chains = agent.improve([segment("El puente está cerrado", translation="El  puente está cerrado"), segment()])
    assert [[step.stage for step in chain.steps] for chain in chains] == [["rerank", "postedit"], ["postedit"]]
    assert chains[0].steps[0].text == "El puente está cerrado"
    assert [chain.text for chain in chains] == [BEFORE, BEFORE]


def files(shell: Shell) -> None:
    shell.write("en.txt", SOURCE, "Hello big world.", "It rains here.")
    shell.write("es.txt", "El  puente está cerrado", "Hola gran mundo.", "Aquí llueve")
    shell.write("a.txt", "El puente está cerrado", "", "No puedo traducir este texto, soy un modelo de lenguaje.")
    shell.write("b.txt", "El puente está cerrado.", "Hola  mundo", "Aquí llueve.")


CANDIDATES = "--candidate a.txt --candidate b.txt --judge rules"


def test_files_of_candidates_are_chosen_from_line_by_line_and_the_run_resumes(shell: Shell) -> None:
    files(shell)
    done = shell.postedit(f"{CANDIDATES} -o o.txt --details d.jsonl --name mine")
    assert done.code == 0, done.err
    assert shell.read("o.txt") == ["El puente está cerrado.", "Hola gran mundo.", "Aquí llueve."]
    steps = [line["stages"][0] for line in shell.objects("d.jsonl")]
    assert [(step["stage"], step["verdict"], step["cause"].get("chosen")) for step in steps] == [
        ("rerank", "kept", 2), ("rerank", "rejected", None), ("rerank", "kept", 2)
    ]  # fmt: skip
    assert [cause["kind"] for cause in steps[1]["cause"]["candidates"]] == ["missing", "scores"]
    with Store(shell.folder / "store.db") as store:
        first = next(iter(store.read("mine").chains()))
    assert first.segment.candidates == ("El puente está cerrado", "El puente está cerrado.")
    assert "candidate 2 of 2 kept" in shell("runs show mine 1").out
    assert "rerank" in shell("compare mine").out
    assert "| rerank | changed | candidate 2 | 2 |" in shell("report mine --format markdown").out
    assert shell("export mine --format stages -o texts").code == 0
    assert shell.read("texts/mine.rerank.txt") == shell.read("o.txt")
    assert shell.postedit(f"{CANDIDATES} -o o.txt --details d.jsonl --name mine").code == 0
    shell.write("b.txt", "Otra.", "Otra.", "Otra.")
    done = shell.postedit(f"{CANDIDATES} -o o.txt --details d.jsonl --name mine")
    assert done.code == 1
    assert "candidate 2" in done.last


def test_a_run_without_candidates_keeps_the_name_it_always_had(shell: Shell) -> None:
    assert shell.postedit("-o o.txt --name plain").code == 0
    assert shell.runs()["plain"].settings["stages"] == ["postedit"]
    assert shell.postedit(f"{CANDIDATES.replace('a.txt', 'es.txt').replace('b.txt', 'es.txt')} -o p.txt").code == 0
    (other,) = (run for name, run in shell.runs().items() if name != "plain")
    assert other.settings["stages"] == ["rerank", "postedit"]


def test_a_translation_is_made_first_and_then_held_against_the_candidates(shell: Shell) -> None:
    files(shell)
    done = shell(
        f"translate -s en.txt -l en-es -o o.txt --translator command:cat --stages t-r --skip-guards script {CANDIDATES}"
    )
    assert done.code == 0, done.err
    (run,) = shell.runs().values()
    assert run.settings["stages"] == ["translate", "rerank"]


def test_json_lines_hold_candidates_in_a_field(shell: Shell) -> None:
    rows = [{"source": SOURCE, "translation": "El  puente", "lp": "en-es", "candidates": [BEFORE, "El puente."]}]
    rows.append({"source": "It rains.", "translation": "Llueve.", "lp": "en-es"})
    shell.write("s.jsonl", *map(json.dumps, rows))
    line = "postedit -s s.jsonl --format jsonl-lenient --judge rules -o o.jsonl"
    assert shell(line).code == 0
    assert [row["translation"] for row in shell.objects("o.jsonl")] == [BEFORE, "Llueve."]
    assert shell(line.replace("--judge rules", "--gate guards")).last.startswith("mtagent: the gate guards calls no")
    shell.write("bad.jsonl", json.dumps({**rows[0], "candidates": "no list"}))
    assert "bad.jsonl:1: field 'candidates'" in shell(line.replace("s.jsonl", "bad.jsonl")).last


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--candidate short.txt --judge rules", r"different numbers of lines: .*en.txt has 3, .*short.txt has 2"),
        ("--candidate none.txt --judge rules", r"none.txt: no such file"),
        ("--candidate a.txt", r"the gate guards calls no judge, so it can't choose"),
        ("--candidate a.txt --judge rules --stages pe", r"a.txt: the stages postedit do not use candidates"),
        ("--candidate o.txt --judge rules --force", r"o.txt: the translation would overwrite this file"),
        (
            "--candidate a.txt --judge rules --details a.txt",
            r"a.txt: --details would overwrite the file of --candidate 1",
        ),
        ("--candidate a.csv --judge rules", r"a.csv: --candidate 1 is read line by line"),
    ],
)
def test_what_cannot_work_is_one_line_and_leaves_no_run(line: str, reason: str, shell: Shell) -> None:
    files(shell)
    for name in ("o.txt", "a.csv"):
        shell.write(name, *shell.read("a.txt"))
    shell.write("short.txt", "Uno.", "Dos.")
    done = shell.postedit(f"-o o.txt {line}")
    assert done.code == 1
    assert re.search(reason, done.last), done.last
    assert not shell.runs()


def test_candidates_beside_a_table_are_refused(shell: Shell) -> None:
    files(shell)
    shell.write("t.csv", "source,translation", "Hi,Hola")
    done = shell("postedit -s t.csv -l en-es -o o.csv --candidate a.txt --judge rules")
    assert "a.txt: a file of candidates needs a source that is read line by line" in done.last


def test_candidates_may_come_through_a_pipe(shell: Shell) -> None:
    files(shell)
    stdin = Path(shell.folder / "b.txt").read_text(encoding="utf-8")
    words = "postedit -s en.txt -t es.txt -l en-es -o o.txt --candidate a.txt --candidate - --judge rules"
    assert run(shell.folder, *words.split(), stdin=stdin).code == 0
    assert shell.read("o.txt")[2] == "Aquí llueve."


def rows(out: str) -> dict[str, str]:
    """The calls of each stage in a table of `mtagent estimate`."""
    return {line.split()[0]: line.split()[1] for line in out.splitlines()[1:]}


def test_the_estimate_counts_the_judges_on_candidates_and_every_proposal(shell: Shell) -> None:
    files(shell)
    words = "estimate -s en.txt -t es.txt -l en-es -q --count length --base-url http://localhost:1/v1"
    candidates = "--candidate a.txt --candidate b.txt"
    assert "rerank" not in rows(shell(words).out)
    assert rows(shell(f"{words} {candidates}").out)["rerank"] == "10", "five candidates, two calls each"
    assert rows(shell(f"{words} {candidates} --gate rate").out)["rerank"] == "8", "and the three texts before"
    single, triple = (rows(shell(f"{words} --stages pe --proposals {n}").out)["postedit"] for n in (1, 3))
    assert (single, triple) == ("3–9", "9–27"), "a rating and two comparisons for each"
    assert "calls no judge" in shell(f"{words} {candidates} --gate guards").last


# --- several proposals of the post-editor


def reply(*edits: tuple[str, str]) -> str:
    errors = [{"span": old, "category": "style", "severity": 2, "suggestion": new} for old, new in edits]
    return json.dumps({"errors": errors}, ensure_ascii=False)


def proposing(
    *replies: str, judge: Any, number: int = 2, text: str = BEFORE, **settings: Any
) -> tuple[Chain, ScriptedLLM]:
    llm = ScriptedLLM(replies)
    agent = Agent(llm=llm, stages="pe", judge=judge, proposals=number, **settings)
    (chain,) = agent.postedit([SOURCE], [text], "en", "es")
    llm.finish()
    return chain, llm


def test_the_best_of_several_proposals_is_kept_or_the_text_as_it_was() -> None:
    scores = {BEFORE: 0.0, BEFORE.replace("cerrado", "vallado"): 1.0, BEFORE.replace("cerrado", "clausurado"): 2.0}
    replies = reply(("cerrado", "vallado")), reply(("cerrado", "clausurado"))
    judge = Judge(scores)
    chain, _ = proposing(*replies, judge=judge)
    (step,) = chain.steps
    assert (step.text, step.cause.chosen) == (BEFORE.replace("cerrado", "clausurado"), 2)
    assert [(edit.old, edit.new, edit.outcome) for edit in step.edits] == [("cerrado", "clausurado", "applied")]
    editor = step.rating("editor")
    assert editor is not None
    assert [error.suggestion for error in editor.errors or ()] == ["clausurado"]
    assert [rating.role for rating in step.ratings] == ["editor", "editor", "before", "try", "after"]
    assert step.usage.calls == 2 + len(judge.asked) == 5
    chain, _ = proposing(*replies, judge=Judge({**scores, BEFORE: 3.0}))
    assert (chain.text, chain.steps[0].verdict) == (BEFORE, "rejected")
    assert chain.steps[0].reason == "none of 2 kept: 1: judge 3 -> 1: worse | 2: judge 3 -> 2: worse"


def test_equal_proposals_are_one_and_a_draw_without_errors_proposes_nothing() -> None:
    better = BEFORE.replace("cerrado", "vallado")
    judge = Judge({BEFORE: 0, better: 1})
    chain, _ = proposing(reply(("cerrado", "vallado")), reply(), reply(("cerrado", "vallado")), judge=judge, number=3)
    assert (chain.text, chain.steps[0].cause.candidates, judge.asked) == (better, (), [BEFORE, better])
    chain, _ = proposing(reply(), reply(), judge=Judge({}))
    assert chain.steps[0].reason == "no error found"


def test_the_guards_look_at_each_proposal() -> None:
    text = "Pague 5 euros."
    chain, _ = proposing(
        reply(("5", "7")), reply(("Pague", "Abone")), text=text, judge=Judge({text: 0, "Abone 5 euros.": 1})
    )
    assert chain.text == "Abone 5 euros."
    assert chain.steps[-1].cause.candidates[0].guards == ("numbers",)


def test_only_a_single_proposal_is_tried_in_parts() -> None:
    first, second = BEFORE.replace("puente", "viaducto"), BEFORE.replace("cerrado", "vallado")
    both = first.replace("cerrado", "vallado")
    edits = ("puente", "viaducto"), ("cerrado", "vallado")
    judge = Judge({BEFORE: 0, first: 1, second: -2, both: -1})
    chain, _ = proposing(reply(*edits), reply(*edits), judge=judge)
    assert (chain.text, chain.steps[0].cause.edits_kept) == (first, 1)
    chain, _ = proposing(reply(*edits), reply(edits[1]), judge=Judge(judge.scores))
    assert (chain.text, chain.steps[0].cause.edits_tried) == (BEFORE, 0)


def test_the_draws_of_a_run_are_kept_apart_in_the_store_and_recalled(shell: Shell) -> None:
    shell.write("en.txt", SOURCE)
    shell.write("es.txt", BEFORE)
    replies = [reply(("cerrado", "vallado")), reply(("cerrado", "clausurado"))]
    paid = [Completion(text=text, model="m", usage=Usage(calls=1)) for text in [*replies, *['{"better": "tie"}'] * 4]]
    llm = ScriptedLLM(paid)
    settings: dict[str, Any] = {"stages": "pe", "proposals": 2}
    assert improve_files("en.txt", "es.txt", llm=llm, **settings).settings["proposals"] == 2
    llm.finish()
    chains: list[Chain] = []
    improve_files("en.txt", "es.txt", "p.txt", llm=ScriptedLLM([]), on_chain=chains.append, run="again", **settings)
    assert [len(chain.steps[0].cause.candidates) for chain in chains] == [2]
    assert chains[0].usage.calls == 0


async def test_of_many_candidates_a_comparing_gate_sees_the_two_that_agree_most() -> None:
    odd = "Nadie sabe nada de eso."
    close = ("El puente está cerrado hoy.", "El puente ya está cerrado.")
    judge = Judge({BEFORE: 0, odd: 9, **dict.fromkeys(close, 1), BETTER: 2, OTHER: 3})
    step = await reranked(RateGate(judge), odd, *close, BETTER)
    assert (step.verdict, step.text) == ("kept", close[0])
    assert odd not in judge.asked
    kinds = [cause.kind for cause in step.cause.candidates]
    assert kinds == ["unasked", "scores", "scores", "unasked"]
    assert "1: no judge was called: two other candidates agree more with all others" in step.reason


async def test_a_gate_that_expects_a_gain_judges_all_candidates_each_by_its_own_gate() -> None:
    judge = Judge({BEFORE: 0, BETTER: 1, BEST: 4, OTHER: 4, "Cerrado.": 0})
    strict = gain_gate(judge)
    assert strict.gain is not None
    lenient = PanelGate(*strict.judges, gain=strict.gain.model_copy(update={"intercept": 50.0}))
    plan = Plan(("rerank",), gate=strict, candidate_gates={1: lenient})
    (step,) = (await improve(segment(BETTER, BEST, OTHER, "Cerrado."), plan)).steps
    assert (step.text, step.cause.chosen) == (BETTER, 1)
    assert len(set(judge.asked)) == 5
