"""Screenshots of the page of ``mtagent review``: ``python -m bench.screenshots FOLDER``.

A German text with tags, an Arabic one, a Japanese one and a Spanish paragraph of 340 words, each at three sizes in
light and dark. Needs Chromium, fonts with these scripts (``fonts-noto-cjk`` on Debian), playwright and the extra
``serve``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bench.growth import Server
from mtagent.records import Chain, DecidedCause, Edit, ErrorSpan, Judgement, Step
from tests.report_runs import many, save, segment

SIZES = ((1366, 768), (1920, 1080), (390, 844))


class Correction(NamedTuple):
    """An edit of a sample: the words that it replaces, and the error that it corrects."""

    old: str
    new: str
    category: str
    severity: Literal["minor", "major"]
    explanation: str
    outcome: Literal["applied", "refused"] = "applied"


class Sample(NamedTuple):
    """A segment, and the edit that is the current one on its screenshots."""

    name: str
    language: str
    source: str
    given: str
    corrections: tuple[Correction, ...]
    current: int


PARAGRAPH = (
    "The river has shaped the town for more than eight hundred years, and most of the streets still follow its old "
    "course. When the mill closed in 1962, the council bought the land and turned it into a public park with a small "
    "open-air theatre. Every summer, local groups perform there, and the tickets are cheap enough that whole families "
    "come twice a week. "
) * 5
PARAGRAPH_ES = (
    "El río ha formado la ciudad por más de ochocientos años, y la mayoría de las calles todavía siguen su curso "
    "viejo. Cuando el molino cerró en 1962, el consejo compró la tierra y la convirtió en un parque público con un "
    "pequeño teatro al aire libre. Cada verano, grupos locales actúan allí, y los boletos son suficientemente baratos "
    "que familias enteras vienen dos veces a la semana. "
) * 5

SAMPLES = (
    Sample(
        "latin",
        "de",
        "Hello, {name}! You have {count} new messages. Open <b>Settings</b> to choose which of them may interrupt you "
        "while you work, and how long we should wait before we remind you again.",
        "Hallo, {name}! Du hast {count} neue Nachrichten. Öffnen Sie <b>Einstellungen</b>, um zu wählen, welche von "
        "ihnen Sie bei der Arbeit unterbrechen dürfen und wie lange wir bis zur nächsten Erinnerung warten, bevor wir "
        "Sie wieder erinnern.",
        (
            Correction(
                "Du hast", "Sie haben", "style/register", "minor", "The rest of the text uses the formal address."
            ),
            Correction(
                "zu wählen, welche von ihnen",
                "festzulegen, welche davon",
                "style/awkward",
                "minor",
                "“welche von ihnen” reads as people.",
            ),
            Correction(
                " bis zur nächsten Erinnerung",
                "",
                "accuracy/addition",
                "major",
                "The source doesn't have it.",
                outcome="refused",
            ),
            Correction("wieder", "erneut", "style/awkward", "minor", "“erneut” is the usual word in messages."),
        ),
        2,
    ),
    Sample(
        "arabic",
        "ar",
        "Hello {name}, tap <b>Settings</b> and then <i>Privacy</i> to see your %d saved devices, or visit "
        "https://example.com/help for more.",
        "مرحبًا {name}، اضغط <b>إعدادات</b> ثم <i>خصوصية</i> لترى %d الأجهزة المحفوظة، أو قم بزيارة "
        "https://example.com/help لأكثر.",
        (
            Correction("إعدادات", "الإعدادات", "terminology", "major", "«الإعدادات» هو اسم الشاشة في التطبيق."),
            Correction(
                "لترى %d الأجهزة المحفوظة",
                "لعرض أجهزتك المحفوظة البالغ عددها %d",
                "fluency/grammar",
                "major",
                "العدد لا يسبق المعرفة.",
            ),
            Correction("لأكثر", "لمزيد من المعلومات", "style/awkward", "minor", "ترجمة حرفية."),
        ),
        2,
    ),
    Sample(
        "japanese",
        "ja",
        "The meeting has been moved to 3 p.m. on Friday. Please tell {host} by Thursday if you can't come, so that we "
        "can plan lunch.",
        "会議は金曜日の午後3時に動かされました。来ることができない場合は、木曜日までに{host}に言ってください、"
        "ランチを計画できるように。",
        (
            Correction(
                "動かされました", "変更になりました", "style/awkward", "minor", "「動かす」は会議の日時には使わない。"
            ),
            Correction("来ることができない", "ご都合が悪い", "style/register", "minor", "案内文としては硬い直訳。"),
            Correction(
                "に言ってください、ランチを計画できるように",
                "までお知らせください。昼食の手配のためです",
                "fluency/grammar",
                "major",
                "文の順序が英語のまま。",
            ),
        ),
        3,
    ),
    Sample(
        "paragraph",
        "es",
        PARAGRAPH.strip(),
        PARAGRAPH_ES.strip(),
        (
            Correction("por más de", "durante más de", "fluency/grammar", "minor", "“por” is a calque."),
            Correction(
                "su curso viejo", "su antiguo cauce", "accuracy/mistranslation", "major", "A river has a “cauce”."
            ),
            Correction("la tierra", "el terreno", "accuracy/mistranslation", "minor", "Land for sale is “terreno”."),
            Correction(
                "los boletos son suficientemente baratos que familias enteras vienen",
                "las entradas son tan baratas que familias enteras vienen",
                "fluency/grammar",
                "major",
                "“suficientemente … que” is not Spanish.",
            ),
            Correction("el consejo", "el ayuntamiento", "terminology", "major", "A town council is “ayuntamiento”."),
        ),
        4,
    ),
)


def chain_of(sample: Sample) -> Chain:
    """The sample as a post-edited segment; in a repeated text, the n-th correction is in the n-th repetition."""
    repeats = sample.given.count(sample.corrections[0].old)
    edits = []
    text = sample.given
    for number, correction in enumerate(sample.corrections, start=1):
        start = -1
        for _ in range(min(number, repeats)):
            start = sample.given.index(correction.old, start + 1)
        span = ErrorSpan(
            text=correction.old,
            category=correction.category,
            severity=correction.severity,
            explanation=correction.explanation,
        )
        edits.append(
            Edit(
                old=correction.old,
                new=correction.new,
                start=start,
                end=start + len(correction.old),
                outcome=correction.outcome,
                span=span,
            )
        )
    for edit in sorted(edits, key=lambda edit: -(edit.start or 0)):
        if edit.outcome == "applied" and edit.start is not None:
            text = text[: edit.start] + edit.new + text[edit.end :]
    cause = DecidedCause(kind="choices", judgements=(Judgement(judge="judge", choices=("after", "after")),))
    step = Step(stage="postedit", text=text, proposed=text, verdict="kept", edits=tuple(edits), cause=cause)
    about = segment(sample.name, sample.source, sample.given, target_lang=sample.language)
    return Chain(segment=about, steps=(step,))


def photograph(page: Any, sample: Sample, path: Path) -> None:
    """Open the sample with its current edit, and write the screenshot."""
    page.evaluate("(id) => open(rows.find((row) => row.id === id))", sample.name)
    page.wait_for_selector(f"#segment:not([aria-busy]) .id:text-is('{sample.name}')")
    page.keyboard.press(str(sample.current))
    page.wait_for_timeout(100)
    page.screenshot(path=path)


def main() -> None:
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as stored, sync_playwright() as started:
        save(Path(stored), "run", [*map(chain_of, SAMPLES), *many(4)], logged=False)
        server = Server(Path(stored))
        browser = started.chromium.launch(executable_path=shutil.which("chromium"))
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            for width, height in SIZES:
                context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
                page = context.new_page()
                page.set_viewport_size({"width": width, "height": height})
                page.goto(server.address)
                page.wait_for_selector("html[data-complete]")
                for sample in SAMPLES:
                    photograph(page, sample, folder / f"{sample.name}-{width}-{scheme}.png")
                context.close()
        browser.close()
        server.end()


if __name__ == "__main__":
    main()
