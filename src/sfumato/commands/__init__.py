"""One file per command; `cli` puts them together. Heavy imports wait inside the commands, so that `--help` is quick."""

from sfumato.commands.anonymize import anonymize
from sfumato.commands.apply import apply
from sfumato.commands.ask import ask
from sfumato.commands.audit import audit
from sfumato.commands.check import check
from sfumato.commands.choose import choose
from sfumato.commands.drafts.init import init
from sfumato.commands.drafts.policy import policy
from sfumato.commands.explore import explore
from sfumato.commands.hierarchy import hierarchy
from sfumato.commands.lists.datasets import datasets
from sfumato.commands.lists.options import options
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
