"""One file per command, or for two related ones; `app` collects them.

Heavy imports are inside the commands, so that `--help` is fast. `help.toml` has the help of options.
"""

from sfumato.commands.anonymize import anonymize
from sfumato.commands.ask import ask, choose
from sfumato.commands.audit import audit
from sfumato.commands.check import check
from sfumato.commands.explore import explore
from sfumato.commands.hierarchy import hierarchy
from sfumato.commands.init import init, policy
from sfumato.commands.lists import datasets, options
from sfumato.commands.release import apply, release
from sfumato.commands.reproduce import reproduce
from sfumato.commands.serve import serve

COMMANDS = (
    datasets,
    options,
    init,
    hierarchy,
    check,
    policy,
    anonymize,
    explore,
    ask,
    choose,
    release,
    apply,
    audit,
    reproduce,
    serve,
)
"""In the order of `--help`."""

__all__ = ["COMMANDS"]
