"""The log of all calls to models, which is the call cache as well.

A call is written at once when its reply arrives, so that a killed run loses only the calls in flight.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter
from sqlite3 import Connection
from typing import Any

from mtagent.records import Call, Completion, TokenLogprob, Usage
from mtagent.store.database import Database, now
from mtagent.store.rows import (
    insert_texts,
    keep_text,
    pack_messages,
    pack_tool_calls,
    text_hash,
    unpack_tool_calls,
)

logger = logging.getLogger(__name__)

_INSERT = f"""INSERT INTO calls (run_id, segment, purpose, key, model, messages, reply, tool_calls, reply_model,
    finish_reason, logprobs, error, calls, input_tokens, cached_tokens, cache_write_tokens,
    output_tokens, reasoning_tokens, batched, cost, seconds, at, retries, waited, endpoint,
    in_batch) VALUES ({", ".join("?" * 26)})"""

_USAGE_FIELDS = (
    *("calls", "input_tokens", "cached_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens", "batched", "cost"),
)

# The own call first: what this segment has paid for is accounted to it, and not as reused.
_RECALL = """SELECT :run_id > 0 AND calls.run_id = :run_id AS is_of_run,
    :run_id > 0 AND calls.run_id = :run_id AND calls.segment = :segment AS own, texts.hash, texts.text,
    reply_model, finish_reason, logprobs, tool_calls, calls, input_tokens, cached_tokens, cache_write_tokens,
    output_tokens, reasoning_tokens, batched, cost
    FROM calls JOIN texts ON texts.hash = calls.reply
    WHERE calls.key = :key AND calls.error IS NULL ORDER BY own DESC, is_of_run DESC, calls.id LIMIT 1"""

_USAGE = """SELECT CAST(model AS TEXT), total(calls), total(input_tokens), total(cached_tokens),
    total(cache_write_tokens), total(output_tokens), total(reasoning_tokens), total(batched), sum(cost)
    FROM calls WHERE run_id = ?
    GROUP BY model, cost IS NULL, cost IS NULL AND input_tokens + output_tokens = 0"""

_EACH_USAGE = """SELECT id, CAST(model AS TEXT), calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens,
    reasoning_tokens, batched, cost FROM calls WHERE run_id = ? AND id > ? ORDER BY id LIMIT ?"""
_PAGE = 1000  # calls held in memory at once while the calls of a run are read

# A useless attempt has a row of its own, without seconds: the row of its call counts them. Those of a call in a batch
# are the time that it took to read its result.
_LATENCY = "iif(in_batch, NULL, seconds)"

_CALLS = f"""SELECT id, segment, purpose, model, endpoint, retries, error IS NOT NULL AS failed,
    {_LATENCY} AS seconds, waited, input_tokens, output_tokens, cost FROM calls WHERE run_id = :run"""
_OVERVIEW = {
    "totals": f"""SELECT purpose, model, endpoint, sum(seconds > 0) AS calls,
        sum(seconds > 0 AND error IS NOT NULL AND reply IS NULL) AS failed,
        sum(seconds > 0 AND error IS NOT NULL AND reply IS NOT NULL) AS unusable,
        count(retries) AS repeated, sum({_LATENCY}) AS seconds,
        coalesce(avg(nullif({_LATENCY}, 0)), min({_LATENCY})) AS mean, max({_LATENCY}) AS slowest,
        sum(waited) AS waited, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        CASE count(*) WHEN count(cost) THEN sum(cost) END AS cost
        FROM calls WHERE run_id = :run GROUP BY purpose, model, endpoint ORDER BY sum(seconds) DESC""",
    "slowest": f"{_CALLS} AND {_LATENCY} > 0 ORDER BY seconds DESC, id LIMIT :most",
    "most_expensive": f"{_CALLS} AND cost > 0 ORDER BY cost DESC, id LIMIT :most",
    "causes": """SELECT purpose, model, json_each.value AS cause, count(*) AS times, count(DISTINCT calls.id) AS calls
        FROM calls, json_each(calls.retries) WHERE run_id = :run GROUP BY purpose, model, cause ORDER BY times DESC""",
}

# A run that was continued with further endpoints has calls without a name of one.
_ENDPOINTS = "SELECT count(DISTINCT coalesce(endpoint, '')) FROM calls WHERE run_id = :run"

_DISTRUST = """UPDATE calls SET error = ? WHERE id IN (SELECT id FROM calls WHERE run_id = ? AND segment = ?
    UNION SELECT id FROM calls WHERE key IN (SELECT value FROM json_each(?)))
    AND messages = ? AND reply = ? AND tool_calls IS ? AND error IS NULL"""

_UNFINISHED = """run_id = :run AND id > :after AND error IS NOT NULL
    AND segment NOT IN (SELECT segment FROM segments WHERE run_id = :run
        AND (state <> 'failed' OR position IN (SELECT value FROM json_each(:failed))))
    AND key NOT IN (SELECT key FROM calls WHERE run_id = :run AND error IS NULL)"""

_FORGOTTEN = f"SELECT {', '.join(f'total({field})' for field in _USAGE_FIELDS)} FROM calls WHERE {_UNFINISHED}"

OUTSIDE = -1
"""The run's number of calls that were made outside of runs, for no segment of one."""
_MOST_CHAINS = 10_000  # more than are ever made at the same time; bounds the memory where no chains are saved


