"""Who may ask, how much, and what everybody else is told."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from mtagent.config import Config
from mtagent.errors import (
    AuthenticationError,
    ConfigError,
    InputError,
    LanguageNeeded,
    Refused,
    ServerError,
    ServerPaused,
)
from mtagent.llm.budget import ENOUGH_CALLS
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.limits import LONGEST_REST, OUTAGE_FAILURES, OUTAGE_SECONDS, Breaker
from mtagent.llm.reply import RequestFailure
from mtagent.records import Completion, Usage
from mtagent.serve.access import Access, ApiKey, ServiceError, new_key, parse_keys
from mtagent.serve.account import Limits
from mtagent.serve.app import json_log
from mtagent.serve.service import Service
from mtagent.translators import CallableTranslator
from tests.clocks import FakeClock
from tests.jobs import improving
from tests.scripted_server import Answer, Request, scripted_server
from tests.serving import asking, bearer, deepl_key, key_file, shout

ONE = {"q": "one", "source": "en", "target": "es"}
TWO = {"text": ["one"], "target_lang": "ES"}
THREE = {"segments": [{"source": "one"}], "source_lang": "en", "target_lang": "es"}


# -- keys


def test_a_line_of_the_key_file_names_limits_in_any_order() -> None:
    text = f"# keys\n\nana:sha256:{'a' * 64}:60/min:$2.50\nbo:sha256:{'b' * 64}:500000:2/s\n"
    assert parse_keys(text, "keys") == (
        ApiKey("ana", "a" * 64, dollars=2.5, rate=60.0),
        ApiKey("bo", "b" * 64, characters=500_000, rate=120.0),
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("ana:secret", "keys:2: expected NAME:sha256:HEX"),
        (f"ana:sha256:{'a' * 64}:many", "keys:2: expected a limit such as .*, not 'many'"),
        (f"ana:sha256:{'a' * 64}:100:$2:200", "keys:2: '200' is a second limit of characters; keep one"),
        (f"ana:sha256:{'a' * 64}:1/s:60/min", "keys:2: '60/min' is a second limit of rate; keep one"),
        (f"first:sha256:{'a' * 64}", "keys:2: a second key is called 'first'"),
    ],
)
def test_a_bad_line_of_the_key_file_is_named(line: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_keys(f"first:sha256:{'f' * 64}\n{line}", "keys")


async def test_a_new_key_is_stored_as_a_hash_counts_at_once_and_is_gone_when_its_line_is(tmp_path: Path) -> None:
    path = key_file(tmp_path, ana="")
    async with asking(Service(translator=shout, keys=path)) as client:
        secret = new_key(path, "bo")
        assert secret not in path.read_text(encoding="utf-8")
        header = {"Authorization": f"Bearer {secret}"}
        assert (await client.post("/v1/improve", json=THREE, headers=header)).status_code == 200
        path.write_text(path.read_text(encoding="utf-8").splitlines()[0], encoding="utf-8")
        assert (await client.post("/v1/improve", json=THREE, headers=header)).status_code == 403


async def test_while_the_key_file_is_broken_or_gone_the_keys_stay_and_the_log_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = key_file(tmp_path, ana="")
    good = path.read_text(encoding="utf-8")

    async def statuses() -> list[int]:
        names = ("ana", "ana", "bo")
        return [(await client.post("/v1/improve", json=THREE, headers=bearer(name))).status_code for name in names]

    async with asking(Service(translator=shout, keys=path)) as client:
        for broken in (f"{good}\nbo=secret\n", None, f"{good}\nbo:secret:more\n"):
            caplog.clear()
            path.unlink(missing_ok=True)
            if broken is not None:
                path.write_text(broken, encoding="utf-8")
            assert await statuses() == [200, 200, 403]
            (problem,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
            assert problem.startswith("the former keys remain valid: ")
            assert ("keys.txt:2: expected NAME:sha256" if broken else "cannot be read") in problem
        key_file(tmp_path, bo="")
        assert await statuses() == [403, 403, 200]


def test_a_file_without_a_key_lets_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("# none\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has no keys"):
        Access(tmp_path / "keys.txt")


@pytest.mark.parametrize(
    ("path", "body", "missing", "wrong", "shape"),
    [
        ("/translate", ONE, 400, 403, "error"),
        ("/v2/translate", TWO, 403, 403, "message"),
        ("/v1/improve", THREE, 401, 403, "error"),
    ],
)
async def test_without_a_key_or_with_a_wrong_one_nothing_is_translated(
    tmp_path: Path, path: str, body: Any, missing: int, wrong: int, shape: str
) -> None:
    asked: list[str] = []
    service = Service(translator=lambda text: asked.append(text) or text, keys=key_file(tmp_path, ana=""))
    async with asking(service) as client:
        without = await client.post(path, json=body)
        assert (without.status_code, list(without.json())) == (missing, [shape])
        other = await client.post(path, json=body, headers=bearer("eve"))
        assert (other.status_code, list(other.json())) == (wrong, [shape])
        assert asked == []
        assert (await client.post(path, json=body, headers=bearer("ana"))).status_code == 200
    assert asked == ["one"]


async def test_libretranslate_takes_the_key_from_the_body(tmp_path: Path) -> None:
    async with asking(Service(translator=shout, keys=key_file(tmp_path, ana=""))) as client:
        assert (await client.post("/translate", json=ONE | {"api_key": "secret-ana"})).status_code == 200
        wrong = await client.post("/translate", json=ONE | {"api_key": "other"})
        assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})


async def test_a_glossary_belongs_to_its_key(tmp_path: Path) -> None:
    entry = {"name": "g", "source_lang": "en", "target_lang": "es", "entries": "cat\tgato", "entries_format": "tsv"}
    async with asking(Service(translator=shout, keys=key_file(tmp_path, ana="", eve=""))) as client:
        made = await client.post("/v2/glossaries", json=entry, headers=deepl_key("ana"))
        number = made.json()["glossary_id"]
        eve = deepl_key("eve")
        wanted = TWO | {"source_lang": "EN", "glossary_id": number}
        answers = [
            await client.get(f"/v2/glossaries/{number}", headers=eve),
            await client.get(f"/v2/glossaries/{number}/entries", headers=eve),
            await client.delete(f"/v3/glossaries/{number}", headers=eve),
            await client.patch(f"/v3/glossaries/{number}", json={"name": "x"}, headers=eve),
            await client.post("/v2/translate", json=wanted, headers=eve),
        ]
        assert [(answer.status_code, answer.json()) for answer in answers] == [
            (404, {"message": "Glossary not found"})
        ] * 5
        assert (await client.get("/v2/glossaries", headers=eve)).json() == {"glossaries": []}
        assert (await client.post("/v2/translate", json=wanted, headers=deepl_key("ana"))).status_code == 200


# -- how much


def test_a_rate_is_a_bucket_that_fills_again(tmp_path: Path) -> None:
    now = [0.0]
    access = Access(key_file(tmp_path, ana=":2/min"), clock=lambda: now[0])
    ana = access.find("secret-ana")
    access.count_request(ana)
    access.count_request(ana)
    with pytest.raises(ServiceError) as refused:
        access.count_request(ana)
    assert (refused.value.status, refused.value.retry_after) == (429, 30.0)
    now[0] = 30.0
    access.count_request(ana)


async def test_a_request_beyond_the_rate_of_the_key_in_its_body_is_counted_for_that_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(translator=lambda text: text, keys=key_file(tmp_path, ana=":1/min", bo=""))
    with caplog.at_level(logging.INFO, logger="mtagent.serve"):
        async with asking(service) as client:
            answers = [await client.post("/translate", json=ONE | {"api_key": "secret-ana"}) for _ in range(2)]
            metrics = (await client.get("/metrics", headers=bearer("bo"))).text
    assert [answer.status_code for answer in answers] == [200, 429]
    refusal = caplog.records[1].__dict__["entry"]
    assert (refusal["key"], refusal["error"]) == ("ana", "too many requests")
    assert 'mtagent_requests_total{key="ana",route="/translate",status="429"}' in metrics


async def test_a_text_that_ends_the_budget_is_not_translated_and_says_so_in_each_interface(tmp_path: Path) -> None:
    keys, asked = key_file(tmp_path, ana=":10"), list[str]()
    service = Service(translator=lambda text: asked.append(text) or text, keys=keys, state=tmp_path / "s.db")
    async with asking(service) as client:
        ana = deepl_key("ana")
        assert (await client.post("/v2/translate", json=TWO | {"text": ["123456"]}, headers=ana)).status_code == 200
        too_much = [
            await client.post("/v2/translate", json=TWO | {"text": ["12345"]}, headers=ana),
            await client.post("/translate", json=ONE | {"q": "12345"}, headers=ana),
            await client.post("/v1/improve", json=THREE | {"segments": [{"source": "12345"}]}, headers=ana),
        ]
        assert [answer.status_code for answer in too_much] == [456, 403, 403]
        assert too_much[0].json() == {"message": "the character limit is reached: Quota Exceeded"}
        usage = (await client.get("/v2/usage", headers=ana)).json()
        assert usage == {"character_count": 6, "character_limit": 10}
    assert asked == ["123456"]
    again = Service(translator=shout, keys=keys, state=tmp_path / "s.db")
    async with asking(again) as client:  # a restart forgets nothing
        assert (await client.post("/v2/translate", json=TWO | {"text": ["12345"]}, headers=ana)).status_code == 456


async def test_dollars_are_counted_by_key_and_end(tmp_path: Path) -> None:
    class Paid(ScriptedLLM):
        async def complete(self, *args: Any, **options: Any) -> Completion:
            completion = await improving().complete(*args, **options)
            return completion.model_copy(update={"usage": Usage(calls=1, input_tokens=10, output_tokens=5, cost=0.3)})

    keys = key_file(tmp_path, ana=":$0.50", bo="")
    async with asking(Service(llm=Paid([]), translator=shout, keys=keys, gate="guards", stages="tp")) as client:
        body = THREE | {"segments": [{"source": "phrase end.", "translation": "frase errado fin."}]}
        statuses = [(await client.post("/v1/improve", json=body, headers=bearer("ana"))).status_code for _ in range(4)]
        assert statuses == [200, 200, 403, 403]
        assert (await client.post("/v1/improve", json=body, headers=bearer("bo"))).status_code == 200
        metrics = (await client.get("/metrics", headers=bearer("bo"))).text
        assert 'mtagent_dollars_total{key="ana"} 0.6' in metrics
        assert 'mtagent_segments_total{key="bo",state="changed"} 1.0' in metrics


class PaidLLM(ScriptedLLM):
    """Improves texts for 30 cents a call."""

    def __init__(self) -> None:
        super().__init__([])
        self.calls = 0

    def price(self, usage: Usage) -> float | None:
        return 0.3

    async def complete(self, *args: Any, **options: Any) -> Completion:
        self.calls += 1
        await asyncio.sleep(0)
        completion = await improving().complete(*args, **options)
        return completion.model_copy(update={"usage": Usage(calls=1, input_tokens=10, output_tokens=5, cost=0.3)})


def spending(state: Path | None = None, **limits: float) -> tuple[PaidLLM, Service]:
    """A model, and a service that asks it once for each text and has an MT system."""
    llm, limit = PaidLLM(), Limits(**limits)  # type: ignore[arg-type]
    return llm, Service(llm=llm, translator=lambda text: text, stages="tp", gate="guards", limits=limit, state=state)


async def test_the_dollars_of_a_step_that_a_spent_budget_ends_are_counted_by_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    llm, keys = PaidLLM(), key_file(tmp_path, ana=":$0.50")
    service = Service(
        llm=llm,
        translator=lambda text: text,
        stages="tp",
        gate="rate",
        keys=keys,
        limits=Limits(dollars_per_request=0.25),
    )
    body = THREE | {"segments": [{"source": "phrase end.", "translation": "frase errado fin."}]}
    with caplog.at_level(logging.INFO, logger="mtagent.serve"):
        async with asking(service) as client:
            answers = [await client.post("/v1/improve", json=body, headers=bearer("ana")) for _ in range(3)]
            metrics = (await client.get("/metrics", headers=bearer("ana"))).text
    assert [answer.status_code for answer in answers] == [200, 200, 403]
    assert [answer.headers.get("X-Mtagent-Failed") for answer in answers] == ["1", "1", None]
    assert llm.calls == 2
    assert 'mtagent_dollars_total{key="ana"} 0.6' in metrics
    entries = [record.__dict__["entry"] for record in caplog.records if "entry" in record.__dict__]
    assert [entry.get("dollars") for entry in entries[:3]] == [0.3, 0.3, None]
    assert entries[2]["error"] == "the budget is spent: Quota Exceeded"


async def test_the_dollars_of_a_client_that_is_gone_are_counted_by_key(tmp_path: Path) -> None:
    second = asyncio.Event()

    class Waiting(PaidLLM):
        async def complete(self, *args: Any, **options: Any) -> Completion:
            if self.calls == 1:
                second.set()
                await asyncio.sleep(30)
            return await super().complete(*args, **options)

    service = Service(
        llm=Waiting(), translator=lambda text: text, stages="tp", gate="rate", keys=key_file(tmp_path, ana=":$1")
    )
    async with asking(service) as client:
        body = THREE | {"segments": [{"source": "phrase end.", "translation": "frase errado fin."}]}
        asked = asyncio.create_task(client.post("/v1/improve", json=body, headers=bearer("ana")))
        await asyncio.wait_for(second.wait(), 5)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        metrics = (await client.get("/metrics", headers=bearer("ana"))).text
    assert 'mtagent_dollars_total{key="ana"} 0.3' in metrics
    assert 'mtagent_model_dollars_total{model="scripted"} 0.3' in metrics


async def test_a_recalled_reply_costs_its_key_nothing(tmp_path: Path) -> None:
    class Recalling(PaidLLM):
        async def complete(self, *args: Any, **options: Any) -> Completion:
            completion = await super().complete(*args, **options)
            return completion.model_copy(update={"usage": Usage(reused=1)})

    service = Service(llm=Recalling(), translator=lambda text: text, stages="tp", gate="guards")
    async with asking(service) as client:
        await client.post("/translate", json=ONE | {"q": "frase errado fin."})
        metrics = (await client.get("/metrics")).text
    assert 'mtagent_segments_total{key="anybody",state="changed"} 1.0' in metrics
    assert "mtagent_dollars_total{" not in metrics


async def test_the_texts_of_a_request_that_has_spent_its_budget_are_the_mt() -> None:
    texts = [f"frase {number} errado fin." for number in range(5)]
    llm, service = spending(dollars_per_request=0.5)
    async with asking(service) as client:
        for _ in range(ENOUGH_CALLS):  # each request has a budget of its own
            await client.post("/translate", json=ONE | {"q": texts[0]})
        assert llm.calls == ENOUGH_CALLS
        answer = await client.post("/translate", json=ONE | {"q": texts})
        assert (answer.headers["X-Mtagent-Changed"], answer.headers["X-Mtagent-Failed"]) == ("1", "4")
        assert len(set(texts) & set(answer.json()["translatedText"])) == 4
        segments = [{"source": text, "translation": text} for text in texts]
        chains = (await client.post("/v1/improve", json=THREE | {"segments": segments})).json()["chains"]
        assert sorted(chain["changed"] for chain in chains) == [False, False, False, False, True]
        assert llm.calls == ENOUGH_CALLS + 2
        metrics = (await client.get("/metrics")).text
        assert 'mtagent_budget_dollars{budget="request"} 0.5' in metrics
        assert 'mtagent_budget_refusals_total{budget="request"}' in metrics


@pytest.mark.parametrize("limits", [{"dollars_per_request": 0.65}, {"dollars_per_day": 0.65}])
async def test_the_first_request_of_a_server_keeps_its_budgets(limits: dict[str, float], tmp_path: Path) -> None:
    llm, service = spending(tmp_path / "s.db", **limits)
    async with asking(service) as client:
        texts = [f"frase {number} errado fin." for number in range(50)]
        answer = await client.post("/translate", json=ONE | {"q": texts})
    assert (answer.status_code, answer.headers["X-Mtagent-Failed"]) == (200, "48")
    assert llm.calls == 2


@pytest.mark.parametrize(("period", "limit", "spent"), [("request", 0.5, "$0.0000"), ("day", 0.8, "$0.3000")])
async def test_the_log_tells_what_a_budget_has_spent_and_what_calls_in_flight_have_reserved(
    period: str, limit: float, spent: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    llm, service = spending(tmp_path / "s.db", **{f"dollars_per_{period}": limit})
    with caplog.at_level(logging.INFO, logger="mtagent"):
        async with asking(service) as client:
            await client.post("/translate", json=ONE | {"q": "frase errado fin."})
            await client.post("/translate", json=ONE | {"q": ["una frase errado fin.", "otra frase errado fin."]})
    assert llm.calls == 2
    entries = [record.__dict__["entry"] for record in caplog.records if "entry" in record.__dict__]
    assert re.fullmatch(
        rf"BudgetSpent: stopped: \{spent} of the budget of \${limit:.4f} for this {period} is spent, \$0\.3\d+ is "
        r"reserved for calls in flight, and the next call may take \$0\.3\d+",
        entries[-1]["error"],
    )


async def test_a_budget_below_the_cost_of_a_call_allows_the_first_call() -> None:
    llm, service = spending(dollars_per_request=0.2)
    async with asking(service) as client:
        for number in range(1, 4):
            await client.post("/translate", json=ONE | {"q": ["frase errado fin.", "otra frase errado fin."]})
            assert llm.calls == number


async def test_the_budget_of_a_day_holds_for_all_requests_servers_and_restarts(tmp_path: Path) -> None:
    body = ONE | {"q": "frase errado fin."}
    calls = 0
    for _ in range(2):
        services = [spending(tmp_path / "s.db", dollars_per_day=1.0) for _ in range(2)]
        async with asking(services[0][1]) as first, asking(services[1][1]) as second:
            for _ in range(3):
                for client, (_, service) in ((first, services[0]), (second, services[1])):
                    answer = await client.post("/translate", json=body)
                    assert answer.status_code == 200
                    await service.state.flush()
            assert answer.json()["translatedText"] == "frase errado fin."
            metrics = (await first.get("/metrics")).text
            assert 'mtagent_budget_dollars{budget="day"} 1.0' in metrics
            spent = re.search(r'mtagent_budget_spent_dollars{budget="day"} (\S+)', metrics)
            assert spent is not None
            assert float(spent[1]) == pytest.approx(0.9)
            health = (await second.get("/healthz")).json()
            assert health == {
                "status": "degraded",
                "problems": ["what is left of this day's budget might not suffice for the next call"],
            }
        calls += sum(llm.calls for llm, _ in services)
    assert calls == 3, "a fourth one would exceed it"


async def test_a_budget_of_a_day_that_cannot_be_counted_asks_no_model(tmp_path: Path) -> None:
    llm, service = spending(tmp_path / "s.db", dollars_per_day=1.0)
    async with asking(service) as client:
        with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            service.state.spend("ana", characters=1)
            await service.state.flush()
            answer = await client.post("/translate", json=ONE | {"q": "frase errado fin."})
        assert (answer.status_code, answer.json()["translatedText"]) == (200, "frase errado fin.")
        assert llm.calls == 0
        await service.state.flush()
        answer = await client.post("/translate", json=ONE | {"q": "frase errado fin."})
        assert answer.json()["translatedText"] == "frase acertado fin."


async def test_the_health_tells_of_an_mt_system_that_keeps_failing() -> None:
    def failing(text: str) -> str:
        if text.startswith("bad"):
            raise ValueError(text)
        return text

    async with asking(Service(translator=failing, stages="t")) as client:
        texts = [{"source": f"bad {number}"} for number in range(4)]
        await client.post("/v1/improve", json=THREE | {"segments": texts})
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        await client.post("/translate", json=ONE | {"q": "bad"})
        problems = ["the MT system has failed on the last 5 texts"]
        assert (await client.get("/healthz")).json() == {"status": "degraded", "problems": problems}
        await client.post("/translate", json=ONE | {"q": "good"})
        assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_clients_do_not_make_the_health_tell_of_a_failing_mt_system() -> None:
    async def slow(text: str, source_lang: str, target_lang: str) -> str:
        if text == "unknown":
            raise LanguageNeeded("the source language is needed")
        await asyncio.sleep(0.2)
        return text

    async with asking(Service(translator=slow, stages="t")) as client:
        texts = [{"source": f"text {number}"} for number in range(5)]
        hurried = await client.post("/v1/improve", json=THREE | {"segments": texts, "timeout": 0.05})
        assert hurried.headers["X-Mtagent-Late"] == "5"
        for _ in range(5):
            unknown = await client.post("/translate", json=ONE | {"q": "unknown"})
            assert unknown.status_code == 400
        assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_without_an_mt_system_a_spent_budget_is_an_error() -> None:
    service = Service(llm=PaidLLM(), limits=Limits(dollars_per_day=0.2), stages="t")
    async with asking(service) as client:
        assert (await client.post("/translate", json=ONE)).status_code == 200, "the call in flight may exceed it"
        answer = await client.post("/v2/translate", json=TWO | {"source_lang": "EN"})
        assert (answer.status_code, answer.json()) == (456, {"message": "the budget is spent: Quota Exceeded"})


async def test_translations_that_are_paid_for_are_given_although_the_budget_ends_before_the_others() -> None:
    llm = PaidLLM()
    async with asking(Service(llm=llm, stages="t", limits=Limits(dollars_per_request=0.7))) as client:
        for number in range(ENOUGH_CALLS):
            await client.post("/translate", json=ONE | {"q": f"phrase {number} end."})
        texts = [f"other phrase {number} end." for number in range(4)]
        body = THREE | {"segments": [{"source": text} for text in texts]}
        answer = await client.post("/v1/improve", json=body)
        assert (answer.status_code, answer.headers["X-Mtagent-Failed"]) == (200, "2")
        chains = answer.json()["chains"]
        assert sorted(chain["steps"][0]["reason"] for chain in chains if chain["text"] is None) == ["BudgetSpent"] * 2
        assert sum(chain["text"] is not None for chain in chains) == 2
        assert llm.calls == ENOUGH_CALLS + 2
        # Where every text is needed, the request fails.
        assert (await client.post("/translate", json=ONE | {"q": texts})).status_code == 403


@pytest.mark.parametrize("budget", [{"budget": 0.5}, {"token_budget": 10}])
async def test_calls_for_which_the_budget_of_the_whole_server_has_no_room_are_counted(budget: Any) -> None:
    llm = PaidLLM()
    service = Service(Config(**budget), llm=llm, translator=lambda text: text, stages="tp", gate="guards")
    async with asking(service) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        answer = await client.post("/translate", json=ONE | {"q": "frase errado fin."})
        assert (answer.json()["translatedText"], answer.headers["X-Mtagent-Failed"]) == ("frase errado fin.", "1")
        problems = ["what is left of this server's budget might not suffice for the next call"]
        assert (await client.get("/healthz")).json() == {"status": "degraded", "problems": problems}
        metrics = (await client.get("/metrics")).text
    assert llm.calls == 0, "the worst case of a call costs more"
    assert 'mtagent_budget_refusals_total{budget="total"} 1.0' in metrics


async def test_a_budget_in_dollars_needs_prices() -> None:
    limits = Limits(dollars_per_day=1.0, dollars_per_request=0.1)
    service = Service(llm=improving(), translator=shout, stages="tp", limits=limits)
    options = r"^--daily-budget, --request-budget: the price of .* is unknown: .*\(--prices\), .*\(--token-budget\)$"
    with pytest.raises(ConfigError, match=options):
        async with asking(service):
            pass


async def test_a_key_with_a_limit_in_dollars_needs_prices(tmp_path: Path) -> None:
    config = Config(model="unheard-of", base_url="http://127.0.0.1:9/v1")
    service = Service(config, translator=shout, stages="tp", keys=key_file(tmp_path, ana=":$0.50"))
    with pytest.raises(ConfigError, match=r"^--keys \(a key has a limit in \$\): the price of unheard-of is unknown"):
        async with asking(service):
            pass


async def test_texts_that_fail_are_counted_in_each_interface() -> None:
    def broken(text: str) -> str:
        raise RuntimeError

    async with asking(Service(translator=broken)) as client:
        for asked, (path, body) in enumerate([("/translate", ONE), ("/v2/translate", TWO), ("/v1/improve", THREE)], 1):
            await client.post(path, json=body)
            metrics = (await client.get("/metrics")).text
            assert f'mtagent_segments_total{{key="anybody",state="failed"}} {asked}.0' in metrics


async def test_a_request_that_fails_costs_no_characters() -> None:
    def broken(text: str) -> str:
        raise RuntimeError("the engine at 10.0.0.7 with key abc is down")

    async with asking(Service(translator=broken)) as client:
        answer = await client.post("/v2/translate", json=TWO)
        assert answer.status_code == 500
        assert answer.json() == {"message": "the text cannot be translated"}
        assert "Retry-After" not in answer.headers
        assert (await client.get("/v2/usage")).json()["character_count"] == 0
        chain = (await client.post("/v1/improve", json=THREE)).json()["chains"][0]
        assert (chain["state"], chain["steps"][0]["reason"]) == ("failed", "TranslatorError")
        assert "10.0.0.7" not in json.dumps(chain)


# -- sizes and strangers


async def test_large_bodies_and_many_or_long_texts_are_refused() -> None:
    limits = Limits(body=2000, text=100)
    async with asking(Service(translator=shout, limits=limits)) as client:
        declared = await client.post("/v2/translate", content=b"x" * 2001)
        assert (declared.status_code, declared.json()) == (
            413,
            {"message": "the body is too large; the limit is 2000 bytes"},
        )

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(10):
                yield b"x" * 500

        assert (await client.post("/translate", content=pieces())).status_code == 413
        long = await client.post("/translate", json=ONE | {"q": "x" * 101})
        assert (long.status_code, long.json()) == (413, {"error": "a text is too long; the limit is 100 characters"})
    async with asking(Service(translator=shout)) as client:
        many = await client.post("/v1/improve", json=THREE | {"segments": [{"source": "a"}] * 10_000})
        assert (many.status_code, many.json()["error"]) == (
            413,
            "10000 texts are too many; the limit is 50 per request",
        )


async def test_a_foreign_host_and_a_page_of_another_origin_are_refused() -> None:
    asked: list[str] = []
    service = Service(translator=lambda text: asked.append(text) or text)
    async with asking(
        service, host_names=["localhost", "mt.example.org"], allow_origins=["https://ok.example"]
    ) as client:
        for path, body, field in [("/translate", ONE, "error"), ("/v2/translate", TWO, "message")]:
            foreign = await client.post(path, json=body, headers={"Host": "evil.example"})
            assert (foreign.status_code, "--host-name" in foreign.json()[field]) == (400, True)
        evil = await client.post("/translate", data=ONE, headers={"Origin": "https://evil.example"})
        assert (evil.status_code, "access-control-allow-origin" in evil.headers) == (403, False)
        hidden = await client.post("/translate", data=ONE, headers={"Sec-Fetch-Site": "cross-site"})
        assert hidden.status_code == 403
        assert asked == []
        good = await client.post("/translate", json=ONE, headers={"Origin": "https://ok.example"})
        assert (good.status_code, good.headers["access-control-allow-origin"]) == (200, "https://ok.example")
        assert (await client.post("/translate", json=ONE, headers={"Host": "mt.example.org:5000"})).status_code == 200


async def test_html_in_a_text_comes_back_as_json_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    script = "<script>alert('secret text')</script>"
    with caplog.at_level(logging.INFO, logger="mtagent"):
        async with asking(Service(translator=str.lower)) as client:
            answer = await client.post("/translate", json=ONE | {"q": script})
            assert answer.headers["content-type"] == "application/json"
            assert answer.json() == {"translatedText": script}
            bad = await client.post("/translate", json=ONE | {"source": script})
            assert bad.headers["content-type"] == "application/json"
    entries = [record.__dict__.get("entry") for record in caplog.records if record.name == "mtagent.serve"]
    assert [entry["status"] for entry in entries if entry] == [200, 400]
    assert "secret" not in str(entries)


HALF = '"a \\ud800"'
IMPROVE = b'{"segments": [{"source": "a", "translation": "b"}], "source_lang": "en", "target_lang": "es"}'
GLOSSARY = '"name": "g", "source_lang": "en", "target_lang": "es", "entries_format": "tsv", "entries": '


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", f'{{"q": {HALF}, "source": "en", "target": "es"}}'),
        ("/translate", f'{{"q": "a", "source": "en", "target": {HALF}}}'),
        ("/v2/translate", f'{{"text": ["a"], "target_lang": "ES", "source_lang": "EN", "glossary_id": {HALF}}}'),
        ("/v2/translate", f'{{"text": ["a"], "target_lang": "ES", {HALF}: 1}}'),
        ("/v2/glossaries", f"{{{GLOSSARY}{HALF}}}"),
        ("/v1/improve", f'{{"segments": [{{"source": "a", "id": {HALF}}}], "source_lang": "en", "target_lang": "es"}}'),
        ("/v1/improve", f'{{"segments": [{{"source": "a"}}], {HALF}: 1}}'),
        ("/v1/improve", f'{{"segments": [{{"source": "a", "terms": {{"a": {HALF}}}}}]}}'),
    ],
)
async def test_half_of_a_character_is_no_text(path: str, body: str) -> None:
    async with asking(Service(llm=improving())) as client:
        answer = await client.post(path, content=body.encode(), headers={"Content-Type": "application/json"})
        assert answer.status_code == 400
        assert "a text contains half of a character (a lone surrogate)" in answer.text


FORM = "application/x-www-form-urlencoded"
PART = b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\n%s\r\n--b--\r\n'
IN_PARTS = "multipart/form-data; boundary=b"


@pytest.mark.parametrize(
    ("content", "content_type", "text"),
    [
        (b"q=caf%C3%A9+%26", FORM, "CAFÉ &"),
        (b"q=caf\xc3\xa9", FORM, "CAFÉ"),
        (b"q=%EF%BF%BD", FORM, "\ufffd"),
        (b"q=a&q=b&q=", FORM, ["A", "B", ""]),
        (b"q=caf%E9", FORM, None),
        (b"q=caf\xe9", FORM, None),
        (b"q=%ED%A0%BD", FORM, None),
        (PART % b"caf\xc3\xa9", IN_PARTS, "CAFÉ"),
        (PART % b"caf\xe9", IN_PARTS, None),
        (PART % b"caf\xe9", f"{IN_PARTS}; charset=latin-1", None),
    ],
)
async def test_a_form_is_utf_8(content: bytes, content_type: str, text: object) -> None:
    async with asking(Service(translator=shout)) as client:
        headers = {"Content-Type": content_type}
        answer = await client.post("/translate?source=en&target=es", content=content, headers=headers)
        answers = [answer]
        if content_type == FORM and content.isascii():
            answers.append(await client.post(f"/translate?{content.decode()}&source=en&target=es"))
        for answer in answers:
            if text is None:
                assert (answer.status_code, answer.json()) == (400, {"error": "q: the text is not UTF-8"})
            else:
                assert answer.json() == {"translatedText": text}


@pytest.mark.parametrize(
    ("content", "content_type", "message"),
    [
        (b"caf%E9=1", FORM, "the name of a field is not UTF-8"),
        (b"&".join([b"q=a"] * 1001), FORM, "more than 1000 fields"),
        (PART % b"a", "multipart/form-data", "Missing boundary in multipart."),
    ],
)
async def test_a_form_that_cannot_be_read_is_refused(content: bytes, content_type: str, message: str) -> None:
    async with asking(Service(translator=shout)) as client:
        answer = await client.post("/v2/translate", content=content, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()) == (400, {"message": message})


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/v1/improve"])
async def test_a_body_that_is_not_json_is_refused_with_the_place_and_logged_under_its_key(
    path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="mtagent.serve"):
        async with asking(Service(translator=shout, keys=key_file(tmp_path, ana=""))) as client:
            headers = bearer("ana") | {"Content-Type": "application/json"}
            answer = await client.post(path, content=b'{"source": ', headers=headers)
    message = "the body is not JSON: character 12: Expecting value"
    assert (answer.status_code, list(answer.json().values())) == (400, [message])
    entries = [record.__dict__["entry"] for record in caplog.records if "entry" in record.__dict__]
    assert [entry["key"] for entry in entries] == ["ana"]


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (IMPROVE, "application/json; charset=utf-8", 200),
        (IMPROVE, "application/vnd.example+json", 200),
        (IMPROVE.decode().encode("utf-16"), "application/json", 200),
        (IMPROVE, "text/plain", 400),
    ],
)
async def test_segments_are_json(body: bytes, content_type: str, status: int) -> None:
    async with asking(Service(llm=improving())) as client:
        answer = await client.post("/v1/improve", content=body, headers={"Content-Type": content_type})
        assert answer.status_code == status, answer.text


async def test_a_source_language_that_nobody_finds_out_is_named() -> None:
    translator = CallableTranslator(lambda text, source, target: text, langs=["en", "es"])
    async with asking(Service(translator=translator)) as client:
        unknown = await client.post("/translate", json=ONE | {"q": "12 34", "source": "auto"})
        assert (unknown.status_code, "name its source language" in unknown.json()["error"]) == (400, True)


# -- what is kept


@pytest.mark.parametrize("keep", ["none", "hashes", "texts"])
async def test_what_the_operator_keeps_of_texts_can_be_read_by_their_key_alone(tmp_path: Path, keep: Any) -> None:
    path, text = tmp_path / "s.db", "a rather secret text"
    keys = key_file(tmp_path, ana="", bo="")
    async with asking(Service(translator=shout, state=path, keep=keep, keys=keys)) as client:
        for source in ("another one", text):
            await client.post("/translate", json=ONE | {"q": source}, headers=bearer("ana"))
        mine = (await client.get("/v1/segments", params={"source": text}, headers=bearer("ana"))).json()["segments"]
        assert (await client.get("/v1/segments", headers=bearer("bo"))).json() == {"segments": []}
        both = (await client.get("/v1/segments", headers=bearer("ana"))).json()["segments"]
        assert (await client.get("/v1/segments", params={"limit": 0}, headers=bearer("ana"))).status_code == 400
        assert (await client.get("/v1/segments")).status_code == 401
    assert (text.encode() in path.read_bytes()) == (keep == "texts")
    if keep == "none":
        assert mine == both == []
        return
    assert [row["state"] for row in mine] == ["unchanged"]
    assert (mine[0]["text"] == text.upper()) == (keep == "texts")
    assert len(mine[0]["source"]) == (20 if keep == "texts" else 64)
    assert len(both) == 2
    assert both[0] == mine[0]


# -- life and death


async def test_a_late_chain_gives_the_mt_alone_and_says_so() -> None:
    class Slow(ScriptedLLM):
        async def complete(self, *args: Any, **options: Any) -> Completion:
            await asyncio.sleep(30)
            raise AssertionError

    service = Service(translator=shout, llm=Slow([]), stages="tp", limits=Limits(deadline=0.2))
    async with asking(service) as client:
        answer = await client.post("/translate", json=ONE)
        assert (answer.json()["translatedText"], answer.headers["X-Mtagent-Late"]) == ("ONE", "1")
        chain = (await client.post("/v1/improve", json=THREE | {"timeout": 60})).json()["chains"][0]
        assert (chain["text"], chain["late"]) == ("ONE", True)


async def test_where_the_models_refuse_all_work_the_answer_is_the_mt_alone_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Refusing(ScriptedLLM):
        async def complete(self, *args: Any, **options: Any) -> Completion:
            raise AuthenticationError("the key was refused")

    async def slow(text: str) -> str:
        await asyncio.sleep(3 if text == "late" and not asked else 0)
        asked.append(text)
        return text.upper()

    asked: list[str] = []
    service = Service(translator=slow, llm=Refusing([]), stages="tp", concurrency=2)
    with caplog.at_level(logging.INFO, logger="mtagent"):
        async with asking(service) as client:
            for path, body in (("/translate", ONE), ("/v2/translate", TWO)):
                answer = await client.post(path, json=body)
                assert (answer.status_code, "ONE" in answer.text) == (200, True)
                assert answer.headers["X-Mtagent-Failed"] == "1"
            asked.clear()
            texts = ["late", *(f"text {number}" for number in range(40))]
            many = await client.post("/translate", json=ONE | {"q": texts})
            assert many.json()["translatedText"] == [text.upper() for text in texts]
            assert many.headers["X-Mtagent-Failed"] == "41"
    entries = [record.__dict__["entry"] for record in caplog.records if "entry" in record.__dict__]
    assert {entry["error"] for entry in entries} == {"AuthenticationError"}


@pytest.mark.loopback
@pytest.mark.parametrize("log_texts", [False, True])
async def test_a_client_s_text_that_a_model_server_quotes_is_logged_only_with_log_texts(
    log_texts: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(request: Request) -> Answer:
        found = "treasure" if "treasure" in request.body else ""
        return Answer(json.dumps({"error": {"message": f"invalid input: {found}"}}), 401)

    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with scripted_server() as server, json_log(log_texts):
        server.answer = refuse
        config = Config(base_url=f"{server.url}/v1", model="m", stages="tp")  # type: ignore[arg-type]
        async with asking(Service(config, translator=lambda text: text, log_texts=log_texts)) as client:
            answer = await client.post("/translate", json=ONE | {"q": "treasure"})
            assert answer.json() == {"translatedText": "treasure"}
        refused = AuthenticationError("invalid input: treasure")
        failure = RequestFailure(ServerError, "invalid input: treasure", 500)
        logging.getLogger("mtagent.llm").warning("%s; its requests go to the other endpoints for a while", refused)
        logging.getLogger("mtagent.llm").warning("%s keeps failing (%s): for %.0f s", "m", failure, 9)
    log = capsys.readouterr().err
    assert ("treasure" in log) == log_texts
    if not log_texts:
        entry, endpoint, failing = map(json.loads, log.splitlines())
        assert entry["error"] == "AuthenticationError: HTTP 401"
        assert endpoint["message"] == "AuthenticationError; its requests go to the other endpoints for a while"
        assert failing["message"] == "m keeps failing (HTTP 500): for 9 s"


class Reviewing(ScriptedLLM):
    """Finds no error, unless the text is in ``errors``. ``asked`` has the number of calls."""

    def __init__(self, **errors: Exception) -> None:
        super().__init__([])
        self.errors, self.asked = errors, 0

    async def complete(self, messages: Any, **options: Any) -> Completion:
        self.asked += 1
        for text, error in self.errors.items():
            if text in messages[-1].content:
                raise error
        return Completion(text='{"errors": []}', model="m", usage=Usage(calls=1, input_tokens=10, output_tokens=5))


def refuse_connection() -> None:
    raise ConnectionRefusedError("secret")


def refuse_connection_as_a_library_says_it() -> None:
    try:
        refuse_connection()
    except OSError as error:
        raise RuntimeError("secret") from error


def fail_after_a_connection_that_does_not_matter() -> None:
    try:
        refuse_connection()
    except OSError:
        raise ValueError("secret") from None


def fail() -> None:
    raise RuntimeError("secret")


MT_FAULTS = [
    pytest.param(fail, 500, "TranslatorError: RuntimeError", id="exception"),
    pytest.param(fail_after_a_connection_that_does_not_matter, 500, "TranslatorError: ValueError", id="from None"),
    pytest.param(refuse_connection, 503, "TranslatorError: ConnectionRefusedError", id="connection"),
    pytest.param(
        refuse_connection_as_a_library_says_it, 503, "TranslatorError: RuntimeError, ConnectionRefusedError",
        id="connection of a library",
    ),
    pytest.param("command:echo secret >&2; exit 7", 500, "TranslatorError: exit code 7", id="command"),
]  # fmt: skip


async def test_if_the_mt_fails_on_one_text_the_request_fails_before_a_model_is_asked() -> None:
    def broken(text: str) -> str:
        if text == "text 17":
            raise RuntimeError("no translation")
        return text.upper()

    llm, texts = Reviewing(), [f"text {number}" for number in range(50)]
    async with asking(Service(translator=broken, llm=llm, stages="tp")) as client:
        for path, body in (("/translate", ONE | {"q": texts}), ("/v2/translate", TWO | {"text": texts})):
            assert (await client.post(path, json=body)).status_code == 500
        assert llm.asked == 0
        # The service's own interface reports each text alone.
        segments = [{"source": text} for text in texts]
        chains = (await client.post("/v1/improve", json=THREE | {"segments": segments})).json()["chains"]
        assert [chain["segment"]["id"] for chain in chains if chain["state"] == "failed"] == ["18"]
        assert llm.asked == 49


@pytest.mark.parametrize(("fault", "status", "cause"), MT_FAULTS)
async def test_the_log_has_the_cause_of_a_failure_of_the_mt_and_no_text(
    fault: Callable[[], None] | str, status: int, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(text: str) -> str:
        assert callable(fault)
        fault()
        return text

    caplog.set_level(logging.INFO, logger="mtagent.serve")
    translator = fault if isinstance(fault, str) else broken
    async with asking(Service(translator=translator, evaluator="rules", stages="tp")) as client:
        for path, body in (("/translate", ONE), ("/v2/translate", TWO)):
            answer = await client.post(path, json=body)
            assert (answer.status_code, answer.headers.get("Retry-After")) == (status, "1" if status == 503 else None)
            assert set(answer.json().values()) == {"the text cannot be translated"}
            assert caplog.records[-1].__dict__["entry"]["error"] == cause
        segments = [{"source": "one"}, {"source": "two", "translation": "dos"}]
        chains = await client.post("/v1/improve", json=THREE | {"segments": segments})
        assert caplog.records[-1].__dict__["entry"]["failures"] == {cause: 1}
        assert [chain["state"] for chain in chains.json()["chains"]] == ["failed", "unchanged"]
        assert "secret" not in chains.text + str([record.__dict__ for record in caplog.records])


async def test_if_the_models_fail_on_one_text_it_is_the_mt_and_header_and_log_say_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="mtagent.serve")
    llm = Reviewing(BAD=Refused("I cannot help with that"))
    async with asking(Service(translator=shout, llm=llm, stages="tp")) as client:
        answer = await client.post("/translate", json=ONE | {"q": ["one", "bad", "two"]})
        assert answer.json() == {"translatedText": ["ONE", "BAD", "TWO"]}
        assert answer.headers["X-Mtagent-Failed"] == "1"
        assert caplog.records[-1].__dict__["entry"]["failures"] == {"Refused": 1}
        segments = [{"id": "same", "source": source} for source in ("one", "bad", "two")]
        for accept in ("application/json", "application/x-ndjson"):
            answer = await client.post("/v1/improve", json=THREE | {"segments": segments}, headers={"Accept": accept})
            lines = answer.text.splitlines()
            chains = answer.json()["chains"] if accept == "application/json" else [json.loads(line) for line in lines]
            assert [(chain["text"], chain["state"]) for chain in chains] == [
                ("ONE", "unchanged"), ("BAD", "failed"), ("TWO", "unchanged"),
            ]  # fmt: skip
        assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_a_model_whose_server_asks_for_a_long_pause_is_left_alone_and_everybody_can_see_it() -> None:
    pause = ServerPaused("come back later")
    pause.seconds = 3600
    llm = Reviewing(ONE=pause)
    async with asking(Service(translator=shout, llm=llm, stages="tp")) as client:
        for _ in range(2):
            answer = await client.post("/translate", json=ONE)
            assert (answer.status_code, answer.json()) == (200, {"translatedText": "ONE"})
            assert answer.headers["X-Mtagent-Paused"] == "1"
        assert llm.asked == 1
        health = await client.get("/healthz")
        assert (health.status_code, health.json()["status"]) == (200, "degraded")
        assert 3500 < health.json()["resting_models"][llm.model] <= 3600
        assert (await client.get("/livez")).status_code == 200
        assert {(await client.head(path)).status_code for path in ("/healthz", "/health", "/livez")} == {200}
        metrics = (await client.get("/metrics")).text
        assert f'mtagent_model_resting{{model="{llm.model}"}} 1.0' in metrics
        assert f'mtagent_model_errors_total{{error="ServerPaused",model="{llm.model}"}} 1.0' in metrics
        assert 'mtagent_paused_total{key="anybody"} 2.0' in metrics


async def test_where_the_model_that_rests_is_the_mt_system_the_server_says_when_to_come_back() -> None:
    pause = ServerPaused("come back later")
    pause.seconds = 50
    async with asking(Service(llm=Reviewing(one=pause), stages="tp")) as client:
        for _ in range(2):
            answer = await client.post("/translate", json=ONE)
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "50")
        alone = await client.post("/v1/improve", json=THREE)
        assert (alone.status_code, alone.headers["Retry-After"]) == (503, "50")
        # A text with a translation doesn't depend on one without.
        segments = [{"source": "one", "translation": "uno"}, {"source": "two"}]
        answer = await client.post("/v1/improve", json=THREE | {"segments": segments})
        assert [chain["text"] for chain in answer.json()["chains"]] == ["uno", None]
        assert (answer.status_code, answer.headers["X-Mtagent-Paused"]) == (200, "2")
        health = await client.get("/healthz")
        assert (health.status_code, health.json()["status"]) == (503, "unavailable")


async def test_a_request_without_words_is_not_the_trial_of_a_model_that_has_rested() -> None:
    llm, clock = Reviewing(), FakeClock()
    service = Service(translator=lambda text: text, llm=llm, stages="tp")
    service.breaker = Breaker(10.0, clock=clock)
    for _ in range(OUTAGE_FAILURES):
        service.breaker.failed(llm.model, OUTAGE_SECONDS)
    async with asking(service) as client:
        await clock.sleep(LONGEST_REST)
        for segments in ([], [{"source": " "}]):
            empty = await client.post("/v1/improve", json=THREE | {"segments": segments})
            assert empty.status_code == 200
        assert llm.asked == 0
        answer = await client.post("/translate", json=ONE)
        assert (llm.asked, answer.headers.get("X-Mtagent-Paused")) == (1, None)


async def test_calls_to_models_are_counted_by_model() -> None:
    llm = Reviewing(BAD=Refused("I cannot help with that"))
    async with asking(Service(translator=shout, llm=llm, stages="tp")) as client:
        await client.post("/translate", json=ONE | {"q": ["one", "bad", "two"]})
        metrics = (await client.get("/metrics")).text
    name = f'model="{llm.model}"'
    assert f"mtagent_model_calls_total{{{name}}} 3.0" in metrics
    assert f'mtagent_model_errors_total{{error="Refused",{name}}} 1.0' in metrics
    assert f"mtagent_model_seconds_count{{{name}}} 3.0" in metrics
    assert f'mtagent_model_tokens_total{{direction="input",{name}}} 20.0' in metrics


async def test_stages_that_do_not_translate_are_refused_beside_a_translator_and_else_say_so() -> None:
    with pytest.raises(ConfigError, match="--stages: with a --translator the first stage must be"):
        Service(Config(stages="pe"), translator=shout, llm=improving())  # type: ignore[arg-type]
    async with asking(Service(Config(stages="pe"), llm=improving())) as client:  # type: ignore[arg-type]
        answer = await client.post("/translate", json=ONE)
        assert (answer.status_code, answer.json()["error"]) == (
            400,
            "this server does not translate; send translations to /v1/improve",
        )


async def test_the_work_of_a_client_that_is_gone_is_cancelled() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(text: str) -> str:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return text

    service = Service(translator=slow)
    from mtagent.serve.app import make_app

    app = make_app(service)
    body = json.dumps(ONE).encode()
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {
        "type": "http", "method": "POST", "path": "/translate", "raw_path": b"/translate", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "http_version": "1.1",
        "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    async with app.router.lifespan_context(app):
        await asyncio.wait_for(app(scope, receive, send), 5)
        await asyncio.wait_for(ended.wait(), 5)
    assert service.is_idle


async def test_health_and_refusal_while_closing_and_too_many_at_once(tmp_path: Path) -> None:
    going, free = asyncio.Event(), asyncio.Event()

    async def slow(text: str) -> str:
        going.set()
        await free.wait()
        return text

    service = Service(translator=slow, limits=Limits(in_flight=1))
    async with asking(service) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        first = asyncio.create_task(client.post("/translate", json=ONE))
        await going.wait()
        busy = await client.post("/translate", json=ONE)
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
        service.closing = True
        closing: httpx.Response = await client.post("/v2/translate", json=TWO)
        assert (closing.status_code, closing.json()) == (503, {"message": "the server is being stopped"})
        assert (await client.get("/healthz")).status_code == 503
        free.set()
        assert (await first).status_code == 200


async def asked_until_the_grace_ends(service: Service, path: str, body: Any, **headers: str) -> httpx.Response:
    """The answer of a server that stops while it works on the request, after what can be done has been done."""
    async with asking(service) as client:
        asked = asyncio.create_task(client.post(path, json=body, headers=headers, timeout=30))
        await asyncio.sleep(0.5)
        assert not asked.done()
        service.closing = True
        service.end_work()
        return await asked


class HangsOnSecond(ScriptedLLM):
    """Edits nothing, and never answers about the text "second"."""

    async def complete(self, messages: Any, **options: Any) -> Completion:
        await asyncio.sleep(3600 if "second" in str(messages).lower() else 0)
        return Completion(text="{}", model="m", finish_reason="stop", usage=Usage(calls=1))


@pytest.mark.parametrize("context", [0, 1])
async def test_texts_that_are_translated_when_the_grace_ends_are_returned_as_late(context: int, tmp_path: Path) -> None:
    def service() -> Service:
        config = Config(context=context)
        return Service(config, translator=shout, llm=HangsOnSecond([]), stages="tp", gate="guards", **kept)

    kept: dict[str, Any] = {"state": tmp_path / "s.db", "keep": "texts", "limits": Limits(deadline=60)}
    body = {"q": ["first", "second"], "source": "en", "target": "es"}
    answer = await asked_until_the_grace_ends(service(), "/translate", body)
    assert (answer.status_code, answer.json()["translatedText"]) == (200, ["FIRST", "SECOND"])
    assert answer.headers["X-Mtagent-Late"] == str(1 + context), "with context, the texts are one piece of work"
    segments = {"segments": [{"source": "first"}, {"source": "second"}], "source_lang": "en", "target_lang": "es"}
    answer = await asked_until_the_grace_ends(service(), "/v1/improve", segments, accept="application/x-ndjson")
    chains = [json.loads(line) for line in answer.text.splitlines()]
    assert [chain["text"] for chain in chains] == ["FIRST", "SECOND"]
    assert chains[1]["late"]
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        assert db.execute("SELECT characters FROM usage").fetchall() == [(2 * len("firstsecond"),)]
        assert db.execute("SELECT source FROM segments").fetchall() == [("first",), ("second",)] * 2


async def test_texts_that_a_client_left_before_the_answer_are_neither_counted_nor_kept(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"state": tmp_path / "s.db", "keep": "texts", "limits": Limits(deadline=60)}
    service = Service(translator=shout, llm=HangsOnSecond([]), stages="tp", gate="guards", **parts)
    body = {"q": ["first", "second"], "source": "en", "target": "es"}
    async with asking(service) as client:
        asked = asyncio.create_task(client.post("/translate", json=body))
        await asyncio.sleep(0.5)
        asked.cancel()
        await asyncio.wait([asked])
        assert "mtagent_segments_total{" not in (await client.get("/metrics")).text
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        assert db.execute("SELECT source FROM segments").fetchall() == []


async def test_a_request_with_a_text_that_is_not_translated_when_the_grace_ends_costs_nothing(tmp_path: Path) -> None:
    async def hangs(text: str) -> str:
        await asyncio.sleep(3600 if text == "second" else 0)
        return text.upper()

    service = Service(translator=hangs, stages="t", state=tmp_path / "s.db", keep="texts", limits=Limits(deadline=60))
    body = {"q": ["first", "second"], "source": "en", "target": "es"}
    answer = await asked_until_the_grace_ends(service, "/translate", body)
    assert (answer.status_code, answer.json()) == (503, {"error": "the server is being stopped"})
    assert not [name for name in answer.headers if name.startswith("x-mtagent")]
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        assert db.execute("SELECT characters FROM usage").fetchall() == [(0,)]
        assert db.execute("SELECT source FROM segments").fetchall() == []


async def test_metrics_need_a_key_where_keys_are_set(tmp_path: Path) -> None:
    async with asking(Service(translator=shout, keys=key_file(tmp_path, ana=""))) as client:
        assert (await client.get("/metrics")).status_code == 401
        assert "mtagent_requests" in (await client.get("/metrics", headers=bearer("ana"))).text
