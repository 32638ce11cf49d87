"""`sfumato anonymize`: one release in one line."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands._options import (
    ABOUT_TABLES,
    AsJson,
    OfBaskets,
    OfItems,
    OfTable,
    OptionGroup,
    RoleOptions,
    TableReading,
    Writing,
    option,
    refuse,
)
from sfumato.commands._output import announce_first_run, say, tell
from sfumato.config.options import IN_FORMS, ITEM_ANONYMIZERS, LIMIT, MERGING, SETS, SOURCE, SUPPRESS, UTILITY, spelled
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.publish._single import Single, Target

USUAL = "mondrian"
OF_ITEMS = "is about a table with a column of items; name it (--items COLUMN)"


@dataclass(frozen=True)
class RecipeOptions(OptionGroup):
    """Who makes the release, and what it must satisfy."""

    require: list[str] = field(default_factory=list)
    maker: Annotated[str | None, typer.Option("--with")] = None
    form: Annotated[str, option(IN_FORMS)] = "generalization"
    suppress: Annotated[float, option(SUPPRESS)] = 0.0
    utility: Annotated[str | None, option(UTILITY, ': "utility-constraints level=1"')] = None
    limit: Annotated[str | None, option(LIMIT, ': "suppression share=0.05 of=items"')] = None
    items_with: Annotated[str | None, option(ITEM_ANONYMIZERS, ': "coat", "aa", ...')] = None
    merging: Annotated[str | None, option(MERGING, ': "rt-merge bound=0.3"')] = None
    sets: Annotated[str | None, option(SETS)] = None

    def refuse_items(self) -> None:
        """Refuse what is about the items of a table."""
        given = {"--items-with": self.items_with, "--set merging": self.merging, "--set sets": self.sets}
        refuse(given, OF_ITEMS)


def anonymize(
    table: Annotated[str, typer.Argument(help=f"{SOURCE.meaning} Or a study, whose roles and hierarchies are used.")],
    to: Annotated[Path, typer.Option()],
    recipe: RecipeOptions,
    roles: RoleOptions,
    about: OfTable,
    reading: TableReading,
    baskets: OfBaskets,
    items: OfItems,
    writing: Writing,
    layout: str = "rows",
    lattice: Path | None = None,
    legend: str = "auto",
    no_certificate: bool = False,
    as_json: AsJson = False,
) -> None:
    """Make one release of a table or of baskets, in one line, and say what it achieves."""
    from sfumato.publish._single import Target

    study = _study(table)
    declared = table if study is not None and not {**roles.given(), **about.given(), **reading.given()} else ""
    written = (to, layout, writing.escape_formulas, writing.force, lattice, legend, not no_certificate)
    target = Target(*written, study=declared)
    if study is not None:
        refuse({**baskets.given(), **items.given()}, f"is said by the study {table}; leave it out")
    parts = frozenset() if study is None else study.parts
    if items.are_meant or len(parts) > 1:
        single = _mixed(table, study, recipe, roles, about, reading, baskets, items, target)
    elif baskets.are_meant(table) or parts == {"items"}:
        items.refuse_alone()
        recipe.refuse_items()
        given = {**roles.given(), **about.given(), "--set na": reading.na, "--set lattice": lattice}
        refuse({**given, "--suppress": recipe.suppress}, ABOUT_TABLES)
        single = _baskets(table, study, recipe, baskets, reading, target)
    else:
        items.refuse_alone()
        recipe.refuse_items()
        named = {"utility": recipe.utility, "limit": recipe.limit, "legend": legend != "auto"}
        baskets.refuse_for_table({spelled(name): value for name, value in named.items()})
        single = _table(table, study, recipe, roles, about, reading, target)
    tell(single.notices)
    say(single.values, single.lines, as_json)


def _study(source: str) -> Any:
    """Return the study that the data are named by, with its roles, hierarchies and reading; None where it is none."""
    if not source.lower().endswith(".toml"):
        return None
    from sfumato.tradeoff.study.study import read_study

    return read_study(source)


def _table(
    source: str,
    study: Any,
    recipe: RecipeOptions,
    roles: RoleOptions,
    about: OfTable,
    reading: TableReading,
    target: Target,
) -> Single:
    """Make a release of a table; everything that can be refused is, before the table is read."""
    from sfumato.anonymizers import anonymizer
    from sfumato.anonymizers.anonymizer import Anonymizer
    from sfumato.anonymizers.external.external import Brought
    from sfumato.publish._single import Clock, single_table
    from sfumato.requirements.requirement import KAnonymity, requirement
    from sfumato.tradeoff.study.candidate import Candidate

    clock = Clock()
    if study is None:
        declared = about.declaration(source, roles, reading)
    else:
        declared = about.override(study.table, roles, reading)
    maker = anonymizer(USUAL if recipe.maker is None else recipe.maker)
    wanted = requirement(" & ".join(recipe.require)) if recipe.require else KAnonymity(1)
    form, suppress = recipe.form, recipe.suppress
    if isinstance(maker, Brought):
        raise BadInputError(
            f"{maker.name} brings a release that is made already; `sfumato explore STUDY --add FILE` puts it on a map"
        )
    if not isinstance(maker, Anonymizer):
        maker.check_request(wanted, form, suppress)  # type: ignore[arg-type]
        if target.layout != "rows":
            raise BadInputError(f"{maker.name} publishes records, which are rows; leave out --set layout")
    elif not recipe.require:
        raise BadInputError(f'{maker.name} needs to know what to satisfy: --require "k-anonymity k=10", for example')
    if target.lattice is not None and not maker.has_lattice:
        raise BadInputError(f"--set lattice belongs to --with full-domain; {maker.name} searches no lattice")
    target = replace(target, inputs=declared.files)
    target.check()
    announce_first_run()
    rows = declared.open_rows()
    declared = replace(declared, **roles.of_rows(rows))  # type: ignore[arg-type]
    table = declared.open(rows)
    clock.end("read")
    return single_table(table, Candidate(maker, wanted, form, suppress), declared, target, clock)  # type: ignore[arg-type]


def _mixed(
    source: str,
    study: Any,
    recipe: RecipeOptions,
    roles: RoleOptions,
    about: OfTable,
    reading: TableReading,
    baskets: OfBaskets,
    items: OfItems,
    target: Target,
) -> Single:
    """Make a release of a table with items; everything that can be refused is, before the table is read."""
    from sfumato.anonymizers import anonymizer
    from sfumato.anonymizers.items import DEFAULT_MAKER, TREE_MAKER, basket_anonymizer
    from sfumato.anonymizers.items.items_of_groups import FORM, NoMerging, merging
    from sfumato.publish._single import Clock, single_items
    from sfumato.requirements.items import SuppressionLimit, mixed_requirement, suppression_limit, utility_constraints
    from sfumato.tradeoff.study.candidate import Candidate, files_of

    clock = Clock()
    refuse({"--set lattice": target.lattice}, "is about tables without items; leave it out")
    if recipe.form != FORM or target.layout != "rows":
        raise BadInputError(
            "a table with items is published as a generalization, row by row: a bucketization shows exact "
            "quasi-identifiers, and with them and an item a person would be found; leave out --form and --set layout"
        )
    if not recipe.require:
        raise BadInputError('a table with items needs to know what to satisfy: --require "k-km-anonymity k=5 m=2"')
    made = Candidate(
        anonymizer(USUAL if recipe.maker is None else recipe.maker),
        mixed_requirement(" & ".join(recipe.require)),
        suppress=recipe.suppress,
        item_anonymizer=basket_anonymizer(recipe.items_with or (DEFAULT_MAKER if baskets.tree is None else TREE_MAKER)),
        merging=merging(NoMerging.name if recipe.merging is None else recipe.merging),
        utility=None if recipe.utility is None else utility_constraints(recipe.utility),
        limit=SuppressionLimit() if recipe.limit is None else suppression_limit(recipe.limit),
        sets=recipe.sets or "group",  # type: ignore[arg-type]  # checked by the recipe
    )
    made.check()
    if study is None:
        declared = items.declaration(about.declaration(source, roles, reading), baskets)
    else:
        declared = replace(study.data, table=about.override(study.data.table, roles, reading))
    target = replace(target, inputs=[*declared.files, *map(Path, files_of(made))])
    target.check()
    announce_first_run()
    rows = declared.open_rows()
    data = declared.with_table(**roles.of_rows(rows)).open(rows)
    clock.end("read")
    return single_items(data, made, declared, target, clock)


def _baskets(
    source: str, study: Any, recipe: RecipeOptions, baskets: OfBaskets, reading: TableReading, target: Target
) -> Single:
    """Make a release of baskets."""
    from sfumato.anonymizers.items import DEFAULT_MAKER, TREE_MAKER, basket_anonymizer, usual_maker
    from sfumato.publish._single import Clock, basket_layout, single_baskets
    from sfumato.requirements.items import SuppressionLimit, basket_requirement, suppression_limit, utility_constraints
    from sfumato.tradeoff.study.candidate import Candidate, files_of

    clock = Clock()
    if study is not None:
        refuse(reading.given(), f"is said by the study {source}; leave it out")
    declared = baskets.declaration(source, reading) if study is None else study.data.sets
    basket_layout(target)
    if len(recipe.require) != 1:
        raise BadInputError('baskets need one requirement: --require "km-anonymity k=5 m=2", for example')
    wanted = basket_requirement(recipe.require[0])
    maker = basket_anonymizer(usual_maker(wanted, declared.tree is not None) if recipe.maker is None else recipe.maker)
    if recipe.maker is None and str(maker) == TREE_MAKER:
        kept = "sets of items keep to the branches of the tree, so that counts of pairs are less exact than without it"
        tell([f'{kept}; --with "{DEFAULT_MAKER}" takes no notice of the tree'])
    utility = None if recipe.utility is None else utility_constraints(recipe.utility)
    limit = SuppressionLimit() if recipe.limit is None else suppression_limit(recipe.limit)
    target = replace(target, inputs=[*declared.files, *map(Path, files_of(maker, wanted, utility))])
    target.check()
    announce_first_run()
    return single_baskets(declared, Candidate(maker, wanted, utility=utility, limit=limit), target, clock)
