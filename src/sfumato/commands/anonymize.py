"""`sfumato anonymize`: one release in one line."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands import _options as options
from sfumato.commands._output import announce_first_run, say, tell
from sfumato.config.options import IN_FORMS, ITEM_ANONYMIZERS, LIMIT, MERGING, SETS, SOURCE, SUPPRESS, UTILITY, spelled
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.data.declaration import BasketsDeclaration
    from sfumato.publish.publication import Target
    from sfumato.tradeoff.study.candidate import Candidate

USUAL = "mondrian"
OF_ITEMS = "is about a table with a column of items; name it (--items COLUMN)"


@dataclass(frozen=True)
class RecipeOptions(options.OptionGroup):
    """The anonymizer and the requirement."""

    require: list[str] = field(default_factory=list)
    maker: Annotated[str | None, typer.Option("--with")] = None
    form: Annotated[str, options.option(IN_FORMS)] = "generalization"
    suppress: Annotated[float, options.option(SUPPRESS)] = 0.0
    utility: Annotated[str | None, options.option(UTILITY, ': "utility-constraints level=1"')] = None
    limit: Annotated[str | None, options.option(LIMIT, ': "suppression share=0.05 of=items"')] = None
    items_with: Annotated[str | None, options.option(ITEM_ANONYMIZERS, ': "coat", "aa", ...')] = None
    merging: Annotated[str | None, options.option(MERGING, ': "rt-merge bound=0.3"')] = None
    sets: Annotated[str | None, options.option(SETS)] = None

    @property
    def of_items(self) -> dict[str, object]:
        """The options for the items of a table."""
        return {"--items-with": self.items_with, "--set merging": self.merging, "--set sets": self.sets}

    @property
    def requirement(self) -> str:
        """All requirements as one text."""
        return " & ".join(self.require)

    def limits(self) -> dict[str, Any]:
        """Parse utility constraints and suppression limit of items."""
        from sfumato.requirements.items import SuppressionLimit, suppression_limit, utility_constraints

        return {
            "utility": None if self.utility is None else utility_constraints(self.utility),
            "limit": SuppressionLimit() if self.limit is None else suppression_limit(self.limit),
        }


def anonymize(
    table: Annotated[str, typer.Argument(help=f"{SOURCE.meaning} Or a study, whose roles and hierarchies are used.")],
    to: Annotated[Path, typer.Option()],
    recipe: RecipeOptions,
    roles: options.RoleOptions,
    about: options.OfTable,
    reading: options.TableReading,
    baskets: options.OfBaskets,
    items: options.OfItems,
    writing: options.Writing,
    layout: str = "rows",
    legend: str = "auto",
    no_certificate: bool = False,
    as_json: options.AsJson = False,
) -> None:
    """Make one release of a table or of baskets, and report its measures."""
    from sfumato.data.declaration import DataDeclaration
    from sfumato.publish.publication import Clock, Target, single_table
    from sfumato.tradeoff.study.candidate import files_of

    study, clock = _study(table), Clock()
    declares = table if study is not None and not {**roles.given(), **about.given(), **reading.given()} else ""
    written = (to, layout, writing.escape_formulas, writing.force, legend, not no_certificate)
    target = Target(*written, study=declares)
    said = t("notice.said_study", table=table)
    if study is not None:
        options.refuse({**baskets.given(), **items.given()}, said)
    parts = frozenset() if study is None else study.parts
    beside = items.are_meant or len(parts) > 1
    alone = not beside and (baskets.are_meant(table) or parts == {"items"})
    if not beside:
        items.refuse_alone()
        options.refuse(recipe.of_items, OF_ITEMS)
    if alone:
        roles.refuse_for_baskets({**about.given(), "--set na": reading.na, "--suppress": recipe.suppress})
        options.refuse({} if study is None else {**reading.given(), "--person": roles.person}, said)
        sets = baskets.declaration(table, reading, roles.person) if study is None else None
        declared = DataDeclaration(items=sets) if study is None else study.data
        candidate = _of_baskets(recipe, target, declared.sets)
    else:
        if beside:
            candidate = _of_items(recipe, target, baskets.tree is not None)
        else:
            given = {"utility": recipe.utility, "limit": recipe.limit, "legend": legend != "auto"}
            named = {**given, "layout": layout != "rows"}
            baskets.refuse_for_table({spelled(name): value for name, value in named.items()})
            candidate = _of_table(recipe, target)
        declared = about.declared(table, study, roles, reading)
        declared = items.declaration(declared.rows, baskets) if items.are_meant else declared
    target = replace(target, inputs=[*declared.files, *map(Path, files_of(candidate))])
    target.check()
    announce_first_run()
    opened = declared
    if alone:
        data = declared.open()
    else:
        rows = declared.open_rows()
        opened = declared.with_table(**roles.of_rows(rows))
        data = opened.open(rows)
    clock.end("read")
    if alone or beside:
        from sfumato.publish.pipeline import single_items  # not needed for tables

        single = single_items(data, candidate, declared, target, clock)
    else:
        single = single_table(data, candidate, opened.rows, target, clock)
    tell(single.notices)
    say(single.values, single.lines, as_json)


def _study(source: str) -> Any:
    """Return the study of the data, with its roles, hierarchies and reading; None if they are no study."""
    if not source.lower().endswith(".toml"):
        return None
    from sfumato.tradeoff.study.study import read_study

    return read_study(source)


def _of_table(recipe: RecipeOptions, target: Target) -> Candidate:
    """Return the candidate for a table; infeasible requests are refused before the table is read."""
    from sfumato.anonymizers import anonymizer
    from sfumato.anonymizers.anonymizer import Anonymizer
    from sfumato.anonymizers.external.external import ExternalRelease
    from sfumato.requirements.requirement import KAnonymity, requirement
    from sfumato.tradeoff.study.candidate import Candidate

    maker = anonymizer(USUAL if recipe.maker is None else recipe.maker)
    wanted = requirement(recipe.requirement) if recipe.require else KAnonymity(1)
    if isinstance(maker, ExternalRelease):
        raise refusal("cli.made_elsewhere", name=maker.name)
    if not isinstance(maker, Anonymizer):
        maker.check_request(wanted, recipe.form, recipe.suppress)  # type: ignore[arg-type]
    elif not recipe.require:
        raise refusal("needs_know_satisfy", name=maker.name)
    return Candidate(maker, wanted, recipe.form, recipe.suppress)  # type: ignore[arg-type]


def _of_items(recipe: RecipeOptions, target: Target, has_tree: bool) -> Candidate:
    """Return the candidate for a table with items."""
    from sfumato.anonymizers import anonymizer
    from sfumato.anonymizers.items import DEFAULT_MAKER, TREE_MAKER, basket_anonymizer
    from sfumato.anonymizers.items.items_of_groups import FORM, NoMerging, merging
    from sfumato.requirements.items import mixed_requirement
    from sfumato.tradeoff.study.candidate import Candidate

    if recipe.form != FORM or target.layout != "rows":
        raise refusal("cli.items_generalized")
    if not recipe.require:
        raise refusal("table_items_needs_know")
    made = Candidate(
        anonymizer(USUAL if recipe.maker is None else recipe.maker),
        mixed_requirement(recipe.requirement),
        suppress=recipe.suppress,
        item_anonymizer=basket_anonymizer(recipe.items_with or (TREE_MAKER if has_tree else DEFAULT_MAKER)),
        merging=merging(NoMerging.name if recipe.merging is None else recipe.merging),
        sets=recipe.sets or "group",  # type: ignore[arg-type]  # checked by the recipe
        **recipe.limits(),
    )
    made.check()
    return made


def _of_baskets(recipe: RecipeOptions, target: Target, sets: BasketsDeclaration) -> Candidate:
    """Return the candidate for baskets."""
    from sfumato.anonymizers.items import DEFAULT_MAKER, TREE_MAKER, basket_anonymizer, usual_maker
    from sfumato.publish.publication import basket_layout
    from sfumato.requirements.items import basket_requirement
    from sfumato.tradeoff.study.candidate import Candidate

    basket_layout(target)
    if len(recipe.require) != 1:
        raise refusal("baskets_need_requirement")
    wanted = basket_requirement(recipe.require[0]).counting(sets.person is not None)
    maker = basket_anonymizer(usual_maker(wanted, sets.tree is not None) if recipe.maker is None else recipe.maker)
    if recipe.maker is None and str(maker) == TREE_MAKER:
        kept = t("notice.sets_items_keep_branches")
        tell([t("notice.takes_no_notice_tree", kept=kept, DEFAULT_MAKER=DEFAULT_MAKER)])
    return Candidate(maker, wanted, **recipe.limits())
