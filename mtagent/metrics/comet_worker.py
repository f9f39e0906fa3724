"""Scores with COMET, in any Python (from 3.8 on) that has ``unbabel-comet``; the rest of mtagent need not be there.

A line of greeting is written first: ``{"comet": "2.2.7", "torch": "2.13.0"}``. Then each line of standard input is a
request

    {"model": "Unbabel/wmt22-comet-da", "samples": [{"src": "…", "mt": "…", "ref": "…"}], "batch_size": 16, "gpus": 0}

and is answered by a line: ``{"scores": […], "spans": […] or null, "references": "needed", "read" or "unused",
"revision": …}`` or ``{"error": {"kind": "model" or "prediction", "message": "…"}}``. ``model`` is a name on the hub or
a checkpoint; it stays loaded for further requests. A request ``{"revision_of": "Unbabel/wmt22-comet-da"}`` loads
nothing and is answered ``{"revision": …}``: the revision on this machine, ``null`` if there is none. Without COMET, the
greeting is an error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import sys
import threading
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


class WorkerFailure(Exception):
    """An answer without scores: ``message``, the cause in one line of at most 300 characters, and a ``hint``."""

    def __init__(self, kind: str, message: str, cause: BaseException, hint: str = "") -> None:
        super().__init__(message)
        said = f"{type(cause).__name__}: {' '.join(str(cause).split())}"[:300]
        self.error = {"kind": kind, "message": f"{message}: {said}{hint}"}


def main() -> None:
    """Greet, then answer requests until there are no more."""
    # Standard output is for replies alone: whatever else is printed, by compiled code too, goes to standard error.
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_when_nobody_reads, args=(replies.fileno(),), daemon=True).start()
    here = Path(__file__).resolve().parent  # holds a comet.py, which is not COMET
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]

    def answer(reply: dict[str, Any]) -> None:
        replies.write(json.dumps(reply) + "\n")
        replies.flush()

    if not importlib.util.find_spec("comet"):
        message = f"COMET is not installed in {sys.executable}: `mtagent comet setup` makes an environment with it"
        answer({"error": {"kind": "model", "message": message}})
        return
    answer({"comet": _version("unbabel-comet"), "torch": _version("torch")})
    models = {}  # type: dict[str, Any]
    for line in sys.stdin.buffer:
        try:
            answer(_scored(json.loads(line), models))
        except WorkerFailure as failure:
            answer({"error": failure.error})


def _end_when_nobody_reads(descriptor: int) -> None:
    """End as soon as nobody reads the answers: a model may be busy for an hour after its client was killed."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, 0)
        while not any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll()):
            pass
        os._exit(1)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _scored(request: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    if "revision_of" in request:
        return {"revision": _downloaded_revision(request["revision_of"])}
    name, samples = request["model"], request["samples"]
    if name not in models:
        models.clear()
        models[name] = _loaded(name)
    model, revision = models[name]
    read = "ref" in getattr(model.hparams, "input_segments", ())
    references = "read" if read else "unused"
    if model.requires_references():
        references = "needed"
    fields = ("src", "mt") if references == "unused" else ("src", "mt", "ref")
    bare = [{field: sample[field] for field in fields if field in sample} for sample in samples]
    prediction = {"scores": []}  # type: dict[str, Any]
    if bare:
        batch_size, gpus = request["batch_size"], request["gpus"]
        try:
            prediction = model.predict(bare, batch_size=batch_size, gpus=gpus, num_workers=0, progress_bar=False)
        except Exception as error:  # the model can still take the next request
            raise WorkerFailure("prediction", "COMET cannot score", error) from error
    spans = prediction.get("metadata", {}).get("error_spans")
    return {"scores": list(prediction["scores"]), "spans": spans, "references": references, "revision": revision}


def _downloaded_revision(name: str) -> str | None:
    """The revision of a model on the hub that was downloaded last; asks no network."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE

        folder = Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
        return (folder / "refs" / "main").read_text(encoding="utf-8").strip()[:12] or None
    except (ImportError, OSError, ValueError):
        return None


def _loaded(name: str) -> tuple[Any, str | None]:
    """The model, and its revision on the hub."""
    try:
        from comet import download_model, load_from_checkpoint
    except Exception as error:
        hint = "; it needs 'setuptools<81' there" if "pkg_resources" in str(error) else ""
        raise WorkerFailure("model", "COMET cannot be imported", error, hint) from error
    path = Path(name)
    try:
        checkpoint = path if path.is_file() else Path(download_model(name))
    except Exception as error:
        cause: BaseException = error
        while cause.__context__ is not None:  # COMET hides why a download failure behind two other errors
            cause = cause.__context__
        raise WorkerFailure("model", f"{name} cannot be downloaded", cause, _WAYS_OUT) from error
    try:
        model = load_from_checkpoint(str(checkpoint))
    except Exception as error:
        hint = _UNTRUSTED if "weights_only" in str(error) else ""
        raise WorkerFailure("model", f"{name} cannot be loaded", error, hint) from error
    hashed = checkpoint.parent.parent
    return model, hashed.name[:12] if hashed.parent.name == "snapshots" else None


_WAYS_OUT = (
    "; give a checkpoint that lies on this machine (model=PATH), or, for a model whose licence is to be accepted on "
    "its page first, log in to the hub (hf auth login, or HF_TOKEN)"
)
_UNTRUSTED = (
    "; if you trust the maker of this checkpoint, which may run their code, set TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1"
)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
