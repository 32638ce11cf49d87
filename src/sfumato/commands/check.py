"""`sfumato check`: the risk of unanonymized data, and whether a study would run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands._options import (
    AsJson,
    Details,
    Named,
    OfBaskets,
    OfItems,
    OfTable,
    OptionGroup,
    RoleOptions,
    TableReading,
    option,
    refuse,
)
from sfumato.commands._output import announce_first_run, say, tell
from sfumato.config.options import HIERARCHIES, KNOWN
from sfumato.texts.catalogue import t

if TYPE_CHECKING:
    from sfumato.data.declaration import DataDeclaration
    from sfumato.tradeoff._check_items import ItemsCheck
    from sfumato.tradeoff.check import Check


@dataclass(frozen=True)
class SampledOptions(OptionGroup):
    """How the table was sampled from a population."""

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
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Measure the risk of an unanonymized table (or baskets), and check whether a study would run (exit 1 if not)."""
    from sfumato.report.check_summary import check_in_words

    started = time.perf_counter()
    about = OfTable([] if hierarchies is None else [hierarchies], missing="drop" if missing == "drop" else "value")
    done: Check | ItemsCheck | None = _items(study, roles, about, reading, baskets, items, known)
    if done is None:
        baskets.refuse_for_table()
        done = _table(study, roles, about, sampled, reading, missing)
    tell(done.notices)
    say(
        {**done.to_dict(), "seconds": round(time.perf_counter() - started, 4)}, [check_in_words(done, details)], as_json
    )
    if not done.valid:
        raise typer.Exit(1)


def _items(
    name: str, roles: Named, about: OfTable, reading: TableReading, baskets: OfBaskets, items: OfItems, known: int
) -> ItemsCheck | None:
    """Check records with items, or a study of them; None for a table."""
    from sfumato.tradeoff._check_items import check_items
    from sfumato.tradeoff.study.study import read_study

    if items.are_meant:
        given = RoleOptions(person=roles.person, one_record_per_person=roles.one_record_per_person)
        declared = items.declaration(about.declaration(name, given, reading), baskets)
        return check_items(_opened(declared, roles))
    if baskets.baskets:
        items.refuse_alone()
        announce_first_run()
        roles.refuse_for_baskets()
        return check_items(baskets.declaration(name, reading, roles.person).open(), known=known)
    study = read_study(name) if baskets.are_meant(name) or name.lower().endswith(".toml") else None
    if study is None or study.section != "items":
        items.refuse_alone()
    if study is None or study.data.items is None:
        return None
    announce_first_run()
    return check_items(study.data.open(), study)


def _table(
    name: str, roles: Named, about: OfTable, sampled: SampledOptions, reading: TableReading, missing: str | None
) -> Check:
    """Check a table, or a study of one."""
    from sfumato.config.options import check_choice
    from sfumato.data.bundled import DATASETS
    from sfumato.data.declaration import DataDeclaration
    from sfumato.tradeoff.check import check as checked
    from sfumato.tradeoff.study.study import of_table, read_study

    if missing is not None:
        check_choice("missing", missing, ("value", "drop", "any"))
    if name.lower().endswith(".toml") or (name in DATASETS and not roles.quasi and not Path(name).is_file()):
        refuse(
            {**roles.given(), "--hierarchies": about.hierarchies, **reading.given()},
            t("notice.belongs_table", name=name),
        )
        source: Any = of_table(read_study(name))
        announce_first_run()
    else:
        given = RoleOptions(person=roles.person, one_record_per_person=roles.one_record_per_person)
        source = _opened(DataDeclaration(about.declaration(name, given, reading)), roles)
    values = sampled.values()
    return checked(source, weight=values.pop("sampling_weight"), **values, missing=missing)  # type: ignore[arg-type]


def _opened(declared: DataDeclaration, roles: Named) -> Any:
    """Open data with roles from options."""
    rows = declared.open_rows()
    opened = declared.with_table(**roles.of_rows(rows)).open(rows)
    announce_first_run()
    return opened
