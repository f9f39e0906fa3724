"""LibreTranslate's HTTP interface, which most self-hosted MT servers follow."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

from mtagent.errors import ConfigError, TranslatorError, UnusableTranslation
from mtagent.llm.connections import lost_connection
from mtagent.llm.server import address_problem
from mtagent.records import Draft, Segment
from mtagent.text.masking import clean, masked, masked_data, redirected
from mtagent.translators.protocol import Turns, checked

if TYPE_CHECKING:
    from aiohttp import ClientSession

API_KEY = "LIBRETRANSLATE_API_KEY"
"""The environment variable with the server's key, if the server needs one."""

_RETRIED = frozenset({429, 502, 503, 504})
_LONGEST_WAIT = 60.0
LARGEST_REPLY = 16_000_000
LONGEST_ERROR = 100_000


class LibreTranslate:
    """A LibreTranslate server as a :class:`mtagent.translators.protocol.Translator`.

    ``url`` is the server's address (``http://localhost:5000``). The server's languages are fetched once. A segment's
    language code is sent unchanged if the server has it, otherwise its primary subtag. After 429, 502, 503, 504 or a
    lost connection a request is repeated, ``attempts`` times in all, after the pause that the server names (at most a
    minute) or one that doubles from ``pause`` seconds. Redirects aren't followed. Raises :class:`TranslatorError` with
    the status and the server's message, without the key; it is ``retryable`` after the last of the attempts.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str = "libretranslate",
        timeout: float = 60.0,
        in_flight: int = 4,
        attempts: int = 4,
        pause: float = 0.5,
    ) -> None:
        problem = address_problem(url, variable=API_KEY, example="http://localhost:5000")
        if problem:
            raise ConfigError(f"the address of the LibreTranslate server {problem}")
        self.name = name
        self._url = url.strip().rstrip("/").removesuffix("/translate")
        self._timeout, self._attempts, self._pause = timeout, attempts, pause
        self._turns = Turns(in_flight)
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._codes: dict[str, str] = {}

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``; a blank source is returned as it is, without a call."""
        if not segment.source.strip():
            return Draft(text=segment.source)
        async with self._turns:
            source, target = await self._code(segment.source_lang), await self._code(segment.target_lang)
            request = {"q": segment.source, "source": source, "target": target, "format": "text"}
            key = _key()
            if key:
                request["api_key"] = key
            text = await self._ask("POST", "/translate", request)
        if isinstance(text, dict):
            text = text.get("translatedText")
        if not isinstance(text, str):
            text = masked_data(text, _key())  # it is shown in the error
        return Draft(text=checked(text, self.name))

    async def aclose(self) -> None:
        """Close the connections. A later :meth:`draft` opens them again."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _code(self, language: str) -> str:
        """The server's own code for ``language``."""
        if not self._codes:
            reply = await self._ask("GET", "/languages")
            codes: list[Any] = []
            if isinstance(reply, list):
                codes = [item.get("code") for item in reply if isinstance(item, dict)]
            if not codes or not all(isinstance(code, str) for code in codes):
                raise TranslatorError(
                    f"{self.name}: the server's list of languages cannot be read: {clean(repr(reply), _key())[:80]}"
                )
            self._codes = {code.lower(): code for code in codes}
        code = self._codes.get(language.lower()) or self._codes.get(language.split("-")[0].lower())
        if code is None:
            known = masked(", ".join(sorted(self._codes.values())), _key())
            raise TranslatorError(
                f"{self.name}: the server at {self._url} has no language {language!r}; it has {known}"
            )
        return code

    async def _ask(self, method: str, path: str, body: dict[str, str] | None = None) -> Any:
        """The server's reply, read from JSON."""
        from aiohttp import ClientError, ClientSession, ClientTimeout

        where = f"{self.name}: {method} {self._url}{path}"
        wait = 0.0
        for attempt in range(self._attempts):
            await asyncio.sleep(wait)
            wait = self._pause * 2**attempt
            loop = asyncio.get_running_loop()
            if self._session is None or self._session.closed or self._loop is not loop:
                self._session, self._loop = ClientSession(timeout=ClientTimeout(total=self._timeout)), loop
            try:
                async with self._session.request(
                    method, self._url + path, json=body, allow_redirects=False
                ) as response:
                    most_bytes = LONGEST_ERROR
                    if response.status == 200:
                        most_bytes = LARGEST_REPLY
                    content = bytearray()
                    async for part in response.content.iter_chunked(2**16):
                        content += part
                        if len(content) > most_bytes:
                            break
                    if response.status == 200:
                        if len(content) > LARGEST_REPLY:
                            raise UnusableTranslation(f"{where}: the reply is larger than {LARGEST_REPLY:,} bytes")
                        text: str | bytes = bytes(content)
                        if response.charset:
                            text = content.decode(response.charset)
                        if not text.strip():
                            return None
                        return json.loads(text)
                    location = response.headers.get("Location")
                    if 300 <= response.status < 400 and location:
                        message = redirected(location, _key(), "write it after libretranslate:")
                    else:
                        message = clean(content.decode(errors="replace"), _key())[:200] or "no message"
                    failure = f"status {response.status}: {message}"
                    reason, status = "", response.status
                    if response.status not in _RETRIED:
                        raise TranslatorError(f"{where}: {failure}", status=status)
                    pause = response.headers.get("Retry-After", "")
                    if pause.isdecimal():
                        wait = min(float(pause), _LONGEST_WAIT)
            except (ValueError, LookupError, RecursionError) as cause:
                raise TranslatorError(f"{where}: the reply is not JSON: {clean(str(cause), _key())}") from cause
            except (ClientError, TimeoutError, OSError) as error:
                failure = f"{type(error).__name__}: {clean(str(error), _key())}"
                reason, status = type(lost_connection(error) or error).__name__, None
        raise TranslatorError(
            f"{where}: {failure} (after {self._attempts} attempts)", cause=reason, status=status, retryable=True
        )


def _key() -> str:
    return os.environ.get(API_KEY, "").strip()
