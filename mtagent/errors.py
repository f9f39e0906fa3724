"""All errors that mtagent raises on purpose.

::

    MtagentError
    ├── ConfigError            a setting is wrong or missing
    │   ├── MissingExtra       an optional package is not installed
    │   └── UntrustedSettings  a file with settings was found that nobody has trusted
    ├── InputError             a file or a record cannot be read (names file and line)
    ├── OutputError            a file cannot be written
    ├── BudgetSpent            what is left of the budget might not suffice for the next call
    ├── NotAnswered            a request is in a batch, and its answer is not there yet
    ├── BatchOpen              a run cannot go on before its batches are answered
    ├── StoreError             the store cannot be opened, read or written
    │   ├── RunLocked          another process is working on this run
    │   ├── NotStored          the run or segment doesn't exist any more
    │   └── DecidedElsewhere   another window has decided on this segment meanwhile
    ├── PromptError            a prompt is broken, or a variable is missing
    ├── TranslatorError        a wrapped MT system failed
    │   ├── LanguageNeeded     it needs to know the source language
    │   └── UnusableTranslation   its answer isn't a translation
    ├── UnreadableReply        a model's reply does not have the requested form
    │   └── RatingParseError   it cannot be read as a rating (also an EvaluationError)
    ├── SearchError            a search for background knowledge failed
    ├── EvaluationError        an evaluator has no rating to give
    ├── StepFailed             a step failed on a segment, which kept its text
    ├── MetricError            a metric has no score to give
    └── ModelError             a request to a model failed
        ├── AuthenticationError   401, 403: the key or its rights
        ├── BadRequest            400, 404, 422 …: repeating it cannot help
        │   └── ModelNotFound     the server has no such model, or not for this key, or nothing at this address
        ├── RateLimited           429 until the deadline
        ├── ServerPaused          the server asks for a pause that is longer than a call may wait
        ├── ServerError           5xx, resets and broken bodies until the deadline
        ├── EmptyReply            a reply without text
        ├── Refused               refusal or content filter
        └── Truncated             cut off at the token limit twice

:class:`OffScript`, an ``AssertionError`` of the fakes, isn't one of them: it ends every run.

Every error may carry ``calls``: the requests that were paid for before it happened, so that no cost is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtagent.records.calls import Call
    from mtagent.records.chains import Chain


class MtagentError(Exception):
    """Base of all errors of this package. The message names the culprit and the way out."""

    calls: tuple[Call, ...] = ()
    chains: tuple[Chain, ...] = ()
    """What an agent had done when this stopped it. Chains that were in work end with a failed step."""
    status: int | None = None
    """The HTTP status with which a server refused."""
    retryable: bool = False
    """Whether the same may succeed at another time."""
    cause: str = ""
    """Why, in a few words without any text: ``HTTP 429``, ``timeout``, ``exit code 127``."""
    way_on: str = ""
    """How to continue where what was finished is stored. A job with a store adds it to the message."""


class StepFailed(MtagentError):
    """A step failed on a segment. ``kind`` is the class of the error, which is the ``__cause__`` if it is known."""

    kind = ""


def calls_of(error: BaseException) -> tuple[Call, ...]:
    """What was paid for before ``error``; any exception that passes a dialogue with a model carries it."""
    return tuple(getattr(error, "calls", ()))


class ConfigError(MtagentError):
    """A setting is wrong or missing."""


class MissingExtra(ConfigError):
    """An optional package is not installed; the message says how to install it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional package: pip install 'mtagent[{extra}]'")


class UntrustedSettings(ConfigError):
    """A file with settings was found in the working folder, and is not trusted.

    ``lines`` are for the user to read after the message: the settings in question, and what to do.
    """

    def __init__(self, message: str, lines: tuple[str, ...]) -> None:
        super().__init__(message)
        self.lines = lines


class InputError(MtagentError):
    """A file or a record cannot be read. The message starts with ``file:line`` if there is one."""


class OutputError(MtagentError):
    """A file cannot be written."""


class BudgetSpent(MtagentError):
    """What is left of the budget might not suffice for the next call. With more, a stored run continues."""


class NotAnswered(MtagentError):
    """A request is in a batch, and its answer is not there yet. The segment is worked on again when it is."""


class BatchOpen(MtagentError):
    """A run cannot go on before its batches are answered. Nothing is lost: with the answers, it goes on."""


class StoreError(MtagentError):
    """The store cannot be opened, read or written."""


class RunLocked(StoreError):
    """Another process is working on this run."""


class NotStored(StoreError):
    """The run or segment doesn't exist any more."""


class DecidedElsewhere(StoreError):
    """Another window has decided on this segment meanwhile."""


class PromptError(MtagentError):
    """A prompt file is broken, or a variable that it needs is missing."""


class TranslatorError(MtagentError):
    """A wrapped MT system failed. The message may quote the system, and so a text; ``cause`` doesn't."""

    def __init__(self, *args: object, cause: str = "", status: int | None = None, retryable: bool = False) -> None:
        super().__init__(*args)
        self.cause, self.status, self.retryable = cause, status, retryable


class LanguageNeeded(TranslatorError):
    """An MT system doesn't detect the source language itself."""


class UnusableTranslation(TranslatorError):
    """An MT system's answer isn't a translation of the text. The request is sent once more."""


class EvaluationError(MtagentError):
    """An evaluator has no rating to give."""


class MetricError(MtagentError):
    """A metric has no score to give."""


class UnreadableReply(MtagentError):
    """A model's reply doesn't have the requested form. The request is sent once more, with the reason."""


class SearchError(MtagentError):
    """A search for background knowledge failed."""


class RatingParseError(UnreadableReply, EvaluationError):
    """A model's reply cannot be read as a rating. It is never taken for a score."""


class ModelError(MtagentError):
    """A request to a model failed."""

    transient: bool = False
    """Whether the same request may succeed later."""


class AuthenticationError(ModelError):
    """The server refused the key (401) or its rights (403)."""


class BadRequest(ModelError):
    """The server refused the request (400, 404, 422 …); repeating it cannot help."""


class ModelNotFound(BadRequest):
    """The server has no model of this name, or none that this key may use, or nothing at this address.

    No other request will find it either.
    """


class RateLimited(ModelError):
    """The server kept answering 429 until the deadline."""

    retryable = True


class ServerPaused(ModelError):
    """The server asks for a pause of ``seconds``, longer than a call may wait. A stored run continues after it."""

    seconds: float = 0.0
    retryable = True


class ServerError(ModelError):
    """The server failed (5xx, reset, timeout, broken body) until the deadline."""

    retryable = True


class EmptyReply(ModelError):
    """The model answered with no text."""

    retryable = True


class Refused(ModelError):
    """The model or a content filter refused to answer."""


class Truncated(ModelError):
    """The reply was cut off at the token limit, also with more room."""


class OffScript(AssertionError):
    """A scripted or forbidden model got a request that its test does not expect. It is never a failed request."""


FATAL = (
    AuthenticationError, BudgetSpent, ConfigError, ModelNotFound, NotAnswered, PromptError, ServerPaused, StoreError
)  # fmt: skip
"""Errors that concern every segment alike: a run stops at once, and can be resumed.

:class:`NotAnswered` is among them because no part of a segment's work may take it for a failure either. It ends only
the work on this segment, for now.
"""
