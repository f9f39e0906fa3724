"""List prices without a network, prices of one's own, and what a stored run cost, recomputed by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price
from genai_prices.data_snapshot import get_snapshot

from bench.harness import simulator
from mtagent.config import DEFAULT_MODEL, Config, load
from mtagent.errors import ConfigError
from mtagent.llm.prices import Prices
from mtagent.llm.prices import price as list_price
from mtagent.records import Call, Usage
from mtagent.store import Store
from tests.commands import Shell
from tests.killing import sources
from tests.simulator.replies import PrefixCache

USAGE = Usage(input_tokens=2000, cached_tokens=1280, output_tokens=300, reasoning_tokens=100)
LOCAL = "http://localhost:8000/v1"
FILE = """
[[prices]]
model = "my-7b"
input = 1
output = 4

[[prices]]
model = "my-7b"
valid_from = 2025-06-01
input = 2
cached_input = 0.5
cache_write = 2.5
output = 8
batch_discount = 0.4

[[prices]]
model = "my-*"
input = 3
output = 3

[[prices]]
model = "my-*-long"
input = 5
output = 5

[[prices]]
model = "my-7b"
base_url = "http://localhost:8000/v1/"
input = 0
output = 0

[[prices]]
model = "gpt-4o-mini"
base_url = "https://api.openai.com/v1"
valid_from = 2999-01-01
input = 1000
output = 1000
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("model", "base_url", "day", "rates"), [
    ("my-7b", None, "2025-05-31", (1, 4)), ("my-7b", None, "2025-06-01", (2, 8)),
    ("my-7b", "https://other.example/v1", "2026-01-01", (2, 8)), ("my-7b", LOCAL, "2026-01-01", (0, 0)),
    ("my-7b", f"{LOCAL}/", "2020-01-01", (0, 0)), ("my-70b", LOCAL, "2026-01-01", (3, 3)),
    ("my-70b-long", LOCAL, "2026-01-01", (5, 5)), ("MY-70b", LOCAL, "2026-01-01", None),
    ("gpt-4o-mini", "https://api.openai.com/v1", "2026-01-01", None),
    ("gpt-4o-mini", "https://api.openai.com/v1", "2999-01-01", (1000, 1000)),
])  # fmt: skip
def test_the_price_of_a_model_on_a_server_and_a_day(
    model: str, base_url: str | None, day: str, rates: tuple[float, float] | None, tmp_path: Path
) -> None:
    price = Prices(written(tmp_path, f"\ufeff{FILE}")).own(model, base_url, date.fromisoformat(day))
    assert (price and (price.input, price.output)) == rates


def test_cached_input_costs_what_the_file_says_or_as_much_as_other_input(tmp_path: Path) -> None:
    prices = Prices(written(tmp_path, FILE))
    assert prices("my-7b", USAGE, None) == pytest.approx((720 * 2 + 1280 * 0.5 + 300 * 8) / 1e6)
    assert prices("my-70b", USAGE, None) == pytest.approx((2000 * 3 + 300 * 3) / 1e6)
    assert prices("my-7b", USAGE, LOCAL) == 0.0
    more_cached_than_sent = (Usage(input_tokens=10, cached_tokens=n) for n in (10, 500))
    assert len({prices("my-7b", usage) for usage in more_cached_than_sent}) == 1
    assert (prices.batch_discount("my-7b", None), prices.batch_discount("my-7b", LOCAL)) == (0.4, 0.5)
    assert prices.batch_discount("gpt-4o", None) == 0.5
    in_part_written = USAGE.model_copy(update={"cache_write_tokens": 700})
    assert prices("my-7b", in_part_written, None) == pytest.approx((20 * 2 + 1280 * 0.5 + 700 * 2.5 + 300 * 8) / 1e6)
    assert prices("my-70b", in_part_written, None) == prices("my-70b", USAGE, None)
    in_batches = Prices(tmp_path / "prices.toml", batch=True)
    assert in_batches("my-7b", USAGE, None) == pytest.approx(0.6 * prices("my-7b", USAGE, None))


