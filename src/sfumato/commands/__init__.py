"""One file per command; `cli` puts them together. Heavy imports wait inside the commands, so that `--help` is quick.

Commands that write a first draft for a person to correct: a study, a policy.

What there is: the bundled data, and everything that can be chosen.
"""

from sfumato.commands.anonymize import anonymize
from sfumato.commands.apply import apply
from sfumato.commands.ask import ask, choose
from sfumato.commands.audit import audit
from sfumato.commands.check import check
from sfumato.commands.explore import explore
from sfumato.commands.hierarchy import hierarchy
from sfumato.commands.init import init
from sfumato.commands.lists import datasets, options
from sfumato.commands.policy import policy
from sfumato.commands.release import release
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
"""In the order in which `--help` lists them."""

__all__ = ["COMMANDS"]
