"""Scores with COMET, in any Python (from 3.8 on) that has ``unbabel-comet``; the rest of mtagent need not be there.

    python comet_worker.py [REQUESTS.jsonl]

A line of greeting is written first: ``{"comet": "2.2.7", "torch": "2.13.0"}``. Then each line of the file, or of
standard input, is a request

    {"model": "Unbabel/wmt22-comet-da", "samples": [{"src": "…", "mt": "…", "ref": "…"}], "batch_size": 16, "gpus": 0}

and is answered by a line: ``{"scores": […], "spans": […] or null, "references": "needed", "read" or "unused",
"revision": …}`` or ``{"error": {"kind": "model" or "prediction", "message": "…"}}``. ``model`` is a name on the hub or
a checkpoint; it stays loaded for further requests. Where there is no COMET, the greeting is an error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO


class Failed(Exception):
    """What is answered in place of scores."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.error = {"kind": kind, "message": message}


def main() -> None:
    """Greet, then answer requests until there are no more."""
    replies = _replies_alone_on_stdout()
    threading.Thread(target=_end_when_nobody_reads, args=(replies.fileno(),), daemon=True).start()
    _forget_own_folder()
    if not importlib.util.find_spec("comet"):
        _answer(replies, {"error": {"kind": "model", "message": _NOT_INSTALLED}})
        return
    _answer(replies, {"comet": _version("unbabel-comet"), "torch": _version("torch")})
    models = {}  # type: dict[str, Any]
    for line in _requests():
        try:
            reply = _scored(json.loads(line), models)
        except Failed as failed:
            reply = {"error": failed.error}
        _answer(replies, reply)


_NOT_INSTALLED = (
    f"COMET is not installed in {sys.executable}: {sys.executable} -m pip install unbabel-comet 'setuptools<81'"
)


def _replies_alone_on_stdout() -> TextIO:
    """Keep standard output for replies: whatever else is printed, by compiled code too, goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return replies


def _end_when_nobody_reads(descriptor: int) -> None:
    """A model may be busy for an hour after the process that asked was killed."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, 0)
        while not any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll()):
            pass
        os._exit(1)


def _forget_own_folder() -> None:
    """Beside this file there is a ``comet.py``, which is not COMET."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _requests() -> Iterator[bytes]:
    if len(sys.argv) > 1:
        yield from Path(sys.argv[1]).read_bytes().splitlines()
    else:
        yield from sys.stdin.buffer


def _answer(replies: TextIO, reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def _scored(request: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    name, samples = request["model"], request["samples"]
    if name not in models:
        models.clear()
        models[name] = _loaded(name)
    model, revision = models[name]
    references = _references(model)
    fields = ("src", "mt") if references == "unused" else ("src", "mt", "ref")
    bare = [{field: sample[field] for field in fields if field in sample} for sample in samples]
    scores, spans = _predicted(model, bare, request) if samples else ([], None)
    return {"scores": scores, "spans": spans, "references": references, "revision": revision}


def _predicted(model: Any, samples: list[dict[str, str]], request: dict[str, Any]) -> tuple[list[float], Any]:
    try:
        found = model.predict(
            samples, batch_size=request.get("batch_size", 16), gpus=request.get("gpus", 0), num_workers=0,
            progress_bar=False,
        )  # fmt: skip
    except Exception as error:  # the model can still take the next request
        raise Failed("prediction", "COMET cannot score: " + _said(error)) from error
    return list(found["scores"]), found.get("metadata", {}).get("error_spans")


def _references(model: Any) -> str:
    """Whether the model needs references, reads them where there are some, or leaves them unused."""
    if model.requires_references():
        return "needed"
    return "read" if "ref" in getattr(model.hparams, "input_segments", ()) else "unused"


def _loaded(name: str) -> tuple[Any, str | None]:
    """The model, and its revision where it is the hub's."""
    try:
        from comet import download_model, load_from_checkpoint
    except Exception as error:
        hint = "; it needs 'setuptools<81' there" if "pkg_resources" in str(error) else ""
        raise Failed("model", "COMET cannot be imported: " + _said(error) + hint) from error
    path = Path(name)
    try:
        checkpoint = path if path.is_file() else Path(download_model(name))
    except Exception as error:
        raise Failed("model", f"{name} cannot be downloaded: " + _said(_first_cause(error)) + _WAYS_OUT) from error
    try:
        model = load_from_checkpoint(str(checkpoint))
    except Exception as error:
        hint = _UNTRUSTED if "weights_only" in str(error) else ""
        raise Failed("model", f"{name} cannot be loaded: " + _said(error) + hint) from error
    hashed = checkpoint.parent.parent
    return model, hashed.name[:12] if hashed.parent.name == "snapshots" else None


_WAYS_OUT = (
    "; give a checkpoint that lies on this machine (model=PATH), or, for a model whose licence is to be accepted on "
    "its page first, log in to the hub (hf auth login, or HF_TOKEN)"
)
_UNTRUSTED = (
    "; if you trust whoever made this checkpoint, which may run code of theirs, set TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1"
)


def _first_cause(error: BaseException) -> BaseException:
    """COMET hides why a download failed behind two other errors."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def _said(error: BaseException) -> str:
    """One line of at most 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
