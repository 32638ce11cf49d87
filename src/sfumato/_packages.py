"""The rooms of the house, in the order in which data walks through them: each uses only rooms above it.

This is the one list: `docs/design.md` shows it, and a test holds every import against it.
"""

from __future__ import annotations

ROOMS = {
    "rooms": "this list",
    "errors": "the two kinds of refusal",
    "process": "memory that the shell allows, Ctrl-C within seconds, output whose reader may go away",
    "arrays": "the few kinds of arrays, by what is in them",
    "plain": "values for JSON, and back",
    "configuration": "objects that are their configuration, and what their options are",
    "vocabulary": "options that studies and the command line share, each said once",
    "documents": "the border for our own JSON and TOML files",
    "config": "sections of `study.toml`: known keys, lists, texts",
    "phrases": "numbers, counts and lists as people write them",
    "texts": "one catalogue of everything that is said to people",
    "vega": "the one door to what draws charts",
    "quiet": "values that show no record when they are printed",
    "workers": "threads of ours: how many there are, and who may stop them",
    "kernels": "the decorator of numba kernels, and where machine code is kept",
    "kernel_helpers": "what kernels share: arrays that grow, sorting, queues, hashing, drawing",
    "engines": "who does the heavy lifting on rows",
    "table": "what comes in: roles, hierarchies, cells, bundled tables",
    "requirements": "what a release must satisfy",
    "evidence": "what a published file shows, whoever made it: counted, read and judged by definitions alone",
    "release": "what comes out: boxes, groups, histograms; regions; writing",
    "anonymizers": "who makes releases, one file or folder per algorithm",
    "measures": "what we say of a release: risk, utility, attacks",
    "transactions": "the same walk for sets of items",
    "mixed": "the same walk for tables with a set-valued column: patients and their codes",
    "tradeoff": "comparing: study, exploration, map, search, choice, limit",
    "catalogue": "everything that can be chosen, as data",
    "words": "what is said to people, of tables and of baskets alike",
    "pages": "HTML, by templates that escape what is handed to them",
    "publish": "leaving the house: publication, certificate, audit",
    "papers": "the five reproductions, one folder per paper",
    "report": "looking: page, pictures, the folder that `explore` writes",
    "workbench": "the whole walk in a browser, on the same studies and folders",
    "commands": "one file per command; wiring",
    "cli": "the door",
}
"""By name, what is in each."""


def up_to(room: str) -> tuple[str, ...]:
    """Name the rooms up to one, itself included: what its results depend on."""
    names = list(ROOMS)
    return tuple(names[: names.index(room) + 1])
