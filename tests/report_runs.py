"""Runs for the tests of reports: put together by hand, with every kind of decision, or with very many segments."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from mtagent.records import (
    Call,
    Chain,
    Completion,
    DecidedCause,
    Edit,
    ErrorCause,
    ErrorSpan,
    GuardsCause,
    Judgement,
    PlainCause,
    Rating,
    RatingRole,
    Segment,
    Step,
    Usage,
)
from mtagent.store import Store

EVIL = (
    '</script><img src=x onerror="window.hacked = 1"><!-- <script>window.hacked = 2</script>'
    " javascript:alert(3) ' \u2028"
)
PAID = Call(
    purpose="rate", model="m", usage=Usage(calls=1, input_tokens=400, output_tokens=60, cost=0.0002), seconds=1.0
)

_REPLY = Completion(text="a reply", model="m", usage=PAID.usage)


def save(folder: Path, name: str, chains: Iterable[Chain], total: int | None = None, *, logged: bool = True) -> Path:
    """The store in ``folder`` with the run ``name``; ``logged``: with its calls, by which it knows what was paid."""
    chains = list(chains)
    with Store(folder / "store.db") as store:
        run = store.start(name, settings={"model": "m", "stages": ["postedit"]}, inputs={}, total=total or len(chains))
        for position, chain in enumerate(chains):
            calls = [call for step in chain.steps for call in step.calls]
            for number, call in enumerate(calls if logged else ()):
                store.calls.record(run.id, chain.segment.id, call.purpose, f"{position}-{number}", call, _REPLY)
            run.save(position, chain)
        run.finish("finished" if total is None else "stopped")
    return folder / "store.db"


def error(text: str, part: str, suggestion: str | None = None, **more: str) -> ErrorSpan:
    """A major mistranslation where ``part`` stands in ``text``."""
    fields = {"category": "accuracy/mistranslation", "severity": "major", **more}
    start = text.index(part)
    return ErrorSpan(text=part, start=start, end=start + len(part), suggestion=suggestion, **fields)


def rating(score: float, *errors: ErrorSpan, role: RatingRole = "editor") -> Rating:
    return Rating(evaluator="judge", role=role, score=score, errors=errors, signature="judge|model:m")


def edited(segment: Segment, after: str, *errors: ErrorSpan) -> Chain:
    """A post-edit that was kept: the judge likes ``after`` better."""
    edits = tuple(
        Edit(old=e.text, new=e.suggestion, outcome="applied", start=e.start, end=e.end, span=e)
        for e in errors
        if e.suggestion is not None
    )
    step = Step(
        stage="postedit", text=after, proposed=after, edits=edits,
        ratings=(rating(-5, *errors), rating(0, role="after")), calls=(PAID, PAID), verdict="kept",
        cause=DecidedCause(kind="scores", judgements=(Judgement(judge="judge", before=-5, after=0),)), seconds=2.0,
    )  # fmt: skip
    return Chain(segment=segment, steps=(step,))


def segment(id_: str, source: str, translation: str | None, reference: str | None = None, **more: str) -> Segment:
    fields = {"source_lang": "en", "target_lang": "de", **more}
    return Segment(id=id_, source=source, translation=translation, reference=reference, **fields)


def rejected(chain: Chain, proposed: str, reason: str) -> Chain:
    """``chain`` with a proofreading that the judge did not like."""
    before = chain.text
    edit = Edit(old=before, new=proposed, outcome="rejected", start=0, end=len(before), detail=reason)
    step = Step(
        stage="proofread", text=before, proposed=proposed, edits=(edit,),
        ratings=(
            rating(0, role="before"),
            rating(-5, error(proposed, proposed[-5:], category="style", severity="critical"), role="after"),
        ),
        cause=DecidedCause(kind="scores", judgements=(Judgement(judge="judge", before=0, after=-5),)),
        calls=(PAID,), verdict="rejected", seconds=1.0,
    )  # fmt: skip
    return chain.model_copy(update={"steps": (*chain.steps, step)})


def varied() -> list[Chain]:
    """Eight segments: better, worse, rejected, refused, failed, hostile, with odd characters, untouched."""
    bank = segment("bank", "The bank of the river.", "Die Bank des Flusses.", "Das Ufer des Flusses.", domain="news")
    worse = segment(
        "worse", "Good morning, world.", "Guten Morgen, Welt.", "Guten Morgen, Welt.", notes="Keep it ÉLEGANT."
    )
    refused = segment("refused", "Pay {n} dollars.", "Zahlen {n} Dollar.", "Zahlen Sie {n} Dollar.", domain="ui")
    hostile = segment("hostile", EVIL, EVIL, "x", notes=EVIL, document=EVIL)
    odd = segment("odd", "e\u0301 👩‍👩‍👧", "e\u0301 x\u200by 👩‍👩‍👧 fin", "e\u0300 xy 👩‍👩‍👦 fin")
    guard = Edit(old="{n}", new="n", outcome="refused", start=7, end=10,
                 guards=("placeholders",), detail="placeholders: {n} is missing")  # fmt: skip
    broken = ErrorCause(error="ServerError", detail="503")
    failed = Step(stage="postedit", text="Hallo.", verdict="failed", cause=broken, calls=(PAID,), seconds=9.0)
    given = "Die Bank des Flusses."
    return [
        rejected(
            edited(bank, "Das Ufer des Flusses.", error(given, "Die Bank", "Das Ufer", explanation="no bank of it")),
            "Das Ufer des Flusses ist schön.", "judge 0 -> -5: worse",
        ),
        edited(
            worse, "Gute Nacht, Welt.", error("Guten Morgen, Welt.", "Guten Morgen", "Gute Nacht", severity="minor")
        ),
        Chain(segment=refused, steps=(
            Step(stage="postedit", text="Zahlen {n} Dollar.", proposed="Zahlen n Dollar.", edits=(guard,),
                 ratings=(rating(-1, error("Zahlen {n} Dollar.", "{n}", "n", severity="neutral")),), calls=(PAID,),
                 verdict="rejected",
                 cause=GuardsCause(guards=("placeholders",), detail="placeholders: {n} is missing")),
        )),
        Chain(segment=segment("failed", "Hello.", "Hallo.", "Hallo."), steps=(failed,)),
        edited(hostile, EVIL.replace("x ", "y "), error(EVIL, "<img", "<svg", explanation=EVIL, category="<b>x</b>")),
        edited(odd, "e\u0300 xy 👩‍👩‍👦 fin"),
        Chain(segment=segment("empty", "Some text.", "", "Ein Text."), steps=()),
        Chain(segment=segment("zeta", "End", "Ende", "Ende"), steps=(
            Step(stage="postedit", text="Ende", verdict="unchanged", cause=PlainCause(kind="error-free"),
                 ratings=(rating(0),)),
        )),
    ]  # fmt: skip


def many(number: int) -> list[Chain]:
    """Segments of about 20 words in two stages, most of them with errors, edits, ratings and reasons."""
    chance = random.Random(7)
    words = [
        "der",
        "die",
        "das",
        "Haus",
        "Brücke",
        "Stadt",
        "Rat",
        "Woche",
        "Bericht",
        "alt",
        "neu",
        "groß",
        "klein",
        "und",
        "oder",
        "aber",
        "wird",
        "wurde",
        "hat",
    ]
    chains = []
    for index in range(number):
        right = chance.choices(words, k=chance.randint(10, 30))
        wrong = {place: f"{right[place]}{place}x" for place in chance.sample(range(len(right)), chance.randint(0, 4))}
        given = " ".join(wrong.get(place, word) for place, word in enumerate(right))
        errors = [
            error(
                given, bad, right[place],
                severity=chance.choice(["minor", "major", "critical"]), explanation=f"There is no word {bad!r}.",
            )
            for place, bad in wrong.items()
        ]  # fmt: skip
        source = " ".join(chance.choices(["the", "house", "bridge", "city", "week"], k=len(right)))
        more = {"domain": chance.choice(["news", "ui"]), "document": f"d{index // 40}"}
        after = " ".join(right) if chance.random() < 0.9 else " ".join(right[:-2])
        post_edited = edited(segment(f"seg-{index:04}", source, given, " ".join(right), **more), after, *errors)
        chains.append(rejected(post_edited, after + " und so weiter", "judge 0 -> -5: worse"))
    return chains
