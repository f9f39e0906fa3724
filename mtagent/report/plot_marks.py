"""Plots of the errors that an evaluator marked, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mtagent.markup import element
from mtagent.mqm import SEVERITIES
from mtagent.report.marked import Marks, StageMarks
from mtagent.report.svg import LINE, WIDTH, Scale, box, drawing, hatch, line, text, width
from mtagent.report.words import after_stage, number, stage_name

NOT_COMPARABLE = "not comparable"
_WORST_FIRST = tuple(reversed(SEVERITIES))
_CATEGORIES = 10
_ROW = 36.0
_HATCHES = {"neutral": (8.0, 0.0), "minor": (6.0, 45.0), "major": (7.0, -45.0), "critical": (6.0, 90.0)}


def severities_plot(marks: Marks, name: str = "severities") -> str:
    """Errors by severity per 100 rated texts, a bar for each stage."""
    title = f"Errors per 100 texts, by severity: {marks.evaluator}"
    if not marks.spans:
        return _without_spans(marks, name, title)
    stages = distinct(marks.stages)
    comparable, unlike = marks.comparable(), few_rated(marks)
    most = max((sum(stage.by_severity().values()) / stage.marked for stage in comparable), default=0)
    body = element("defs", "".join(hatch(f"{name}-{s}", s, *_HATCHES[s]) for s in SEVERITIES)) + _legend(name)
    for i, stage in enumerate(stages):
        body += (
            _unlike(stage, unlike[stage.stage], 34 + i * 60)
            if stage.stage in unlike
            else _stack(stage, most, name, 34 + i * 60)
        )
    told = "; ".join(_described(stage, unlike) for stage in stages)
    low = 34 + 60 * len(stages)
    note = _uneven([stage for stage in stages if stage in comparable])
    body += text(0, low + 10, note, "note") if note else ""
    return drawing(name, title, f"{told}. {note}", body, low + (18 if note else 0))


def categories_plot(marks: Marks, name: str = "categories") -> str:
    """Errors by category per 100 rated texts, a mark for each stage; the most frequent categories."""
    title = f"Errors per 100 texts, by category: {marks.evaluator}"
    if not marks.spans:
        return _without_spans(marks, name, title)
    stages = [stage for stage in distinct(marks.stages) if stage in marks.comparable()]
    names = categories(stages)
    shown = names[:_CATEGORIES]
    most = max((per_hundred(stage, category) for stage in stages for category in shown), default=0.0)
    scale = Scale(0, most or 1, 8, WIDTH - 8)
    body, top = _shapes_legend(stages)
    for i, category in enumerate(shown):
        body += _category(category, stages, scale, top + _ROW * i)
    below = top + _ROW * len(shown) + LINE
    left = len(names) - len(shown)
    note = f"and {left} rarer categories (in the table)" if left else "" if names else "no error is marked"
    note = "; ".join(filter(None, [note, _uneven(stages)]))
    unlike = [words for stage, words in few_rated(marks).items() if stage in {s.stage for s in distinct(marks.stages)}]
    notes = [*([note] if note else []), *(line for words in unlike for line in (f"{words}:", NOT_COMPARABLE))]
    body += "".join(text(0, below - 4 + LINE * i, words, "note") for i, words in enumerate(notes))
    told = [
        "; ".join(f"{one}: {_course(stages, one)}" for one in shown) or "No error is marked.",
        *(f"{words}: {NOT_COMPARABLE}" for words in unlike),
    ]
    return drawing(name, title, "; ".join(told), body, below - (LINE / 2 if not notes else 14) + LINE * len(notes))


def distinct(stages: Sequence[StageMarks]) -> list[StageMarks]:
    """``stages`` without the final texts where they are those of the stage before."""
    *others, last = stages or (None,)
    same = bool(others) and last is not None and replace(last, stage="") == replace(stages[-2], stage="")
    return list(stages[:-1] if same else stages)


def few_rated(marks: Marks) -> dict[str, str]:
    """By stage what is said of one with too few rated texts: ``only 36 of 63 texts were rated after post-editing``."""
    comparable = marks.comparable()
    return {
        stage.stage: f"only {number(rated)} of {number(stage.segments)} texts were rated {after_stage(stage.stage)}"
        for stage in marks.stages
        if (rated := marks.rated(stage)) and stage not in comparable
    }


def categories(stages: Sequence[StageMarks]) -> list[str]:
    """All categories, that with the most errors in any stage first."""
    most: dict[str, int] = {}
    for stage in stages:
        for name, found in stage.errors.items():
            most[name] = max(most.get(name, 0), sum(found.values()))
    return sorted(most, key=lambda name: (-most[name], name))


def per_hundred(stage: StageMarks, category: str) -> float:
    """Errors of ``category`` per 100 texts whose errors were marked; 0 where none were."""
    return 100 * sum(stage.errors.get(category, {}).values()) / stage.marked if stage.marked else 0.0


def _without_spans(marks: Marks, name: str, title: str) -> str:
    note, unlike = "This evaluator gives scores and marks no error spans.", few_rated(marks)
    stages = [stage for stage in distinct(marks.stages) if stage.mean is not None]
    rows = "".join(text(0, 44 + 20 * i, _mean(stage, unlike)) for i, stage in enumerate(stages))
    return drawing(name, title, note, text(0, LINE, note, "note") + rows, 34 + 20 * len(stages))


def _mean(stage: StageMarks, unlike: dict[str, str]) -> str:
    if stage.stage in unlike:
        return f"{stage_name(stage.stage)}: {NOT_COMPARABLE}, {number(stage.rated)} of {number(stage.segments)} rated"
    return f"{stage_name(stage.stage)}: mean {stage.mean:.3f} over {number(stage.rated)} rated texts"


def _legend(name: str) -> str:
    places = (0, 100, 200, 300)
    return "".join(
        box(x, 6, 18, 12, "severity", fill=f"url(#{name}-{severity})") + text(x + 24, 16, severity)
        for x, severity in zip(places, _WORST_FIRST, strict=True)
    )


def _stack(stage: StageMarks, most: float, name: str, y: float) -> str:
    found = stage.by_severity()
    total = sum(found.values())
    rate = f"{100 * total / stage.marked:.1f} per 100" if stage.marked else "not rated"
    body = text(0, y + 14, f"{stage_name(stage.stage)}, {_rated(stage)}", "strong", room=WIDTH - width(rate) - 16)
    body += text(WIDTH, y + 14, rate, "strong", anchor="end")
    body += box(0, y + 20, WIDTH, 14, "track")
    x, scale = 0.0, WIDTH / most / stage.marked if most and stage.marked else 0.0
    for severity in _WORST_FIRST:
        if found[severity]:
            body += box(x, y + 20, found[severity] * scale, 14, "severity", fill=f"url(#{name}-{severity})")
            x += found[severity] * scale
    return body + text(0, y + 49, _told(stage), "note")


def _unlike(stage: StageMarks, words: str, y: float) -> str:
    room = WIDTH - width(NOT_COMPARABLE) - 16
    body = text(0, y + 14, stage_name(stage.stage), "strong", room=room)
    return body + text(WIDTH, y + 14, NOT_COMPARABLE, "strong", anchor="end") + text(0, y + 32, words, "note")


def _described(stage: StageMarks, unlike: dict[str, str]) -> str:
    if stage.stage in unlike:
        return f"{unlike[stage.stage]}: {NOT_COMPARABLE}"
    return f"{stage_name(stage.stage)} ({_rated(stage)}): {_told(stage)}"


def _uneven(stages: Sequence[StageMarks]) -> str:
    """A warning where the rates of the stages are about different texts."""
    alike = len({stage.marked for stage in stages if stage.marked}) < 2
    return "" if alike else "not all stages have the same texts rated"


def _told(stage: StageMarks) -> str:
    if not stage.marked:
        return "nobody rated these texts"
    return ", ".join(f"{severity} {number(n)}" for severity, n in stage.by_severity().items() if n) or "no errors"


def _rated(stage: StageMarks) -> str:
    return f"{number(stage.marked)} of {number(stage.segments)} rated"


def _course(stages: Sequence[StageMarks], category: str) -> str:
    return " → ".join(f"{per_hundred(stage, category):.1f}" for stage in stages)


def _category(category: str, stages: Sequence[StageMarks], scale: Scale, y: float) -> str:
    course = _course(stages, category)
    body = text(0, y + 14, category, room=WIDTH - width(course) - 8) + text(WIDTH, y + 14, course, anchor="end")
    body += line(scale.start, y + 25, scale.end, y + 25)
    return body + "".join(shape(i, scale.at(per_hundred(stage, category)), y + 25) for i, stage in enumerate(stages))


def _shapes_legend(stages: Sequence[StageMarks]) -> tuple[str, float]:
    """The shapes with their stages, and where the legend ends."""
    body, x, y = "", 8.0, 12.0
    for i, stage in enumerate(stages):
        words = stage_name(stage.stage)
        if x + 16 + width(words) > WIDTH:
            x, y = 8.0, y + LINE
        body += shape(i, x, y) + text(x + 12, y + 5, words)
        x += 32 + width(words)
    return body, y + 14


def shape(number: int, x: float, y: float) -> str:
    """A mark that differs by form: circle, square, triangle, diamond, disc."""
    points = {
        1: [(-5, -5), (5, -5), (5, 5), (-5, 5)],
        2: [(0, -6), (6, 5), (-6, 5)],
        3: [(0, -8), (8, 0), (0, 8), (-8, 0)],
    }.get(number % 5)
    if points:
        return element(
            "path", class_="outline", d="M" + "L".join(f"{x + dx:.4g} {y + dy:.4g}" for dx, dy in points) + "Z"
        )
    return element("circle", class_="outline" if number % 5 == 0 else "mark", cx=x, cy=y, r=6 if number % 5 == 0 else 3)
