"""Publishing a point of a map of baskets: a file with its certificate, all or nothing, re-checked as it was written."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from sfumato.engines.formulas import formula_items, formula_notice
from sfumato.errors import BadInputError
from sfumato.plain import json_text
from sfumato.publish.baskets.audit import BasketAudit, audit_baskets
from sfumato.publish.baskets.cautions import basket_cautions
from sfumato.publish.baskets.certificate import (
    basket_certificate,
    basket_certificate_page,
    confirmed_alone,
    public_basket_certificate,
)
from sfumato.publish.baskets.mapping import basket_mapping, legend_of
from sfumato.publish.certificate import Origin, certificate_files, internal
from sfumato.publish.formulas import note_formulas
from sfumato.publish.page import write_certificates
from sfumato.quiet import Quiet
from sfumato.release import check_targets, format_of, staged
from sfumato.tradeoff import Map, Point
from sfumato.transactions import BasketRelease, Baskets, KMAnonymity
from sfumato.transactions.files.writing import LONG, check_layout, published_rows, write_draft
from sfumato.transactions.measures.itemsets import Rows, itemset_spread
from sfumato.transactions.measures.losses import ItemLosses
from sfumato.transactions.measures.scales import BasketScales
from sfumato.transactions.study import BasketCandidate, BasketStudy
from sfumato.transactions.words import basket_meanings

AGREE = 1e-9


@dataclass(frozen=True, repr=False)
class BasketPublication(Quiet):
    """What was published of baskets, and where."""

    spoken: ClassVar[tuple[str, ...]] = ("audit", "files")

    release: BasketRelease
    candidate: BasketCandidate
    audit: BasketAudit
    files: tuple[Path, ...]
    """Data first, then the certificates, then the mapping."""

    notices: tuple[str, ...] = ()
    """What who opens the file should know, in sentences."""


def publish_basket_point(
    shown: Map,
    study: BasketStudy,
    point: Point,
    folder: Path,
    path: Path,
    origin: Origin,
    layout: str,
    force: bool,
    mapping: str | Path | None,
    escape_formulas: bool = False,
) -> BasketPublication:
    """Make the release of a point anew and publish it."""
    if point.status != "measured":
        raise BadInputError(f"point {point.id} was not made ({point.status}: {point.reason}); choose another")
    if point.anonymizer == "original":
        raise BadInputError(f"point {point.id} is the original, the other end of the map: not a release to publish")
    layout = "lines" if layout == "rows" else layout
    check_layout(layout, format_of(path))
    candidate = BasketCandidate.of(point)
    baskets = opened_baskets(shown, study, folder)
    release = candidate.make(baskets)
    certificates = certificate_files(path)
    mappings = [] if mapping is None else [Path(mapping)]
    targets = [path, *certificates, *mappings]
    check_targets(targets, force, study.baskets.files)
    with staged(targets, private=[*internal(certificates), *mappings]) as drafts:
        rows = published_rows(release)
        cells = formula_items(rows, escape_formulas) if format_of(path) == "csv" else {}
        write_draft(rows, drafts[0], layout, format_of(path), escape_formulas)
        scales = certified_scales(study.scales, candidate)
        found = audited(release, candidate, drafts[0], layout, scales.known, escape_formulas)
        prepared = scales.prepare(baskets)
        warnings, meanings = basket_cautions(release, candidate.requirement, prepared), basket_meanings(scales)
        asked = confirmed_alone(candidate.requirement)
        alone = audit_baskets(
            drafts[0], asked, None, scales.known, None, False, **columns_of(layout), escaped_formulas=escape_formulas
        )
        outside = public_basket_certificate(
            candidate, (path.name, drafts[0]), layout, legend_of(release), alone, warnings, meanings
        )
        measures = prepared.measure(release).values
        own = basket_certificate(outside, release, candidate, origin, path, found, measures, warnings, meanings)
        for certified in (own, outside):
            note_formulas(certified, cells, escape_formulas)
        write_certificates(own, outside, drafts[1 : 1 + len(certificates)], basket_certificate_page)
        for draft in drafts[1 + len(certificates) :]:
            draft.write_text(json_text(basket_mapping(release, candidate.requirement)), encoding="utf-8")
    return BasketPublication(release, candidate, found, tuple(targets), tuple(formula_notice(cells, escape_formulas)))


def opened_baskets(shown: Map, study: BasketStudy, folder: Path) -> Baskets:
    """Open the baskets of a map, and make sure that they are still those that were measured."""
    baskets = study.baskets.open()
    if baskets.digest != shown.about.get("digest"):
        raise BadInputError(
            f"{baskets.origin} has changed since the map in {folder} was made, so its points say nothing of it any "
            f"more; run `sfumato explore {folder / 'study.toml'} --out {folder}` again"
        )
    return baskets


def certified_scales(scales: BasketScales, candidate: BasketCandidate) -> BasketScales:
    """Return the scales of a certificate: an attacker knows as many items as the promise speaks of."""
    wanted = candidate.requirement
    known = wanted.m if isinstance(wanted, KMAnonymity) else scales.known
    return replace(scales, known=known, constraints=None, losses=ItemLosses())


def audited(
    release: BasketRelease, candidate: BasketCandidate, draft: Path, layout: str, known: int, escape_formulas: bool
) -> BasketAudit:
    """Audit the written draft; refuse to publish where it fails or differs from what the maker measured."""
    wanted, local = candidate.requirement, not release.is_global
    legend, columns = legend_of(release), columns_of(layout)
    found = audit_baskets(
        draft, str(wanted), release.baskets, known, legend, local, **columns, escaped_formulas=escape_formulas
    )
    if found.failures:
        raise AssertionError(f"the audit of the written file failed: {found.failures[0]}")
    if found.coverage is None or not found.coverage.holds:
        raise AssertionError(f"the written file does not cover the baskets: {found.coverage}")
    measured = maker_numbers(release, found.known)
    for name, value in found.measures.items():
        if name in measured and not math.isclose(value, measured[name], rel_tol=AGREE, abs_tol=AGREE):
            raise AssertionError(
                f"{name} is {value!r} in the written file and {measured[name]!r} by the maker's measure"
            )
    return found


def columns_of(layout: str) -> dict[str, str]:
    """Return the columns of a file that is laid out so, as those who read it name them."""
    return LONG if layout == "long" else {}


def maker_numbers(release: BasketRelease, known: int) -> dict[str, float]:
    """Work out, from the release in memory, what the audit works out from the file."""
    spread = itemset_spread(Rows.of_release(release), known)
    return {
        "itemset_risk": spread.risk(),
        "itemset_risk_99": spread.risk(0.99),
        "itemset_risk_95": spread.risk(0.95),
        "least_support": float(spread.least) if spread.least else math.inf,
        **ItemLosses().measure(release),
    }