def test_the_file_goes_before_the_public_list_and_what_it_does_not_name_stays(tmp_path: Path) -> None:
    prices = Prices(written(tmp_path, '[[prices]]\nmodel = "gpt-4o-mini"\ninput = 7\noutput = 9\n'))
    openai = "https://api.openai.com/v1"
    assert prices("gpt-4o-mini", USAGE, openai) == pytest.approx((2000 * 7 + 300 * 9) / 1e6)
    assert prices("gpt-4o", USAGE, openai) == list_price("gpt-4o", USAGE, openai) is not None
    assert prices("gpt-4o", USAGE, LOCAL) is None
    assert prices("unheard-of", USAGE, openai) is None
    assert Prices()("gpt-4o", USAGE, openai) == list_price("gpt-4o", USAGE, openai)


ONE = '[[prices]]\nmodel = "m"\ninput = 1\noutput = 2\n'
BROKEN = {
    "[[prices]\n": r"prices.toml: .*line 1",
    "": r"prices.toml: has no prices; write an entry \[\[prices\]\] for each price$",
    "prices = 3\n": r"prices.toml: has no prices; write an entry \[\[prices\]\] for each price$",
    'model = "m"\n' + ONE: r"prices.toml:1: 'model' must be in an entry \[\[prices\]\]",
    "[[prices]]\ninput = 1\noutput = 2\n": r"prices.toml:1: model: field required$",
    ONE + '\n[[prices]]\nmodel = "n"\ninput = 1\n': r"prices.toml:6: output: field required$",
    ONE + "\n# a remark\ncachedinput = 2\n": (
        r"prices.toml:7: cachedinput isn't a field of a price; did you mean 'cached_input'"
    ),
    ONE + "colour = 2\n": r"prices.toml:5: colour isn't a field of a price; the fields are: model, base_url, valid_",
    '[[prices]]\nmodel = "m"\ninput = -1\noutput = 2\n': r"prices.toml:3: input: .*or equal to 0 \(got -1\)",
    '[[prices]]\nmodel = "m"\ninput = nan\noutput = 2\n': r"prices.toml:3: input: .*finite number",
    '[[prices]]\nmodel = "m"\ninput = 1\noutput = "two"\n': r"prices.toml:4: output: .*number.* \(got 'two'\)",
    '[[prices]]\nmodel = ""\ninput = 1\noutput = 2\n': r"prices.toml:2: model: .*at least 1 character",
    ONE + "batch_discount = 50\n": r"prices.toml:5: batch_discount: .*less than or equal to 1 \(got 50\)",
    ONE + 'valid_from = "June"\n': r"prices.toml:5: valid_from: .*date",
    ONE + ONE: r"prices.toml:6: model: 'm' has a price for this server and day already, in line 2$",
    'prices = [{model = "m", input = "x", output = 1}]\n': r"prices.toml: input: .*number",
}


