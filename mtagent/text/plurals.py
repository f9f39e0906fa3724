"""Plural forms: the categories of each language (Unicode CLDR), and rules as gettext writes them.

A rule is an expression in a whole number ``n``, in the syntax of C, whose value is the number of a form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import regex

from mtagent.text.scripts import language_of

CATEGORIES = ("zero", "one", "two", "few", "many", "other")
"""All categories, in the order of the CLDR."""

_COUNTS_TRIED = 200  # from 0, for examples of a plural form
_EXAMPLES = 4

# Languages of the CLDR with their categories and rules. Categories that only numbers with decimals, or from a million
# on, have are left out, because few programs ask for them. All have "other", because programs fall back on it.
_FEW = "n%10>=2&&n%10<=4&&(n%100<12||n%100>14)"
_ONE = "n%10==1&&n%100!=11"
_RULES = [
    (
        "bm bo dz hnj id ig ii ja jbo jv kde kea km ko lkt lo ms my nqo osa sah ses sg su th to tpi vi wo yo yue zh",
        "other",
        "0",
    ),
    (
        "af an asa ast az bal bem bez bg brx ca ce cgg chr ckb da de dv ee el en eo es et eu fi fo fur fy gl "
        "gsw ha haw hu ia ie io it jgo jmc ka kaj kcg kk kkj kl ks ksb ku ky lb lg lij lld mas mgo ml mn mr "
        "nah nb nd ne nl nn nnh no nr ny nyn om or os pap ps pt-PT rm rof rwk saq sc scn sd sdh seh sn so sq "
        "ss ssy st sv sw syr ta te teo tig tk tn tr ts ug ur uz ve vec vo vun wae xh xog yi",
        "one other",
        "n!=1",
    ),
    (
        "ak am as bho bn csw doi fa ff fr gu guw hi hy kab kn kok ln mg nso pa pcm pt si tg ti wa zu",
        "one other",
        "n>1",
    ),
    ("is mk", "one other", f"{_ONE}?0:1"),
    ("ceb fil tl", "one other", "n!=1&&n!=2&&n!=3&&(n%10==4||n%10==6||n%10==9)"),
    ("tzm", "one other", "n>1&&(n<11||n>99)"),
    ("ro", "one few other", "n==1?0:n==0||n%100>=1&&n%100<=19?1:2"),
    ("bs hr sh sr", "one few other", f"{_ONE}?0:{_FEW}?1:2"),
    ("shi", "one few other", "n<=1?0:n<=10?1:2"),
    ("cs sk", "one few other", "n==1?0:n>=2&&n<=4?1:2"),
    ("lt", "one few other", "n%10==1&&(n%100<11||n%100>19)?0:n%10>=2&&(n%100<11||n%100>19)?1:2"),
    ("he iu naq sat se sma smi smj smn sms", "one two other", "n==1?0:n==2?1:2"),
    ("lv prg", "zero one other", f"n%10==0||n%100>=11&&n%100<=19?0:{_ONE}?1:2"),
    ("blo cv ksh lag", "zero one other", "n==0?0:n==1?1:2"),
    ("be ru uk", "one few many other", f"{_ONE}?0:{_FEW}?1:2"),
    ("pl", "one few many other", f"n==1?0:{_FEW}?1:2"),
    ("dsb hsb sl", "one two few other", "n%100==1?0:n%100==2?1:n%100==3||n%100==4?2:3"),
    ("gd", "one two few other", "n==1||n==11?0:n==2||n==12?1:n>=3&&n<=10||n>=13&&n<=19?2:3"),
    ("gv", "one two few other", "n%10==1?0:n%10==2?1:n%20==0?2:3"),
    (
        "br",
        "one two few other",
        "n%10==1&&n%100!=11&&n%100!=71&&n%100!=91?0:n%10==2&&n%100!=12&&n%100!=72&&n%100!=92?1:"
        "(n%10==3||n%10==4||n%10==9)&&(n%100<10||n%100>19)&&(n%100<70||n%100>79)&&n%100<90?2:3",
    ),
    ("mt", "one two few many other", "n==1?0:n==2?1:n==0||n%100>=3&&n%100<=10?2:n%100>=11&&n%100<=19?3:4"),
    ("ga", "one two few many other", "n==1?0:n==2?1:n>=3&&n<=6?2:n>=7&&n<=10?3:4"),
    (
        "ar ars",
        "zero one two few many other",
        "n==0?0:n==1?1:n==2?2:n%100>=3&&n%100<=10?3:n%100>=11?4:5",
    ),
    ("cy", "zero one two few many other", "n==0?0:n==1?1:n==2?2:n==3?3:n==6?4:5"),
    (
        "kw",
        "zero one two few many other",
        "n==0?0:n==1?1:n%20==2||n!=0&&n%1000==0&&(n%100000>=1000&&n%100000<=20000||n%20000==0)||n%1000000==100000?2:"
        "n%20==3?3:n%20==1?4:5",
    ),
]


@cache
def plural_forms(lang: str) -> tuple[tuple[str, ...], str] | None:
    """The categories of a language (a BCP-47 code), and its rule for their numbers; ``None`` if it is not known."""
    names = {lang.replace("_", "-"), language_of(lang)}
    for languages, categories, rule in _RULES:
        if names & set(languages.split()):
            return tuple(categories.split()), rule
    return None


_RULE_TOKEN = regex.compile(r"\s*(\d+|n|\|\||&&|[=!<>]=|[-+*/%<>!?:()])")
_PRECEDENCE = [["||"], ["&&"], ["==", "!="], ["<", ">", "<=", ">="], ["+", "-"], ["*", "/", "%"]]
Choice = Callable[[int], int]


def _plural_chooser(rule: str) -> Choice | None:
    """The rule as a function from a count to the number of a form; ``None`` if it is not an expression in ``n``."""
    tokens = _RULE_TOKEN.findall(rule)
    if "".join(tokens) != "".join(rule.split()):
        return None
    tokens.append("")
    try:
        choice = _conditional(tokens)
    except (IndexError, ValueError, RecursionError):
        return None
    return choice if tokens == [""] else None


def _conditional(tokens: list[str]) -> Choice:
    condition = _binary(tokens, 0)
    if tokens[0] != "?":
        return condition
    tokens.pop(0)
    first = _conditional(tokens)
    if tokens.pop(0) != ":":
        raise ValueError("a ? without its :")
    second = _conditional(tokens)
    return lambda n: first(n) if condition(n) else second(n)


def _binary(tokens: list[str], level: int) -> Choice:
    if level == len(_PRECEDENCE):
        return _operand(tokens)
    left = _binary(tokens, level + 1)
    while tokens[0] in _PRECEDENCE[level]:
        operation = _OPERATIONS[tokens.pop(0)]
        left = _applied(operation, left, _binary(tokens, level + 1))
    return left


def _applied(operation: Callable[[int, int], int], left: Choice, right: Choice) -> Choice:
    return lambda n: int(operation(left(n), right(n)))


def _operand(tokens: list[str]) -> Choice:
    token = tokens.pop(0)
    if token == "!":
        negated = _operand(tokens)
        return lambda n: int(not negated(n))
    if token == "(":
        inner = _conditional(tokens)
        if tokens.pop(0) != ")":
            raise ValueError("a ( without its )")
        return inner
    if token == "n":
        return lambda n: n
    number = int(token)
    return lambda n: number


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "||": lambda left, right: left or right,
    "&&": lambda left, right: left and right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}


def rule_examples(rule: str) -> dict[int, tuple[int, ...]]:
    """The first counts for which the rule chooses each form; empty if it is not an expression in ``n``."""
    choose = _plural_chooser(rule)
    counts: dict[int, tuple[int, ...]] = {}
    if choose is None:
        return counts
    for n in range(_COUNTS_TRIED):
        try:
            number = int(choose(n))
        except (ZeroDivisionError, RecursionError):
            return {}
        if len(counts.get(number, ())) < _EXAMPLES:
            counts[number] = (*counts.get(number, ()), n)
    return counts
