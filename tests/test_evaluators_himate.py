"""HiMATE: nineteen agents, self-reflection, discussion; and what becomes of their findings."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import ConfigError, RatingParseError
from mtagent.evaluators.confidence import ConfidenceThreshold, file_of, write
from mtagent.evaluators.himate import PROMPTS, HiMATE
from mtagent.evaluators.typology import SUBTYPES, subtype_of
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Message, Rating, Segment, TokenLogprob, Usage

SEGMENT = Segment(id="1", source="The old clock on the wall stopped.", source_lang="en", target_lang="fr")
TEXT = "La vieille horloge sur la mure s'est arretée."
SPELLING, GRAMMAR, AWKWARD = "fluency/spelling", "fluency/grammar", "style/awkward"


@dataclass
class Panel:
    """Plays all agents: what each category's agent flags, how it corrects, and how sure it is of it.

    ``talk`` holds the replies of the discussions in order; of a purpose in ``unread`` the first ones cannot be read.
    ``sure=None``: the server gives no log-probabilities.
    """

    flagged: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    corrected: Mapping[str, str] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    sure: Mapping[str, float] | None = field(default_factory=dict)
    talk: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    percent: int = 80
    unread: Mapping[str, int] = field(default_factory=dict)

    def model(self) -> ScriptedLLM:
        turns, asked = Counter[str](), Counter[str]()

        def reply(messages: Sequence[Message], purpose: str) -> Completion | str:
            asked[purpose] += 1
            if asked[purpose] <= self.unread.get(purpose, 0):
                return "{}"
            step, _, category = purpose.partition(" ")
            if step == "evaluate":
                return json.dumps({"errors": self.flagged.get(category, [])})
            if step == "correct":
                return self.corrected[category]
            if step == "verify":
                return self._verdict(messages, category)
            turns[category] += 1
            return json.dumps(self.talk[category][turns[category] - 1])

        return ScriptedLLM(reply, model="m")

    def _verdict(self, messages: Sequence[Message], category: str) -> Completion | str:
        verdict = self.verdicts.get(category, "corrected")
        if "how sure you are" in messages[0].content:
            return f"{verdict}, {self.percent}"
        if self.sure is None:
            return verdict
        half = self.sure.get(category, -0.2) / 2
        tokens = tuple(TokenLogprob(token=token, logprob=half) for token in ("correct", "ed"))
        return Completion(text=verdict, model="m", usage=Usage(calls=1), logprobs=tokens)


def error(span: str, severity: str = "minor", **more: str) -> dict[str, Any]:
    return {"span": span, "before": "", "after": "", "explanation": "why", "severity": severity, **more}


def view(exists: bool, severity: str = "neutral", number: int = 1) -> dict[str, Any]:
    return {"number": number, "exists": exists, "severity": severity}


def opinion(*views: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"errors": list(views), "comment": "because", **more}


AGREE = {"agrees": True, "errors": [], "comment": "I am convinced."}
THREE = Panel(
    flagged={SPELLING: [error("arretée")], GRAMMAR: [error("la mure", "major")], AWKWARD: [error("sur la mure")]},
    corrected={
        SPELLING: "La vieille horloge sur la mure s'est arrêtée.",
        GRAMMAR: "La vieille horloge sur le mur s'est arretée.",
        AWKWARD: "La vieille horloge murale s'est arretée.",
    },
    verdicts={AWKWARD: "no difference"},
    sure={SPELLING: -0.01, GRAMMAR: -0.9},
    talk={GRAMMAR: [opinion(view(True, "minor")), AGREE]},
)


def steps(rating: Rating) -> Counter[str]:
    return Counter(call.purpose.partition(" ")[0] for call in rating.calls)


def kept(rating: Rating) -> list[tuple[str, str, str]]:
    assert rating.errors is not None
    return [(span.category, span.text, span.severity) for span in rating.errors]


async def test_nothing_flagged_takes_nineteen_calls_and_is_error_free() -> None:
    llm = Panel().model()
    rating = await HiMATE(llm).rate(SEGMENT, TEXT)
    assert (rating.score, rating.errors, rating.correction, rating.warnings) == (0, (), None, ())
    assert [request.purpose for request in llm.requests] == [f"evaluate {subtype.category}" for subtype in SUBTYPES]
    assert rating.usage.calls == 19


async def test_three_flagged_and_one_discussed() -> None:
    rating = await HiMATE(THREE.model(), threshold=-0.5).rate(SEGMENT, TEXT)
    assert steps(rating) == {"evaluate": 19, "correct": 3, "verify": 3, "discuss": 2}
    assert kept(rating) == [(SPELLING, "arretée", "minor"), (GRAMMAR, "la mure", "minor")]
    assert rating.score == -2
    assert rating.correction == "La vieille horloge sur le mur s'est arrêtée."
    assert rating.warnings == ()
    assert (rating.explanation or "").splitlines() == [
        "fluency/spelling: minor 'arretée'; reflection: corrected (-0.01); kept as minor",
        "fluency/grammar: major 'la mure'; reflection: corrected (-0.9); discussion: 2 turns; kept as minor",
        "style/awkward: minor 'sur la mure'; reflection: no difference (-0.2); dropped",
    ]


@pytest.mark.parametrize(
    ("stages", "calls", "score", "errors"),
    [("se", 19, -7, 3), ("se+sr", 25, -6, 2), ("se+sr+cd", 27, -2, 2)],
)
async def test_the_stages_can_be_switched_off(stages: Any, calls: int, score: float, errors: int) -> None:
    rating = await HiMATE(THREE.model(), stages=stages, threshold=-0.5).rate(SEGMENT, TEXT)
    assert (len(rating.calls), rating.score, len(kept(rating))) == (calls, score, errors)
    assert f"|stages:{stages}|" in rating.signature
    used = PROMPTS[: {"se": 1, "se+sr": 3, "se+sr+cd": 5}[stages]]
    assert re.findall(r"\|prompt:([\w-]+)@", rating.signature) == list(used)
    assert (rating.correction is None) == (stages == "se")


async def test_a_confidence_at_the_threshold_is_kept_without_a_discussion() -> None:
    rating = await HiMATE(THREE.model(), threshold=-0.9).rate(SEGMENT, TEXT)
    assert (steps(rating)["discuss"], rating.score) == (0, -6)


VIEWS = {"no": view(False), "taste": view(True), "minor": view(True, "minor"), "major": view(True, "major")}


def spelling(talk: str = "") -> Panel:
    """One misspelt word, and what is said of it in turn: a severity, with ``!`` if the agent says that it disagrees."""
    turns = [
        AGREE if word == "agree" else opinion(VIEWS[word.strip("!")], **({"agrees": False} if "!" in word else {}))
        for word in talk.split()
    ]
    corrected = {SPELLING: TEXT.replace("arretée", "arrêtée")}
    return Panel({SPELLING: [error("arretée", "major")]}, corrected, talk={SPELLING: turns})


@pytest.mark.parametrize(
    ("talk", "score"),
    [
        ("major agree", -5),
        ("minor agree", -1),
        ("no agree", 0),
        ("taste agree", 0),
        ("major major!", -5),
        ("no minor! minor", -1),
        ("no minor! agree", -1),
        ("no minor! major agree", -5),
    ],
)
async def test_a_discussion_ends_with_agreement(talk: str, score: float) -> None:
    rating = await HiMATE(spelling(talk).model(), threshold=0.0).rate(SEGMENT, TEXT)
    assert (steps(rating)["discuss"], rating.score, rating.warnings) == (len(talk.split()), score, ())
    assert [text for _, text, _ in kept(rating)] == ["arretée"] * (score < 0)


async def test_without_agreement_the_last_statement_decides() -> None:
    stubborn = spelling("no minor! no minor!")
    rating = await HiMATE(stubborn.model(), threshold=0.0).rate(SEGMENT, TEXT)
    assert (steps(rating)["discuss"], rating.score) == (4, -1)
    assert rating.warnings == ("fluency/spelling: no agreement in 4 turns; the last one decided",)
    rating = await HiMATE(stubborn.model(), threshold=0.0, turns=3).rate(SEGMENT, TEXT)
    assert (steps(rating)["discuss"], rating.score, rating.correction) == (3, 0, None)


async def test_the_agents_of_a_discussion_see_each_other_and_know_what_is_theirs() -> None:
    llm = spelling("no minor! agree").model()
    await HiMATE(llm, threshold=0.0).rate(SEGMENT, TEXT)
    first, second, third = (request for request in llm.requests if request.purpose.startswith("discuss"))
    assert "fluency/register" in first.messages[0].content
    assert "fluency/register" not in second.messages[0].content
    assert "discussion so far" not in first.messages[-1].content
    assert "expert: error 1 does not exist. because" in second.messages[-1].content
    assert "evaluator: error 1 exists, minor. because" in third.messages[-1].content
    assert TEXT.replace("arretée", "arrêtée") in first.messages[-1].content


async def test_several_errors_of_one_subtype_are_judged_one_by_one() -> None:
    panel = Panel(
        flagged={SPELLING: [error("mure", "major"), error("arretée", "major")]},
        corrected={SPELLING: "La vieille horloge sur la mur s'est arrêtée."},
        talk={SPELLING: [opinion(view(False, number=2), view(True, "minor", number=1)), AGREE]},
    )
    llm = panel.model()
    rating = await HiMATE(llm, threshold=0.0).rate(SEGMENT, TEXT)
    reflected = [
        request.messages[-1].content for request in llm.requests if request.purpose.startswith(("corr", "ver"))
    ]
    assert [('1. major: "mure"' in shown, '2. major: "arretée"' in shown) for shown in reflected] == [(True, True)] * 2
    assert kept(rating) == [(SPELLING, "mure", "minor")]
    assert rating.warnings == ("fluency/spelling: the corrected text may also change what was dropped: 'arretée'",)
    assert len(rating.calls) == 19 + 2 + 2


async def test_what_is_neutral_goes_no_further() -> None:
    panel = Panel(flagged={AWKWARD: [error("vieille", "neutral")]})
    rating = await HiMATE(panel.model()).rate(SEGMENT, TEXT)
    assert (rating.errors, rating.score, len(rating.calls)) == ((), 0, 19)


@pytest.mark.parametrize(("fix", "verdict", "verified"), [("arretée", "", 0), ("arrettée", "worse", 1)])
async def test_what_a_correction_does_not_correct_was_no_error(fix: str, verdict: str, verified: int) -> None:
    panel = Panel({SPELLING: [error("arretée")]}, {SPELLING: TEXT.replace("arretée", fix)}, {SPELLING: verdict})
    rating = await HiMATE(panel.model()).rate(SEGMENT, TEXT)
    assert (rating.errors, len(rating.calls)) == ((), 20 + verified)


async def test_minor_punctuation_weighs_a_tenth() -> None:
    comma = "fluency/punctuation"
    panel = Panel(flagged={comma: [error("horloge sur")]}, corrected={comma: TEXT.replace("horloge", "horloge,")})
    rating = await HiMATE(panel.model(), threshold=-1.0).rate(SEGMENT, TEXT)
    assert rating.score == -0.1


async def test_an_omission_marks_the_source() -> None:
    missing = error("old", "major", before="La ", after=" horloge")
    panel = Panel(flagged={"accuracy/omission": [missing]})
    rating = await HiMATE(panel.model(), stages="se").rate(SEGMENT, "La horloge s'est arrêtée.")
    assert rating.errors is not None
    assert [(span.side, span.text, span.start) for span in rating.errors] == [("omission", "old", None)]


async def test_one_corrected_text_holds_what_does_not_contradict() -> None:
    panel = Panel(
        flagged={SPELLING: [error("mure")], GRAMMAR: [error("la mure", "major")], AWKWARD: [error("arretée")]},
        corrected={
            SPELLING: TEXT.replace("mure", "murre"),
            GRAMMAR: TEXT.replace("la mure", "le mur"),
            AWKWARD: TEXT.replace("arretée", "stoppée"),
        },
    )
    rating = await HiMATE(panel.model(), stages="se+sr").rate(SEGMENT, TEXT)
    assert rating.correction == "La vieille horloge sur le mur s'est stoppée."
    assert rating.warnings == (
        "fluency/spelling: its correction is not in the corrected text; another changes the same words",
    )


async def test_without_log_probabilities_the_agents_are_asked_and_it_is_said() -> None:
    rating = await HiMATE(replace(THREE, sure=None, percent=50).model(), threshold=math.log(0.5)).rate(SEGMENT, TEXT)
    assert (rating.score, steps(rating)["verify"], steps(rating)["discuss"]) == (-6, 6, 0)
    assert "|confidence:verbal(no logprobs)|" in rating.signature
    assert "the server gives no log-probabilities" in rating.warnings[0]


async def test_confidence_in_words_asks_once() -> None:
    talk = {SPELLING: [opinion(view(False)), AGREE], GRAMMAR: [opinion(view(True, "major")), AGREE]}
    llm = replace(THREE, percent=10, talk=talk).model()
    rating = await HiMATE(llm, confidence="verbal", threshold=math.log(0.5)).rate(SEGMENT, TEXT)
    assert (rating.score, steps(rating)["verify"], rating.warnings) == (-5, 3, ())
    assert "|confidence:verbal|" in rating.signature
    assert not any(request.logprobs for request in llm.requests)


async def test_without_a_threshold_every_confirmed_error_is_discussed_and_it_is_said(tmp_path: Path) -> None:
    panel = replace(THREE, talk={SPELLING: [opinion(view(True, "minor")), AGREE], **THREE.talk})
    rating = await HiMATE(panel.model(), data_folder=tmp_path).rate(SEGMENT, TEXT)
    assert steps(rating)["discuss"] == 4
    assert "|threshold:none(all discussed)|" in rating.signature
    assert rating.warnings == (
        "no threshold is calibrated for m and en-fr, so every confirmed error was discussed; calibrate: "
        "python -m wmt.himate_threshold -s DEV.src -t DEV.tgt -l en-fr --model m",
    )


def calibrated(folder: Path, **changes: Any) -> None:
    fields: dict[str, Any] = {
        "model": "m", "pair": "en-fr", "threshold": -0.5, "percentile": 60, "n": 9, "smallest": -2, "largest": 0,
        "confidence": "logprobs", "prompts": HiMATE(ScriptedLLM([])).reflection_signature, "segments": 20, **changes,
    }  # fmt: skip
    path = file_of(folder, "m", "en-fr")
    path.parent.mkdir(exist_ok=True)
    write(ConfidenceThreshold(**fields), path)


async def test_the_calibrated_threshold_of_model_and_language_pair_is_used(tmp_path: Path) -> None:
    calibrated(tmp_path)
    segment = SEGMENT.model_copy(update={"target_lang": "fr-CA"})
    rating = await HiMATE(THREE.model(), data_folder=tmp_path).rate(segment, TEXT)
    assert (steps(rating)["discuss"], rating.score, rating.warnings) == (2, -2, ())
    assert "|threshold:-0.5(en-fr,p60,n=9)|turns:4|" in rating.signature


@pytest.mark.parametrize(
    ("changes", "confidence", "sure", "message"),
    [
        (
            {"prompts": "old"},
            "logprobs",
            {},
            r"other prompts \(old, now himate-subtype@.*wmt\.himate_threshold",
        ),
        ({}, "verbal", {}, r"for log-probabilities, but .*\(confidence=verbal\); rate with .*, or calibrate again"),
        ({"confidence": "verbal"}, "logprobs", {}, "one for confidences in words, but there are log-prob"),
        ({}, "logprobs", None, "is one for log-probabilities, but there are confidences in words"),
    ],
)
async def test_a_threshold_that_was_calibrated_otherwise_is_refused(
    changes: dict[str, Any], confidence: Any, sure: Any, message: str, tmp_path: Path
) -> None:
    calibrated(tmp_path, **changes)
    llm = replace(THREE, sure=sure).model()
    with pytest.raises(ConfigError, match=message):
        await HiMATE(llm, confidence=confidence, data_folder=tmp_path).rate(SEGMENT, TEXT)
    known_before = "prompts" in changes or confidence == "verbal"
    assert (llm.requests == []) == known_before, "nothing is paid for that cannot be used"


@pytest.mark.parametrize("content", ["", "{}", '{"model": 1}', "\udcff"])
async def test_a_broken_calibration_is_named(content: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, "m", "en-fr")
    path.parent.mkdir()
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match=r"en-fr\.m\.json: is not a calibration"):
        await HiMATE(THREE.model(), data_folder=tmp_path).rate(SEGMENT, TEXT)


async def test_an_unreadable_verification_is_asked_for_again_and_its_second_confidence_counts() -> None:
    tokens = (TokenLogprob(token="corrected", logprob=-0.01),)
    verifications: list[Completion | str] = ["Hm.", Completion(text="corrected", model="m", logprobs=tokens)]

    class Hesitating(Panel):
        def _verdict(self, messages: Sequence[Message], category: str) -> Completion | str:
            return verifications.pop(0)

    rating = await HiMATE(Hesitating(**vars(spelling())).model(), threshold=-0.1).rate(SEGMENT, TEXT)
    assert (rating.score, len(rating.calls)) == (-5, 22)


async def test_one_agent_that_cannot_be_read_is_asked_afresh_and_alone() -> None:
    rating = await HiMATE(replace(THREE, unread={f"evaluate {SPELLING}": 2}).model(), threshold=-0.5).rate(
        SEGMENT, TEXT
    )
    assert steps(rating) == {"evaluate": 21, "correct": 3, "verify": 3, "discuss": 2}
    assert (rating.score, rating.warnings) == (-2, ())


async def test_what_the_other_agents_found_is_kept_with_a_warning_and_all_calls() -> None:
    rating = await HiMATE(replace(THREE, unread={f"evaluate {SPELLING}": 4}).model(), threshold=-0.5).rate(
        SEGMENT, TEXT
    )
    assert steps(rating) == {"evaluate": 22, "correct": 2, "verify": 2, "discuss": 2}
    assert kept(rating) == [(GRAMMAR, "la mure", "minor")]
    (warning,) = rating.warnings
    assert warning.startswith("fluency/spelling: its agent could not be read and is left out: ")


@pytest.mark.parametrize(
    ("unreadable", "errors", "warning"),
    [
        (f"correct {GRAMMAR}", [(SPELLING, "minor"), (GRAMMAR, "major")], "its errors count unchecked"),
        (f"verify {GRAMMAR}", [(SPELLING, "minor"), (GRAMMAR, "major")], "its errors count unchecked"),
        (f"discuss {GRAMMAR}", [(SPELLING, "minor"), (GRAMMAR, "major")], "its discussion ends where a reply"),
    ],
)
async def test_an_agent_that_falls_silent_later_leaves_its_errors_as_they_stood(
    unreadable: str, errors: list[tuple[str, str]], warning: str
) -> None:
    rating = await HiMATE(replace(THREE, unread={unreadable: 4}).model(), threshold=-0.5).rate(SEGMENT, TEXT)
    assert [(category, severity) for category, _, severity in kept(rating)] == errors
    assert any(warning in said for said in rating.warnings)


@pytest.mark.parametrize("silent", [[SPELLING], ["accuracy/omission", SPELLING, AWKWARD, "accuracy/addition"]])
async def test_a_panel_without_an_agent_never_says_error_free_nor_goes_on_without_four(silent: list[str]) -> None:
    panel = Panel() if len(silent) == 1 else THREE
    with pytest.raises(RatingParseError, match=rf"^{len(silent)} of 19 agents \(.*fluency/spelling") as caught:
        await HiMATE(replace(panel, unread={f"evaluate {name}": 4 for name in silent}).model()).rate(SEGMENT, TEXT)
    assert len(caught.value.calls) >= 19 + 3 * len(silent)


def panel_of(example: Mapping[str, Any], translation: str) -> Panel:
    """The agents of one of the paper's examples, sure of what the paper says they were sure of."""

    def category(name: str) -> str:
        subtype = subtype_of(name)
        assert subtype is not None
        return subtype.category

    flagged = {
        category(finding["subtype"]): [error(finding["span"], finding["severity"])]
        for finding in example["subtype_evaluation"]
    }
    reflection = {category(name): said for name, said in example["self_reflection"].items()}
    sure = {category(name): -0.001 for name in example.get("confident_after_reflection", ())}
    talk = {
        category(name): [
            AGREE if "agrees" in turn else opinion(view(turn["exists"], turn["severity"])) for turn in turns
        ]
        for name, turns in example["discussion"].items()
    }
    return Panel(
        flagged=flagged,
        corrected={name: said.get("correction", f"{translation} …") for name, said in reflection.items()},
        verdicts={name: said["verdict"] for name, said in reflection.items()},
        sure=dict.fromkeys(flagged, -1.5) | sure,
        talk=talk,
    )


