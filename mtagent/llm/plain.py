"""Replies that are a text: take off what wraps it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import regex

from mtagent.errors import EmptyReply, UnreadableReply

_THOUGHTS = regex.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", regex.IGNORECASE)
_TAGGED = regex.compile(r"\A<(source|translation)(?:-\w++)?+>(.*)</\1(?:-\w++)?+>\Z", regex.DOTALL)
_FENCED = regex.compile(r"\A```[\w-]*+[ \t]*+\n(?:(.*)\n)?```\Z", regex.DOTALL)
_BARE_FENCE = regex.compile(r"```(?:[\w-]*+|\s*+```)")
_INVISIBLE = regex.compile(r"[\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*+")
_EMPTY_TAG = regex.compile(r"<([\w-]++)>\s*+</\1>")
_BROKEN = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")


def plain_text(reply: str, like: str) -> str:
    """The text in ``reply``, with the outer white space of ``like``.

    A thinking block before it, our own tags around it, and a code fence around it are taken off, unless ``like`` has
    such marks itself. Remarks are not: what cannot be told from text for certain is left to the guards. Raises
    :class:`EmptyReply` where nothing is left, and :class:`UnreadableReply` for one that is cut off while thinking, or
    that holds broken or control characters which ``like`` has not.
    """
    text = _without_thoughts(whole_characters(reply), like).strip()
    if not like.lstrip().startswith("```"):
        text = _without_fence(text)
    tagged = _TAGGED.match(text)
    if tagged and f"<{tagged[1]}" not in like and f"</{tagged[1]}" not in tagged[2]:
        text = tagged[2].strip()
    if is_blank(text) and not (text and like.strip() and is_blank(like)):
        raise EmptyReply("the model's reply holds no text")
    broken = set(_BROKEN.findall(text)) - set(_BROKEN.findall(like))
    if broken:
        raise UnreadableReply(f"it holds the character U+{ord(min(broken)):04X}, which is no text")
    body = like.strip()
    start = like.index(body)
    return like[:start] + text + like[start + len(body) :] if body else text


def is_blank(text: str) -> bool:
    """Whether ``text`` holds nothing but white space and characters that nobody sees (zero-width ones, controls)."""
    return _INVISIBLE.fullmatch(text) is not None


def says_nothing(reply: str, asked: Iterable[str] = ()) -> bool:
    """Whether nothing is left of ``reply`` without thoughts, tags, fences and invisible characters.

    ``asked`` are the texts that it answers: what stands there word for word may be the answer, and where they speak of
    thinking tags, such tags are not taken for thoughts.
    """
    text, before = reply.strip(), None
    while text != before:
        before = text
        try:
            text = _without_thoughts(text, "").strip()
        except UnreadableReply:  # cut off while thinking
            text = ""
        tagged = _TAGGED.match(text)
        text = tagged[2].strip() if tagged else _without_fence(text)
        if _EMPTY_TAG.fullmatch(text):
            text = ""
    if not is_blank(text):
        return False
    shown = reply.strip()
    return is_blank(shown) or not any(shown in one or _THOUGHTS.search(one) for one in asked)


def whole_characters(text: str) -> str:
    """``text`` with U+FFFD for each half of a surrogate pair: no file, store or server takes one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _without_fence(text: str) -> str:
    """What stands in the code fence around ``text``, if there is one around all of it."""
    if _BARE_FENCE.fullmatch(text):
        return ""
    fenced = _FENCED.match(text)
    return (fenced[1] or "").strip() if fenced else text


def _without_thoughts(reply: str, like: str) -> str:
    """What comes after the thoughts at the start of ``reply``; some servers leave out the tag that opens them."""
    tags = list(_THOUGHTS.finditer(reply))
    if not tags or _THOUGHTS.search(like):
        return reply
    opened = not tags[0].group(1)
    if opened and not is_blank(reply[: tags[0].start()]):
        return reply
    closed = [tag for tag in tags if tag.group(1)]
    if not closed:
        raise UnreadableReply("it is cut off while thinking")
    return reply[closed[-1].end() :]
