"""The packages in the order in which data passes through them: each imports only packages above it.

`docs/architecture.md` shows this list, and a test checks every import against it.
"""

PACKAGES = {
    "_packages": "this list",
    "errors": "bad input and infeasible requests, each with its exit code",
    "config": "options as data, parsing of `name key=value`, TOML and JSON documents",
    "runtime": "cancellation, memory, threads, kernels, array types, all-or-nothing files",
    "texts": "the catalogue of texts, formatting of numbers, templates",
    "engines": "row work: DuckDB, Spark, PostgreSQL",
    "data": "one data set: roles, hierarchies, cells, items, persons; reading and guessing",
    "requirements": "what a release must satisfy, for attributes and for items",
    "auditing": "what a published file shows, judged by definitions alone",
    "release": "the release value, queries and regions, writing",
    "anonymizers": "one file or folder per algorithm",
    "measures": "risk, utility and attacks",
    "tradeoff": "study, exploration and search, map, question and answer, limit",
    "report": "charts, pages and summaries of a map",
    "publish": "write, audit, certificate, mapping and apply, ledger",
    "papers": "the five reproductions, one folder per paper",
    "workbench": "the local web application on the same studies and folders",
    "commands": "one file per command",
}
"""The content of each package, by name."""


def up_to(package: str) -> tuple[str, ...]:
    """Return the packages up to one, itself included: those on which its results depend."""
    names = list(PACKAGES)
    return tuple(names[: names.index(package) + 1])
