"""How what was clicked is done again, from the study to the published file: as command lines, and in Python."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAP = "repeated-map"
"""The folder of the map that is made again, beside which the release is written."""

COMMANDS = """\
# From the study to the published file, as commands: run them in an empty folder.
# The first measures all candidates of the study again and draws their map; the second publishes one of them.
"""

SCRIPT = '''\
"""From the study to the published file, in Python: run it in an empty folder.

All candidates of the study are measured again and their map is drawn; then one of them is published.
"""

from pathlib import Path

from sfumato import explore, read_study
from sfumato.publish import publish_point
from sfumato.report import save_map

study = read_study({study})
folder = Path({map})
folder.mkdir()
save_map(explore(study, folder / "cache.jsonl"), folder)

published = publish_point(
{options}
)
print("\\n".join(published.lines()))
'''


@dataclass(frozen=True)
class Recipe:
    """What was published, and how."""

    study: Path
    point: str
    file: str
    layout: str = "rows"
    mapping: str | None = None
    """The file of the mapping, where one was written."""

    recipient: str | None = None
    escape_formulas: bool = False

    def commands(self) -> str:
        """Write it as lines for a shell.

        >>> print(Recipe(Path("study.toml"), "ab12", "release.csv", recipient="public").commands().splitlines()[-1])
        sfumato release repeated-map --point ab12 --to release.csv --for public
        """
        explored = ["sfumato", "explore", str(self.study), "--out", MAP]
        released = ["sfumato", "release", MAP, "--point", self.point, "--to", self.file, *self._words()]
        return f"{COMMANDS}{shlex.join(explored)}\n{shlex.join(released)}\n"

    def script(self) -> str:
        """Write it as a script of Python."""
        values: dict[str, object] = {"layout": self.layout} if self.layout != "rows" else {}
        values |= {} if self.mapping is None else {"mapping": self.mapping}
        values |= {"escape_formulas": True} if self.escape_formulas else {}
        values |= {} if self.recipient is None else {"recipient": self.recipient}
        named = [f"{name}={value!r}" for name, value in values.items()]
        lines = [f"    {each}," for each in ("folder", repr(self.point), repr(self.file), *named)]
        return SCRIPT.format(study=repr(str(self.study)), map=repr(MAP), options="\n".join(lines))

    def _words(self) -> Iterator[str]:
        """Say what is not as usual, by options."""
        if self.layout != "rows":
            yield from ("--layout", self.layout)
        if self.mapping is not None:
            yield from ("--mapping", self.mapping)
        if self.recipient is not None:
            yield from ("--for", self.recipient)
        if self.escape_formulas:
            yield "--escape-formulas"