@pytest.mark.data
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_the_papers_examples_go_the_papers_way(number: int, data: Path) -> None:
    example = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["himate"][number]
    translation = example.get("translation") or example["translation_part"]
    segment = Segment(
        id="1",
        source=example.get("source", "a part of a sentence, which the data does not hold"),
        source_lang=example.get("source_lang", "en"),
        target_lang=example["target_lang"],
    )
    rating, findings = await HiMATE(panel_of(example, translation).model(), threshold=-0.5).assess(segment, translation)
    by_name = {finding.subtype.name: finding for finding in findings if finding.flagged}

    assert set(by_name) == {finding["subtype"] for finding in example["subtype_evaluation"]}
    verdicts = {name: finding.reflection.verdict for name, finding in by_name.items() if finding.reflection}
    assert verdicts == {name: said["verdict"] for name, said in example["self_reflection"].items()}
    after = set(example.get("after_self_reflection", ())) or {n for n, v in verdicts.items() if v == "corrected"}
    confident = set(example.get("confident_after_reflection", ()))
    discussed_names = {name for name, finding in by_name.items() if finding.discussion}
    assert discussed_names == set(example["discussion"]) == after - confident
    final = {(finding["severity"], finding["subtype"], finding["span"]) for finding in example["final"]}
    assert {(e.severity, e.category.partition("/")[2], e.text) for e in rating.errors or ()} == final
    assert rating.score == example["final_score"]
    flagged, discussed = len(example["subtype_evaluation"]), len(example["discussion"])
    assert len(rating.calls) == 19 + 2 * flagged + 2 * discussed


@pytest.mark.data
async def test_the_papers_ablation_after_self_reflection(data: Path) -> None:
    example = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["himate"][0]
    segment = Segment(id="1", source=example["source"], source_lang="zh", target_lang="en")
    text = example["translation"]
    rating = await HiMATE(panel_of(example, text).model(), stages="se+sr").rate(segment, text)
    assert {span.category.partition("/")[2] for span in rating.errors or ()} == set(example["after_self_reflection"])
    assert rating.score == -7
