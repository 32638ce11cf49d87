"""What the commands say of baskets: the same verbs, for sets of items."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.commands.common import announce_first_run, print_json
from sfumato.errors import BadInputError
from sfumato.phrases import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.publish import BasketAudit
    from sfumato.transactions.files.declaration import BasketsDeclaration


def refuse(given: Mapping[str, object], why: str) -> None:
    """Raise where an option was given that has no say here."""
    for option, value in given.items():
        if value:
            raise BadInputError(f"{option} {why}")


def print_measures(measures: Mapping[str, float]) -> None:
    """Print measures with what they mean."""
    from sfumato.measures import MEASURES
    from sfumato.phrases import number

    typer.echo("\nMeasured (^ higher is better, v lower is better):")
    for name in (name for name in MEASURES if name in measures):
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        typer.echo(f"  {name:22} {number(measures[name]):>12} {arrow} {MEASURES[name].meaning}")


def short(text: str, most: int = 90) -> str:
    """Cut a long text short."""
    return text if len(text) <= most else f"{text[:most]} ..."


def audit_of_baskets(
    file: Path,
    require: str | None,
    original: str | None,
    known: int | None,
    columns: tuple[str | None, str | None, str | None],
    tree: str | None,
    legend: Path | None,
    local: bool,
    separator: str | None,
    encoding: str,
    escaped_formulas: bool,
    as_json: bool,
) -> None:
    """Audit a published file of baskets, print what was found, and exit 1 where it does not hold."""
    from sfumato.publish import audit_baskets
    from sfumato.publish.baskets.mapping import read_legend

    against = None
    if original is not None:
        against = declared_in(original, tree).open()
    elif tree is not None:
        raise BadInputError("--tree says which items a published node stands for: give the original too (--original)")
    words = None if legend is None else read_legend(legend)
    found = audit_baskets(file, require, against, known, words, local, *columns, separator, encoding, escaped_formulas)
    if as_json:
        print_json(found.content())
    else:
        _print_audit(found)
    if not found.holds:
        raise typer.Exit(1)


def anonymize_of_baskets(
    declared: BasketsDeclaration,
    to: Path,
    require: Sequence[str],
    maker: str | None,
    utility: str | None,
    limit: str | None,
    layout: str,
    force: bool,
    escape_formulas: bool,
    as_json: bool,
) -> None:
    """Make one release of baskets, write it, and say what it achieves."""
    from sfumato.engines.formulas import check_escaping, formula_items, formula_notice
    from sfumato.release import check_targets, format_of
    from sfumato.transactions import DEFAULT_MAKER, anonymize_baskets
    from sfumato.transactions.anonymizers.registry import basket_anonymizer
    from sfumato.transactions.files.writing import check_layout, published_rows, write_baskets
    from sfumato.transactions.measures.queries import fitting_queries
    from sfumato.transactions.measures.scales import BasketScales, measure_baskets
    from sfumato.transactions.policy import KMAnonymity, basket_requirement

    started = time.perf_counter()
    layout = "lines" if layout == "rows" else layout
    check_layout(layout, format_of(to))
    check_escaping(escape_formulas, to, format_of(to))
    check_targets([to], force, declared.files)
    if len(require) != 1:
        raise BadInputError('baskets need one requirement: --require "km-anonymity k=5 m=2", for example')
    wanted, chosen = basket_requirement(require[0]), basket_anonymizer(DEFAULT_MAKER if maker is None else maker)
    announce_first_run()
    baskets = declared.open()
    release = anonymize_baskets(baskets, wanted, chosen, utility, limit)
    known = wanted.m if isinstance(wanted, KMAnonymity) else BasketScales().known
    measured = measure_baskets(release, BasketScales(known=known, queries=fitting_queries(baskets)))
    write_baskets(release, to, layout, force, escape_formulas)
    cells = formula_items(published_rows(release), escape_formulas) if format_of(to) == "csv" else {}
    notices = [*baskets.notices, *formula_notice(cells, escape_formulas)]
    for notice in notices:
        typer.echo(f"note: {notice}", err=True)
    if as_json:
        print_json(
            {
                "baskets": baskets.origin,
                "records": baskets.size,
                "anonymizer": str(chosen),
                "requirement": str(wanted),
                "published_items": len(release.labels),
                "suppressed": len(release.suppressed),
                "measures": dict(measured.values),
                "files": [str(to)],
                "notices": notices,
                "seconds": round(time.perf_counter() - started, 4),
            }
        )
        return
    shown, items = counted(baskets.size, "record"), counted(len(baskets.items), "item")
    typer.echo(f"Wrote {to}: {shown}, {items} published as {len(release.labels):,}, by {chosen.in_words()}.")
    typer.echo(f"In it {wanted.rule_in_words()}.")
    print_measures(measured.values)


def check_of_baskets(name: str, declared: BasketsDeclaration | None, known: int, as_json: bool) -> bool:
    """Check baskets, or a study of them, and print it; say whether that is what the name stands for."""
    from sfumato.tradeoff import read_study
    from sfumato.transactions.check import check_baskets
    from sfumato.transactions.files.bundled import BASKETS
    from sfumato.transactions.study import BasketStudy
    from sfumato.words.check import check_in_words

    started = time.perf_counter()
    study = None
    if declared is None and ((name in BASKETS and not Path(name).is_file()) or name.lower().endswith(".toml")):
        found = read_study(name)
        study = found if isinstance(found, BasketStudy) else None
    if declared is None and study is None:
        return False
    announce_first_run()
    if study is not None:
        check = check_baskets(study.baskets.open(), study.scales.known, study)
    else:
        assert declared is not None
        check = check_baskets(declared.open(), known)
    for notice in check.notices:
        typer.echo(f"note: {notice}", err=True)
    if as_json:
        print_json({**check.to_dict(), "seconds": round(time.perf_counter() - started, 4)})
    else:
        typer.echo(check_in_words(check))
    if not check.valid:
        raise typer.Exit(1)
    return True


HINTS = """\
# A first study of baskets, written by `sfumato init`; correct it, then: sfumato check {to}, sfumato explore {to}
# What to look at:
# - [baskets] tree = "items.csv": a level table of the items lets AA generalize to groups that mean something, and
#   utility = "utility-constraints level=1" under [[candidates]] keeps items together that belong together;
# - [scales] known: how many items of a person an attacker may know; sensitive = ["..."]: items nobody should learn;
# - [[candidates]] requirements: k is how many records must fit, m how many known items are protected against.
"""


def init_of_baskets(declared: BasketsDeclaration, to: Path, force: bool, as_json: bool) -> None:
    """Look at baskets and write a first study of them."""
    from sfumato.release import check_targets, staged
    from sfumato.transactions.measures.queries import fitting_queries
    from sfumato.transactions.study import LOUKIDES_2012, usual_study

    check_targets([to], force, declared.files)
    baskets = declared.open()
    ks = [k for k in LOUKIDES_2012 if k <= baskets.filled] or [1]
    name = declared.source if declared.is_bundled else Path(declared.source).name.partition(".")[0]
    study = usual_study(name, declared, ks, queries=fitting_queries(baskets))
    with staged([to]) as [draft]:
        draft.write_text(HINTS.format(to=to) + study.to_toml(to.parent), encoding="utf-8")
    if as_json:
        print_json({"study": str(to), "baskets": baskets.origin, "records": baskets.size, "items": len(baskets.items)})
        return
    for notice in baskets.notices:
        typer.echo(f"note: {notice}", err=True)
    typer.echo(
        f"{baskets.origin}: {counted(baskets.size, 'record')}, each a set of some of "
        f"{counted(len(baskets.items), 'item')}. One record is taken for one person."
    )
    typer.echo(f"The study tries AA, COAT and PCTA for k from {ks[0]} to {ks[-1]} against who knows any two items.")
    typer.echo(f"\nNext: correct {to}, then\n  sfumato check {to}\n  sfumato explore {to}")


def declared_in(name: str, tree: str | None = None) -> BasketsDeclaration:
    """Find out where baskets are: in a study, bundled, or in a file."""
    from dataclasses import replace

    from sfumato.publish.audit.original import study_file
    from sfumato.tradeoff import read_study
    from sfumato.transactions.files.declaration import BasketsDeclaration
    from sfumato.transactions.study import BasketStudy

    path = study_file(name)
    if path is None:
        return BasketsDeclaration(name, tree=tree)
    study = read_study(str(path))
    if not isinstance(study, BasketStudy):
        raise BadInputError(f"{name}: this study is about a table, not about baskets")
    return study.baskets if tree is None else replace(study.baskets, tree=tree)


def _print_audit(found: BasketAudit) -> None:
    from sfumato.transactions.policy import basket_requirement, known_in_words

    for notice in found.notices:
        typer.echo(f"note: {notice}", err=True)
    typer.echo(
        f"{found.file}: {counted(found.records, 'record')} with {counted(found.published_items, 'published item')}; an "
        f"attacker is taken to know {known_in_words(found.known)} of a person."
    )
    print_measures(found.measures)
    typer.echo("\nWhat fewest records show together:")
    for own in found.weakest:
        typer.echo(f"  {counted(own.records, 'record')}: {short(' + '.join(own.items))}")
    if found.coverage is not None:
        typer.echo(f"\nChecked against the original: {found.coverage.checked}.")
        if found.coverage.holds:
            typer.echo("All records fit." if found.coverage.exact else "Nothing was found that does not fit.")
        else:
            typer.echo(f"NOT COVERED: {counted(found.coverage.uncovered, 'record')} cannot come from this original:")
            for example in found.coverage.examples:
                typer.echo(f"  {short(example)}")
    for failure in found.failures:
        typer.echo(
            f"\nFAILS: {failure.requirement} does not hold: {counted(failure.sets, 'set')} of known items "
            f"{'is' if failure.sets == 1 else 'are'} in too few records, such as"
        )
        for own in failure.examples:
            typer.echo(f"  {counted(own.records, 'record')}: {short(' + '.join(own.items) or '(nothing)')}")
    if found.require is not None and not found.failures:
        typer.echo(f"\nIt holds: {basket_requirement(found.require).rule_in_words()}.")
