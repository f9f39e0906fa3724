"""HiMATE's agents on the simulator, for a language in which ``errado`` is a mistranslation and ``feo`` is awkward.

The agent for mistranslations is longer in its verdict, so that the log-probabilities of its tokens add up to less.
"""

from __future__ import annotations

import json
import re

from tests.simulator.settings import Body

_OWN_TYPE = re.compile(r"Your type of error: (\S+?)\. ")
_TRANSLATION = re.compile(r"<(translation(?:-\d+)?)>(.*?)</\1>", re.DOTALL)
_MARKS = {"accuracy/mistranslation": ("errado", "correcto"), "style/awkward": ("feo", "bello")}
_VERDICTS = {"accuracy/mistranslation": "The error has been corrected.", "style/awkward": "corrected"}


def panel(body: Body) -> str:
    """The reply of whichever agent is asked."""
    system, last = body["messages"][0]["content"], body["messages"][-1]["content"]
    own = _OWN_TYPE.search(system)
    category = own[1] if own else ""
    wrong, right = _MARKS.get(category, ("", ""))
    match = _TRANSLATION.search(last)
    translation = match[2] if match else ""
    if "Decide whether the translation has errors of your type" in system:
        error = {"span": wrong, "before": "", "after": "", "explanation": "It is wrong.", "severity": "major"}
        return json.dumps({"errors": [error] * bool(wrong and wrong in translation)})
    if "Now correct them" in system:
        return translation.replace(wrong, right)
    if "Your verdict is one of these" in system:
        return _VERDICTS[category] if "how sure" not in system else f"corrected, {90 if wrong == 'feo' else 30}"
    if "expert" in system[:40]:
        return json.dumps({"errors": [{"number": 1, "exists": True, "severity": "minor"}], "comment": "So it is."})
    return json.dumps({"agrees": True, "errors": [], "comment": "Yes."})
