"""Tokens, counted offline: with OpenAI's o200k vocabulary where that is installed, else by the length."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Literal, NamedTuple

from mtagent.errors import MissingExtra

Counting = Literal["o200k", "length"]


class Counter(NamedTuple):
    """Counts the tokens of a text. ``how`` says in words how."""

    how: str
    count: Callable[[str], int]


def by_length(text: str) -> int:
    """About four characters a token, one for wide characters (Chinese, Japanese, Korean); not a tokenizer's count."""
    wide = 0 if text.isascii() else sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return wide + (len(text) - wide + 3) // 4


def counter(counting: Counting | None = None) -> Counter:
    """The counter of that name; by default the best there is. Raises :class:`MissingExtra`."""
    installed = find_spec("bpe_openai") is not None
    if counting == "length" or (counting is None and not installed):
        return Counter("estimated from the length (pip install 'mtagent[tokens]' counts them)", by_length)
    if not installed:
        raise MissingExtra("counting tokens with o200k", "tokens")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package reads its data in an old way
        from bpe_openai import get_encoding

    encode = get_encoding("o200k_base").encode_ordinary
    # A run repeats its instructions and examples in every prompt.
    return Counter("counted with o200k, the vocabulary of gpt-4o and later", lru_cache(4096)(lambda t: len(encode(t))))
