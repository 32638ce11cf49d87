"""One file per command; `cli` puts them together. Heavy imports wait inside the commands, so that `--help` is quick."""

from sfumato.commands.anonymize import anonymize
from sfumato.commands.check import check
from sfumato.commands.datasets import datasets
from sfumato.commands.explore import explore
from sfumato.commands.reproduce import reproduce

COMMANDS = (datasets, check, anonymize, explore, reproduce)
"""In the order in which `--help` lists them."""

__all__ = ["COMMANDS"]