def is_uncounted(usage: Usage) -> bool:
    """Whether the server did not report the tokens of a request."""
    return bool(usage.calls and usage.cost is None and not usage.input_tokens + usage.output_tokens)


CallOverview = dict[str, list[dict[str, Any]]]
"""Rows by the names of their columns, in several tables."""


class CallLog:
    """The tables ``calls`` and ``texts``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # (run, segment) → keys of paid calls whose usage went into the chain that is being made. A second use of the
        # same reply in this chain must not count it again. Emptied when the chain is saved, so it stays small.
        self._accounted: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
        # The same for the keys of recalled replies, so that they can be distrusted even if another run paid for them.
        self._recalled: defaultdict[tuple[int, str], set[str]] = defaultdict(set)

    def record(
        self, run_id: int, segment: str, purpose: str, key: str, call: Call, completion: Completion | None
    ) -> None:
        """Write one call to a model at once. ``key`` is a hash of all that was sent; without a ``completion`` the call
        has failed, is accounted for and never recalled.
        """
        texts: dict[str, str] = {}
        with self._database.writing(f"segment {segment!r}") as connection:
            row = _call_row(run_id, segment, purpose, key, call, completion, texts)
            insert_texts(connection, texts)
            connection.execute(_INSERT, row)
        if completion is not None:
            _note(self._accounted, run_id, segment, key)

    def recall(self, run_id: int, segment: str, key: str) -> Completion | None:
        """The reply to an equal request of any run.

        It has the usage of its call if this segment of this run paid for it and the current chain has not counted it
        yet; otherwise it costs nothing now: ``Usage(reused=1)``, with what another run paid as ``saved``.
        """
        parameters = {"run_id": run_id, "segment": segment, "key": key}
        rows = self._database.query(_RECALL, parameters, f"segment {segment!r}")
        if not rows:
            return None
        is_of_run, is_own, address, text, model, finish_reason, logprobs, tool_calls, *numbers = rows[0]
        if not isinstance(text, str) or text_hash(text) != address:  # a new reply will replace it
            logger.warning(f"{self._database.path}: the stored text {address} is damaged: its call is made again")
            return None
        _note(self._recalled, run_id, segment, key)
        with self._database.intact(f"the reply for segment {segment!r}"):
            if is_own and self._account(run_id, segment, key):
                usage = _usage(numbers)
            elif is_of_run:
                usage = Usage(reused=1)
            else:
                usage = Usage(reused=1, saved=_usage(numbers))
            tokens = None
            if logprobs is not None:
                tokens = tuple(TokenLogprob(token=token, logprob=value) for token, value in json.loads(logprobs))
            return Completion(
                text=text,
                model=model,
                finish_reason=finish_reason,
                usage=usage,
                logprobs=tokens,
                tool_calls=unpack_tool_calls(tool_calls),
            )

    def usage(self, run_id: int) -> Usage:
        """What a run has paid, failed calls included."""
        return Usage.total(usage for _, usage in self.usages(run_id))

    def usages(self, run_id: int) -> list[tuple[str, Usage]]:
        """The same by model, separately for calls with a price, without a price, and without counts."""
        rows = self._database.query(_USAGE, (run_id,))
        with self._database.intact("the calls of a run"):
            return [(model, _usage([*map(int, numbers), cost])) for model, *numbers, cost in rows]

    def each_usage(self, run_id: int) -> Iterator[tuple[str, Usage]]:
        """The same call by call, read page by page: some prices depend on the length of a single prompt."""
        last = 0
        while rows := self._database.query(_EACH_USAGE, (run_id, last, _PAGE)):
            with self._database.intact("the calls of a run"):
                usages = [(model, _usage(values)) for _, model, *values in rows]
            yield from usages
            last = rows[-1][0]

    def overview(self, run_id: int, most: int) -> CallOverview:
        """The calls of a run: ``totals`` by purpose and model, at most ``most`` of the ``slowest`` and the
        ``most_expensive``, and the ``causes`` for which requests were sent again.

        All except the causes have the ``endpoint`` that got the last request, if the run used several.
        """
        overview: CallOverview = {}
        with self._database.reading("the calls of a run") as connection:
            for name, sql in _OVERVIEW.items():
                rows = connection.execute(sql, {"run": run_id, "most": most})
                names = [column for column, *_ in rows.description]
                overview[name] = [dict(zip(names, row, strict=True)) for row in rows]
            endpoints = connection.execute(_ENDPOINTS, {"run": run_id}).fetchone()[0]
        if endpoints < 2:
            for row in (*overview["totals"], *overview["slowest"], *overview["most_expensive"]):
                del row["endpoint"]
        for call in (*overview["slowest"], *overview["most_expensive"]):
            call["retries"] = json.loads(call["retries"] or "[]")
            call["failed"] = bool(call["failed"])
        return overview

    def distrust(self, key: str, reply: str, error: str) -> bool:
        """Mark a stored ``reply`` to the request ``key`` as failed, because of ``error``, so that it is not recalled
        again. Returns whether it was stored.
        """
        sql = "UPDATE calls SET error = ? WHERE key = ? AND reply = ? AND error IS NULL"
        with self._database.writing() as connection:
            return connection.execute(sql, (error, key, text_hash(reply))).rowcount > 0

    def distrust_calls(self, connection: Connection, run_id: int, segment: str, calls: Iterable[Call]) -> None:
        """The same for the replies among the ``calls`` of a ``segment`` that could not be used: they would be refused
        again. They are its own, or were recalled while it was worked on.
        """
        recalled = json.dumps(sorted(self._recalled.get((run_id, segment), ())))
        for call in calls:
            if call.error and call.reply is not None:
                request = (pack_messages(call.messages, {}), text_hash(call.reply), pack_tool_calls(call.tool_calls))
                connection.execute(_DISTRUST, (call.error, run_id, segment, recalled, *request))

    def forget(self, run_id: int, segment: str) -> None:
        """The chain of this segment is complete: what follows belongs to a new one."""
        self._accounted.pop((run_id, segment), None)
        self._recalled.pop((run_id, segment), None)

    def newest(self) -> int:
        """The number of the newest call."""
        return int(self._database.query("SELECT coalesce(max(id), 0) FROM calls")[0][0])

    def answered(self, run_id: int) -> set[str]:
        """The keys of all requests of a run whose replies are stored."""
        rows = self._database.query("SELECT DISTINCT key FROM calls WHERE run_id = ? AND error IS NULL", (run_id,))
        return {key for (key,) in rows}

    def forget_unfinished(self, run_id: int, after: int, failed: Iterable[int] = ()) -> Usage:
        """Forget failed calls of unfinished segments, except at the positions ``failed``: their chains restart.

        These are the calls since the call ``after``. They will be recorded again when the same replies are read again.
        Attempts of a call that succeeded stay: that call is recalled. Returns the usage of the forgotten calls.
        """
        self._accounted.clear()
        self._recalled.clear()
        parameters = {"run": run_id, "after": after, "failed": json.dumps(sorted(failed))}
        with self._database.writing() as connection:
            *numbers, cost = connection.execute(_FORGOTTEN, parameters).fetchone()
            connection.execute(f"DELETE FROM calls WHERE {_UNFINISHED}", parameters)
        return _usage([*map(int, numbers), cost])

    def _account(self, run_id: int, segment: str, key: str) -> bool:
        """Whether the usage of an own call still has to go into the chain of the segment; notes that it does."""
        if key in self._accounted.get((run_id, segment), ()):
            return False
        finished = "SELECT 1 FROM segments WHERE run_id = ? AND segment = ? AND state <> 'failed'"
        if self._database.query(finished, (run_id, segment)):
            return False
        _note(self._accounted, run_id, segment, key)
        return True


def _note(keys: defaultdict[tuple[int, str], set[str]], run_id: int, segment: str, key: str) -> None:
    if run_id == OUTSIDE:
        return
    keys[run_id, segment].add(key)
    if len(keys) > _MOST_CHAINS:
        del keys[next(iter(keys))]


def _call_row(
    run_id: int, segment: str, purpose: str, key: str, call: Call, completion: Completion | None, texts: dict[str, str]
) -> list[Any]:
    messages = pack_messages(call.messages, texts)
    answer: tuple[str | None, ...]
    if completion is None:
        reply = None if call.reply is None else keep_text(call.reply, texts)
        answer = (reply, pack_tool_calls(call.tool_calls), None, None, None, call.error or "no usable reply")
    else:
        logprobs = None
        if completion.logprobs is not None:
            logprobs = json.dumps([[token.token, token.logprob] for token in completion.logprobs])
        reply, tool_calls = keep_text(completion.text, texts), pack_tool_calls(completion.tool_calls)
        answer = (reply, tool_calls, completion.model, completion.finish_reason, logprobs, None)
    usage = _usage_values(call.usage)
    retries = json.dumps(call.retries) if call.retries else None
    times = (call.seconds, now(), retries, call.waited)
    return [run_id, segment, purpose, key, call.model, messages, *answer, *usage, *times, call.endpoint, call.in_batch]


_usage_values = attrgetter(*_USAGE_FIELDS)


def _usage(values: Iterable[Any]) -> Usage:
    return Usage(**dict(zip(_USAGE_FIELDS, values, strict=True)))
