"""Headed lists of errors, in the shapes that models give them: read, or refused; never perfect by accident."""

from __future__ import annotations

import pytest

from mtagent.evaluators.headings import read_headed

SOURCE = "The account holder must agree today, and the red dog slept."
TEXT = "El Banco pagó a el banco «central» ayer, y el perro rojo durmió."
NONE = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error"


def spans(reply: str, translation: str = TEXT) -> list[tuple[str, str, str]]:
    return [(e.severity, e.category, e.text) for e in read_headed(reply, translation, source=SOURCE)]


ONE = [("major", "accuracy/mistranslation", "perro rojo")]


@pytest.mark.parametrize(
    "reply",
    [
        'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        'MQM annotations:\nCritical:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n',
        '**Critical:**\nno-error\n\n**Major:**\naccuracy/mistranslation - "perro rojo"\n\n**Minor:**\nno-error',
        '**Critical**:\n- no-error\n**Major**:\n- accuracy/mistranslation - "perro rojo"\n**Minor**:\n- no-error',
        '### Critical errors\nNone\n\n### Major errors\n1. accuracy/mistranslation - "perro rojo"\n\n### Minor\nNone',
        'Critical: no-error\nMajor: accuracy/mistranslation - "perro rojo"\nMinor: no-error',
        'Major: accuracy/mistranslation - "perro rojo"',
        'MAJOR:\nACCURACY/MISTRANSLATION - "perro rojo"\nMINOR:\nNO-ERROR',
        "Major:\naccuracy/mistranslation – “perro rojo”\nMinor:\nnone",
        "Major:\naccuracy/mistranslation — „perro rojo“\nMinor:\nN/A",
        "Major:\naccuracy/mistranslation: «perro rojo»\nMinor:\nn/a.",
        "Major:\naccuracy/mistranslation：「perro rojo」\nMinor：\nNone.",
        "Major:\n* accuracy/mistranslation - 'perro rojo'\nMinor:\n* (none)",
        "Major:\n`accuracy/mistranslation` - `perro rojo`\nMinor:\n`no-error`",
        "Major:\n**accuracy/mistranslation** - **perro rojo**\nMinor:\n*no-error*",
        "Major:\naccuracy/mistranslation - perro rojo\nMinor:\nno-error",
        "Major:\n[accuracy/mistranslation]-[perro rojo]\nMinor:\n[no-error]",
        "Major:\naccuracy/mistranslation-perro rojo\nMinor:\nno-error",
        'Major:\nAccuracy (mistranslation): "perro rojo"\nMinor:\nno error',
        'Major:\nAccuracy - Mistranslation - "perro rojo"\nMinor:\nNo errors found.',
        'Major:\nAccuracy: mistranslation: "perro rojo"\nMinor:\nNo minor errors.',
        'Major errors:\n(1) "perro rojo" - accuracy/mistranslation\nMinor errors:\nNone identified',
        'Major errors:\n- (1) "perro rojo" - Accuracy/Mistranslation\nMinor errors:\n- None',
        'Major errors (1):\n1) "perro rojo" (accuracy/mistranslation)\nMinor errors (0):\nno-error',
        'Minor:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nCritical:\nno-error',
        'Major:\nno-error\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        'Critical: no-error Major: accuracy/mistranslation - "perro rojo" Minor: no-error',
        '<think>Major: hm, "rojo"?</think>\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        '```\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n```',
        'Here is my analysis:\n\nMajor:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n\nLet me know!',
        'Major:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error\n\nOverall, the translation is good.',
        'Critical:\n\nMajor:\naccuracy/mistranslation - "perro rojo"\n\nMinor:\nno-error',
        'There are no critical errors.\n\nMajor:\n- accuracy/mistranslation - "perro rojo"\n\nNo minor errors.',
        '[{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": "major"}]',
        '{"critical": [], "major": [{"span": "perro rojo", "category": "accuracy/mistranslation"}], "minor": []}',
        '```json\n{"Major": ["accuracy/mistranslation - \\"perro rojo\\""], "Minor": ["no-error"]}\n```',
        'Sure:\n```json\n[{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": "Major"}]\n```',
        '\ufeffMajor:\r\naccuracy/mistranslation - "perro rojo"\r\nMinor:\r\nno-error\r\n',
    ],
)
def test_the_same_error_in_many_shapes(reply: str) -> None:
    assert spans(reply) == ONE
    (error,) = read_headed(reply, TEXT)
    assert TEXT[error.start : error.end] == "perro rojo"
