"""Publishing a point of a map of baskets: a file with its certificate, all or nothing, re-checked as it was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from sfumato.auditing._legend import read_legend
from sfumato.auditing.baskets import BasketAudit, audit_baskets
from sfumato.config.documents import json_text
from sfumato.engines.formulas import formula_items
from sfumato.engines.item_files import LONG
from sfumato.errors import BadInputError
from sfumato.measures.items.basket_scales import BasketScales, protected_risk
from sfumato.measures.items.losses import ItemLosses
from sfumato.publish._basket_cautions import basket_cautions
from sfumato.publish._basket_certificate import basket_certificate, confirmed_alone, public_basket_certificate
from sfumato.publish._basket_mapping import SCHEMA, basket_mapping
from sfumato.publish._item_publication import LeavingItems
from sfumato.publish.certificate import Origin
from sfumato.publish.plain_language import PlainWords, baskets_in_plain_words
from sfumato.publish.publishable import check_confirmed, check_unchanged
from sfumato.release._itemsets import Rows, itemset_spread
from sfumato.release.items import BasketRelease
from sfumato.release.legend import Names, release_names
from sfumato.release.writing import format_of
from sfumato.release.writing_items import laid_out, published_rows, write_drafts
from sfumato.report.data_summary import basket_meanings
from sfumato.requirements.items import FILE, BasketRequirement, KMAnonymity
from sfumato.runtime.cancellation import step
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.recipients import shown_baskets
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study


def leaving_baskets(
    study: Study,
    map_: Map,
    point: Point,
    folder: Path,
    path: Path,
    origin: Origin,
    layout: str,
    escape_formulas: bool = False,
    legend: str = "auto",
) -> LeavingBaskets:
    """Make the release of a point anew, ready to be published."""
    layout = laid_out(layout, format_of(path))
    candidate = point.candidate
    baskets = study.data.sets.open()
    check_unchanged(map_, folder, baskets.origin, baskets.digest)
    step("make")
    release = candidate.make(baskets)
    origin = replace(origin, table=study.data.sets.source)
    return LeavingBaskets(release, candidate, study, path, origin, layout, escape_formulas, legend)


@dataclass(frozen=True)
class LeavingBaskets(LeavingItems):
    """A release of baskets on its way out."""

    template: ClassVar[str] = "certificate-baskets.html"
    use_of_mapping: ClassVar[str] = (
        "To recode new baskets: sfumato apply {} NEW.txt --to FILE (keep the mapping to yourself)"
    )

    release: BasketRelease
    candidate: Candidate
    study: Study

    @cached_property
    def names(self) -> Names:
        """What the file calls what is published."""
        return release_names(self.release, self.legend)

    @property
    def read(self) -> Sequence[Path]:
        """The files of the baskets."""
        return self.study.data.sets.files

    @cached_property
    def scales(self) -> BasketScales:
        """The scales of its certificate."""
        return certified_scales(self.study.scales, self.candidate)

    def mapping(self) -> str:
        """Write what every item is published as."""
        return json_text(basket_mapping(self.release, self.candidate.requirement, self.names), SCHEMA)

    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write every record as what is published of its items."""
        rows = published_rows(self.release, self.names)
        write_drafts(rows, self.names, drafts, self.path, self.layout, self.escape_formulas)
        return formula_items(rows, self.escape_formulas) if format_of(self.path) == "csv" else {}

    def verify(self, drafts: Sequence[Path]) -> BasketAudit:
        """Audit the draft with the baskets at hand, by the legend that was written."""
        known = self.scales.known
        verdict = audited(self.release, self.candidate, drafts, self.layout, known, self.escape_formulas)
        if self.release.is_global and (why := shown_baskets(verdict.measures, self.candidate.requirement)):
            raise BadInputError(f"point {self.origin.point} {why}")  # whatever is said of the point
        return verdict

    def certificates(self, drafts: Sequence[Path], verdict: BasketAudit) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make the publisher's certificate and the public one, which comes first and sees nothing but the file."""
        release, candidate, scales = self.release, self.candidate, self.scales
        prepared, meanings = scales.prepare(release.baskets), basket_meanings(scales)
        warnings = basket_cautions(release, candidate.public.requirement, prepared)
        unnamed = basket_meanings(replace(scales, constraints=None if scales.constraints is None else FILE))
        asked, escaped = confirmed_alone(candidate.requirement), self.escape_formulas
        columns = columns_of(self.layout)
        alone = audit_baskets(drafts[0], asked, None, scales.known, None, False, **columns, escaped_formulas=escaped)
        files, entries = self.files_written(drafts), len(self.names.legend)
        promised = replace(candidate, requirement=candidate.requirement.strengthen(alone.measures))
        outside = public_basket_certificate(promised, files, self.layout, entries, alone, warnings, unnamed)
        measures = prepared.measure(release).values
        for_publisher = basket_certificate(
            outside, release, promised, self.origin, self.path, verdict, measures, warnings, meanings
        )
        for_publisher["for_your_eyes"]["required"] = str(candidate.requirement)
        return for_publisher, outside

    def in_plain_words(self, outside: Mapping[str, Any]) -> PlainWords:
        """Say it of baskets."""
        return baskets_in_plain_words(outside)

    def promised(self, verdict: BasketAudit) -> BasketRequirement:
        """Return the strongest requirement of the kind asked for that the file keeps."""
        return self.candidate.requirement.strengthen(verdict.measures)  # type: ignore[no-any-return]

    @property
    def suppressed(self) -> int:
        """How many items no record shows although some have them."""
        return len(self.release.suppressed)


def certified_scales(scales: BasketScales, candidate: Candidate) -> BasketScales:
    """Return the scales of a certificate: an attacker knows as many items as the promise speaks of."""
    wanted = candidate.requirement
    known = wanted.m if isinstance(wanted, KMAnonymity) else scales.known
    return replace(scales, known=known, constraints=None, losses=ItemLosses())


def audited(
    release: BasketRelease,
    candidate: Candidate,
    drafts: Sequence[Path],
    layout: str,
    known: int,
    escape_formulas: bool,
) -> BasketAudit:
    """Audit the written drafts, data and legend; refuse to publish where that fails or differs from the maker."""
    wanted, local = candidate.requirement, not release.is_global
    legend, columns = read_legend(drafts[1]) if len(drafts) > 1 else {}, columns_of(layout)
    verdict = audit_baskets(
        drafts[0], str(wanted), release.baskets, known, legend, local, **columns, escaped_formulas=escape_formulas
    )
    check_confirmed(verdict, protected_risk(release, wanted) | maker_numbers(release, verdict.known))
    return verdict


def columns_of(layout: str) -> dict[str, Any]:
    """Return how a file that is laid out so is read: by its columns, or line by line."""
    return dict(LONG) if layout == "long" else {"lines": True}


def maker_numbers(release: BasketRelease, known: int) -> dict[str, float]:
    """Work out, from the release in memory, what the audit works out from the file."""
    return itemset_spread(Rows.of_release(release), known).measures() | ItemLosses().measure(release.published)
