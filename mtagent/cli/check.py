"""``mtagent check`` finds faults in existing translations in localization files, without a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from mtagent.cli.options import (
    CONFIG_OPTION,
    FILE,
    FILES,
    GLOSSARY_OPTION,
    GUARDS,
    KEEP_OPTION,
    LANGUAGE_OPTIONS,
    LOCK_NAME,
    RUN,
    NameList,
    command,
    localization_files,
    option,
    read_config,
    target_of,
    with_options,
)
from mtagent.cli.terminal import hand_out, say
from mtagent.errors import InputError
from mtagent.formats.findings import FINDING_FORMATS, read_baseline, without_known, write_baseline
from mtagent.formats.lock import Lock
from mtagent.jobs.checking import CHECK_NAMES, Checker, check, repair
from mtagent.jobs.inputs import LocalizationInputs
from mtagent.records import Severity
from mtagent.text.amounts import counted

EXAMPLES = """\b
Examples:
  mtagent check app.xlf
  mtagent check "locales/**/*.po" --source-lang en --baseline known.jsonl -f github
  mtagent check locales/ --source-lang en -f sarif > findings.sarif
  mtagent check locales/de.json -s locales/en.json
  mtagent check app.xlf --only placeholders,tags --fix
"""
_FAILING: dict[str, tuple[Severity, ...]] = {
    "minor": ("minor", "major", "critical"),
    "major": ("major", "critical"),
    "never": (),
}


@command("check", EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="FILE…")
@option(
    FILES,
    "-s",
    "--source",
    "sources",
    type=FILE,
    help="File or folder with the sources, if each file has one language.",
)
@option(FILES, "--baseline", type=FILE, metavar="FILE.jsonl", help="Leave out the findings in this file.")
@option(FILES, "--update-baseline", is_flag=True, help="Write all findings into the file of --baseline.")
@option(
    FILES, "--fix", "repairs", is_flag=True,
    help="Before checking, repair in place the faults that have one obvious correction.",
)  # fmt: skip
@option(
    FILES, "--lock", type=FILE, metavar="FILE.lock",
    help=f"With --fix: lock file to update after the repairs.  [default: {LOCK_NAME}, if it exists]",
)  # fmt: skip
@with_options(LANGUAGE_OPTIONS, GLOSSARY_OPTION, KEEP_OPTION)
@option(GUARDS, "--only", type=NameList(), multiple=True, metavar="CHECK,…", help="Use these checks only.")
@option(GUARDS, "--skip", type=NameList(), multiple=True, metavar="CHECK,…", help="Leave these checks out.")
@option(RUN, "-f", "--format", "form", type=click.Choice(list(FINDING_FORMATS)), default="text", help="Output format.")
@option(
    RUN, "--fail-on", type=click.Choice(list(_FAILING)), default="minor", show_default=True,
    help="Exit with 1 if a finding is at least this severe.",
)  # fmt: skip
@with_options(CONFIG_OPTION)
def command_check(names: tuple[str, ...], **options: Any) -> None:
    """Check existing translations: placeholders, tags, numbers, terms, punctuation, layout. Calls no model.

    FILE is a localization file, a folder, or a pattern in quotes. The exit code is 1 if there are findings. The checks:
    """
    baseline: Path | None = options.pop("baseline")
    updates_baseline, fixes = options.pop("update_baseline"), options.pop("repairs")
    form, fail_on = options.pop("form"), options.pop("fail_on")
    lock_path: Path | None = options.pop("lock")
    if lock_path is not None and not fixes:
        raise click.UsageError("--lock needs --fix: the lock file changes with repaired targets")
    if lock_path is not None and not lock_path.exists():
        raise InputError(f"{lock_path}: no such file; `mtagent postedit --lock` writes it")
    checker = Checker(options.pop("only"), options.pop("skip"))
    if updates_baseline and baseline is None:
        raise click.UsageError("--update-baseline needs --baseline: it names the file to write")
    sources: Path | None = options.pop("sources")
    target_lang = target_of(options)
    config = read_config(options)
    named = localization_files(names, sources)
    files = LocalizationInputs(tuple(named), sources=sources, target_lang=target_lang).opened()
    if fixes:
        default = Path(LOCK_NAME)
        lock_path = lock_path or (default if default.exists() else None)
        lock = None if lock_path is None else Lock(lock_path)
        for path, count in repair(files, config, checker, lock).items():
            say(f"mtagent: {path}: repaired {counted(count, 'unit')}")
    checked = check(files, config, checker)
    if baseline is not None and updates_baseline:
        write_baseline(baseline, checked.findings)
        say(f"mtagent: {counted(len(checked.findings), 'finding')} in {baseline}")
    if baseline is not None:
        new = without_known(checked.findings, read_baseline(baseline))
        checked = checked._replace(findings=new, known=len(checked.findings) - len(new))
    output = FINDING_FORMATS[form](checked)
    if output:
        hand_out(output.removesuffix("\n"))
    is_failed = any(finding.severity in _FAILING[fail_on] for finding in checked.findings)
    sys.exit(1 if is_failed else 0)


assert command_check.help is not None
command_check.help += ", ".join(CHECK_NAMES) + "."
