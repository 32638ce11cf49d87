"""`sfumato check`: how risky data are as they stand, and whether a study would run."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import (
    AsJson,
    Named,
    OfBaskets,
    OfItems,
    OfTable,
    OptionGroup,
    RoleOptions,
    TableReading,
    option,
)
from sfumato.commands._output import announce_first_run, say, tell
from sfumato.config.options import HIERARCHIES, KNOWN
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.data.reading import Table
    from sfumato.tradeoff._check_items import ItemsCheck
    from sfumato.tradeoff.check import Check
    from sfumato.tradeoff.study.study import Study


@dataclass(frozen=True)
class SampledOptions(OptionGroup):
    """How the table came out of a population."""

    sampling_weight: Annotated[str | None, typer.Option("--weight")] = None
    household: str | None = None
    population: int | None = None
    sampling_fraction: float | None = None


def check(
    study: str,
    roles: Named,
    sampled: SampledOptions,
    reading: TableReading,
    baskets: OfBaskets,
    items: OfItems,
    hierarchies: Annotated[Path | None, option(HIERARCHIES)] = None,
    missing: str | None = None,
    known: Annotated[int, option(KNOWN)] = 2,
    as_json: AsJson = False,
) -> None:
    """Say how risky a table is (or baskets are) as it stands, and whether a study would run (exit 1 if not)."""
    from sfumato.report.check_summary import check_in_words

    started = time.perf_counter()
    done: Check | ItemsCheck | None = _items(study, roles, reading, baskets, items, hierarchies, missing, known)
    if done is None:
        baskets.refuse_for_table()
        done = _table(study, roles, sampled, reading, hierarchies, missing)
    tell(done.notices)
    say({**done.to_dict(), "seconds": round(time.perf_counter() - started, 4)}, [check_in_words(done)], as_json)
    if not done.valid:
        raise typer.Exit(1)


def _items(
    name: str,
    roles: Named,
    reading: TableReading,
    baskets: OfBaskets,
    items: OfItems,
    hierarchies: Path | None,
    missing: str | None,
    known: int,
) -> ItemsCheck | None:
    """Check records with items, or a study of some, where that is what the name stands for."""
    from sfumato.tradeoff._check_items import check_items
    from sfumato.tradeoff.study.study import read_study

    if items.are_meant:
        about = OfTable([] if hierarchies is None else [hierarchies], missing="drop" if missing == "drop" else "value")
        declared = items.declaration(about.declaration(name, RoleOptions(), reading), baskets)
        rows = declared.open_rows()
        announce_first_run()
        return check_items(declared.with_table(**roles.of_rows(rows)).open(rows))
    if baskets.baskets:
        items.refuse_alone()
        announce_first_run()
        return check_items(baskets.declaration(name, reading).open(), known=known)
    study = read_study(name) if baskets.are_meant(name) or name.lower().endswith(".toml") else None
    if study is None or study.section != "items":
        items.refuse_alone()
    if study is None or study.data.items is None:
        return None
    announce_first_run()
    return check_items(study.data.open(), study)


def _table(
    name: str,
    roles: Named,
    sampled: SampledOptions,
    reading: TableReading,
    hierarchies: Path | None,
    missing: str | None,
) -> Check:
    """Check a table, or a study of one."""
    from sfumato.config.options import check_choice
    from sfumato.data.bundled import DATASETS
    from sfumato.tradeoff.check import check as checked
    from sfumato.tradeoff.study.study import of_table, read_study

    if missing is not None:
        check_choice("missing", missing, ("value", "drop", "any"))
    source: Table | Study
    if name.lower().endswith(".toml") or (name in DATASETS and not roles.quasi and not Path(name).is_file()):
        for given in {**roles.given(), **({"--hierarchies": hierarchies} if hierarchies else {}), **reading.given()}:
            raise BadInputError(f"{given} belongs to a table; the study {name} says this itself, under [table]")
        source = of_table(read_study(name))
    else:
        source = _opened(name, roles, reading, hierarchies, missing)
    announce_first_run()
    values = sampled.values()
    return checked(source, weight=values.pop("sampling_weight"), **values, missing=missing)  # type: ignore[arg-type]


def _opened(name: str, roles: Named, reading: TableReading, hierarchies: Path | None, missing: str | None) -> Table:
    """Open a table whose roles are given as options."""
    about = OfTable([] if hierarchies is None else [hierarchies], missing="drop" if missing == "drop" else "value")
    given = RoleOptions(person=roles.person, one_record_per_person=roles.one_record_per_person)
    declared = about.declaration(name, given, reading)
    rows = declared.open_rows()
    return replace(declared, **roles.of_rows(rows)).open(rows)  # type: ignore[arg-type]