@pytest.mark.parametrize(("text", "message"), BROKEN.items(), ids=range(len(BROKEN)))
def test_what_is_wrong_is_said_with_line_and_field(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        Prices(written(tmp_path, text))
    with pytest.raises(ConfigError, match=r"gone\.toml: no such file"):
        Prices(tmp_path / "gone.toml")


# --- the setting


def test_the_setting_is_relative_to_its_file_and_no_part_of_what_results_depend_on(tmp_path: Path) -> None:
    (tmp_path / "mtagent.toml").write_text('prices = "prices.toml"\nbudget = 5.0\ntoken_budget = 900\n')
    config = load(tmp_path / "mtagent.toml")
    assert config.prices == tmp_path / "prices.toml"
    assert (config.budget, config.token_budget) == (5.0, 900)
    assert config.for_results() == Config().for_results()


@pytest.mark.parametrize("setting", ["budget", "token_budget"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "much"])
def test_a_budget_is_a_number_above_zero(setting: str, value: object) -> None:
    with pytest.raises(ConfigError, match=setting):
        load(None, {setting: value})


def test_a_broken_file_stops_the_command_before_anything_is_stored(shell: Shell) -> None:
    shell.write("prices.toml", "[[prices]]", 'model = "m"')
    done = shell.postedit("--prices prices.toml --base-url http://127.0.0.1:9/v1")
    assert (done.code, done.err) == (1, "mtagent: prices.toml:1: input: field required\n")
    assert "runs" not in shell("runs list").out


# --- what a stored run cost


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with simulator("--behaviour", "tests.simulator.chain:improving", "--reasoning-tokens", "17") as base_url:
        yield base_url


@pytest.mark.loopback
def test_the_costs_of_a_stored_run_by_hand(shell: Shell, server: str) -> None:
    """Tokens are counted anew from the stored texts, cached ones included, and priced with pencil and paper."""
    (shell.folder / "long.txt").write_text(sources(12), encoding="utf-8")
    prices = ("input = 2.5", "cached_input = 0.25", "output = 10")
    shell.write("prices.toml", "[[prices]]", 'model = "gpt-6-*"', f'base_url = "{server}"', *prices)
    line = f"translate -s long.txt -l en-es --base-url {server} --concurrency 1 --name r -o out.txt"
    done = shell(f"{line} --prices prices.toml --domain", "x" * 3000)  # long prompts, so that their beginning is cached
    assert done.code == 0, done.err
    with Store(shell.folder / "store.db") as store:
        chains, usage = list(store.read("r").chains()), store.run("r").usage
    calls = [call for chain in chains for step in chain.steps for call in step.calls if call.usage.calls]
    cache, total = PrefixCache(), Decimal(0)
    for call in calls:
        prompt, reply = (-(-len(text) // 4) for text in (shown(call), call.reply or ""))
        cached, output = cache.cached(shown(call)), reply + 17
        numbers = (call.usage.input_tokens, call.usage.cached_tokens, call.usage.output_tokens)
        assert numbers == (prompt, cached, output)
        assert call.usage.reasoning_tokens == 17
        total += ((prompt - cached) * Decimal("2.5") + cached * Decimal("0.25") + output * 10) / 1_000_000
    assert usage.calls == len(calls)
    assert usage.cached_tokens > usage.input_tokens / 3, "the caching is part of what is tested"
    assert usage.reasoning_tokens == 17 * len(calls)
    assert usage.cost == pytest.approx(float(total), rel=1e-12)
    assert f"${total:.4f}" in done.err
    by_stage = re.findall(r"\$(\d+\.\d+)", shell("runs show r").out)
    assert sum(map(float, by_stage[:-1])) == pytest.approx(float(total), abs=0.0002)


@pytest.mark.loopback
def test_what_was_written_to_a_cache_costs_its_own_price_in_every_table(shell: Shell) -> None:
    shell.write("long.txt", *sources(6).splitlines())
    with simulator("--behaviour", "tests.simulator.evaluators:answer", "--o200k", "--cached-to-marks") as server:
        prices = ("input = 2", "cached_input = 0.2", "output = 10")
        shell.write("prices.toml", "[[prices]]", 'model = "*"', *prices, "cache_write = 2.5")
        shell.write("others.toml", "[[prices]]", 'model = "*"', *prices, "cache_write = 40")
        line = f"translate -s long.txt -l en-es --base-url {server} --name r -o out.txt --prices prices.toml"
        done = shell(f"{line} --cache-control openai --concurrency 1")
    assert done.code == 0, done.err
    with Store(shell.folder / "store.db") as store:
        usage = store.run("r").usage
    assert usage.cached_tokens > usage.cache_write_tokens >= 1024, "both are part of what is tested"

    def dollars(write_price: float) -> float:
        plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        paid = plain * 2 + usage.cached_tokens * 0.2 + usage.cache_write_tokens * write_price
        return (paid + usage.output_tokens * 10) / 1_000_000

    assert usage.cost == pytest.approx(dollars(2.5))
    assert f"${dollars(2.5):.4f}" in done.err
    table = shell("compare r --prices others.toml").out.partition("costs: tokens (input with cached and written")[2]
    (final,) = (line.split() for line in table.splitlines() if line.startswith("final"))
    assert final[3:5] == [f"{usage.cached_tokens:,}", f"{usage.cache_write_tokens:,}"]
    paid = json.loads(shell("compare r --prices others.toml -f json").out)["rows"][-1]["cost"]["paid"]
    assert paid["cache_write_tokens"] == usage.cache_write_tokens
    assert paid["dollars"] == pytest.approx(dollars(40))


def shown(call: Call) -> str:
    """A request as one text, as the simulator counts it."""
    return "".join(f"<{message.role}>{message.content}" for message in call.messages)


@pytest.mark.loopback
def test_a_run_goes_on_with_other_prices(shell: Shell, server: str) -> None:
    assert "price unknown; run" in shell.postedit(f"--base-url {server} -o b.txt --limit 1 --name b").err
    shell.write("prices.toml", *ONE.replace('"m"', '"*"').splitlines())
    first = shell.postedit(f"--base-url {server} -o a.txt --limit 1 --prices prices.toml")
    shell.write("prices.toml", *ONE.replace('"m"', '"gpt*"').replace("1", "3").splitlines())
    again = shell.postedit(f"--base-url {server} -o a.txt --prices prices.toml")
    name = first.err.partition("; run ")[2].split()[0]
    assert f"resuming run {name}: 1 of 3" in again.err


# --- list prices

MODELS = [DEFAULT_MODEL, "gpt-4", "gpt-4o", "gpt-5-mini", "claude-sonnet-4-0", "gemini-2.5-pro", "deepseek-chat"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "tokens", [(2000, 1280, 0, 300), (2000, 0, 1280, 300), (300_000, 1024, 9000, 20), (0, 0, 0, 0), (10, 500, 500, 1)]
)
def test_agrees_with_the_price_list(model: str, tokens: tuple[int, int, int, int]) -> None:
    sent, cached, written, output = tokens
    usage = Usage(input_tokens=sent, cached_tokens=cached, cache_write_tokens=written, output_tokens=output)
    cached = min(sent, cached)  # no more can be read from the cache, or written to it, than was sent
    written = min(sent - cached, written)
    listed = calc_price(
        Tokens(input_tokens=sent, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=output), model
    )
    assert list_price(model, usage) == float(listed.total_price)


def test_the_default_model_is_sold_and_cheap() -> None:
    cost = list_price(DEFAULT_MODEL, Usage(calls=1, input_tokens=1_000_000 // 4), "https://api.openai.com/v1")
    assert cost is not None
    assert cost < 0.1
    _, model = get_snapshot().find_provider_model(DEFAULT_MODEL, None, "openai", None)
    assert not model.deprecated


@pytest.mark.parametrize(
    ("model", "base_url"),
    [
        ("gpt-4o-mini", "http://localhost:8000/v1"),  # a server that nobody knows, whatever its models are called
        ("gpt-4o-mini", "https://llm.example/v1"),
        ("my-own-7b", None),
        ("my-own-7b", "https://api.openai.com/v1"),
        ("claude-sonnet-4-0", "https://api.openai.com/v1"),  # a provider does not sell another one's model
    ],
)
def test_what_is_not_on_the_list_has_no_price(model: str, base_url: str | None) -> None:
    assert list_price(model, USAGE, base_url) is None


def test_a_fee_for_each_request_is_part_of_the_price() -> None:
    usage = Usage(calls=3, input_tokens=1000, output_tokens=100)
    assert list_price("sonar", usage, "https://api.perplexity.ai") == pytest.approx(1100e-6 + 3 * 0.012)
