"""The certificate of a differentially private release: the budget in its parts, and all that the promise rests on.

The public certificate is made first, of the settings and of what the mechanism published; nothing else is looked at.
The publisher's own is the same with a part `for_your_eyes`: everything in there was worked out from the records without
noise, and would break the promise if it were published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.anonymizers.dp._private_cells import CountedTable
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.data.reading import Table
from sfumato.measures.all_measures import MEASURES
from sfumato.publish._noisy_cautions import Drawn, columns_left_out, noisy_notices, promise_in_words
from sfumato.publish._written_file import argument
from sfumato.publish.cautions import Caution
from sfumato.publish.certificate import LIBRARIES, Origin, certificate_files, foot, head, public_maker, warning
from sfumato.release.content import NoisyRelease
from sfumato.release.guarantee import Guarantee
from sfumato.texts.format import counted, listed

SELECTION = (
    "Method and settings were chosen on a map of candidates, and the choice looked at the data; epsilon covers this "
    "one release, not the looking around that chose it. The numbers on the map came from other draws, which are not "
    "published; this release was drawn afresh."
)
NOT_AUDITED = (
    "Nothing that stands in a file can prove or disprove differential privacy: it is a promise about how the file was "
    "drawn, and rests on the mechanism. Checked on the written file: that it holds the declared values only, and as "
    "many rows as were drawn."
)
DELTA = "A probability: that with which the file may tell more of somebody than epsilon allows."
RHO = (
    "What epsilon and delta are kept in: the measure of zero-concentrated differential privacy, under which the parts "
    "of the budget add up and Gaussian noise is cheap. The sum of the parts is worth no more than epsilon and delta."
)
EYES = (
    "For your eyes only: worked out from the records themselves without noise, so nobody else may see it. The measures "
    "are those of the map, of other draws than this file."
)


def guarantee_values(guarantee: Guarantee) -> dict[str, Any]:
    """Write a guarantee as plain values; its parts together do not exceed its budget."""
    budget = guarantee.budget
    delta = {"delta": budget.delta, "rho": budget.amount} if budget.delta else {}
    return {
        "epsilon": budget.epsilon,
        **delta,
        "in_words": promise_in_words(budget),
        "kept_in": budget.unit,
        "by_level": {str(level): spent for level, spent in guarantee.by_level.items()},
        "by_purpose": guarantee.by_purpose,
        "parts": [{"what": part.what, "level": part.level, budget.unit: part.amount} for part in guarantee.spent],
        "neighbours": guarantee.neighbours,
        "public": list(guarantee.public),
    }


def guarantee_of(release: Drawn) -> Guarantee:
    """Return the guarantee of what a mechanism drew."""
    assert release.guarantee is not None
    return release.guarantee


def drawn_from(release: Drawn) -> dict[str, Any]:
    """Say what the rows were drawn from: boxes, or a model of tables that were counted with noise."""
    if isinstance(release, NoisyRelease):
        return {"boxes": release.groups, "drawn_from": f"the noisy counts of {counted(release.groups, 'box', 'boxes')}"}
    tables: Sequence[CountedTable] = release.details["counted"]
    pairs = [" x ".join(table.names) for table in tables if len(table.names) > 1]
    of_pairs = f" and of {listed(dict.fromkeys(pairs))}" if pairs else ""
    return {
        "tables": [{"columns": list(table.names), "noise": table.deviation} for table in tables],
        "drawn_from": f"a model of the noisy counts of single columns{of_pairs}",
    }


def public_noisy_certificate(
    release: Drawn, maker: Mechanism, path: Path, draft: Path, cautions: Sequence[Caution]
) -> dict[str, Any]:
    """Write the certificate for everybody; `path` is the data file's final name, `draft` where it stands now."""
    roles, certified = release.table.roles, certificate_files(path)[2].name
    return {
        **head({path.name: draft}, release.rows_written),
        **drawn_from(release),
        "promise": {
            "differential_privacy": guarantee_values(guarantee_of(release)),
            "selection": SELECTION,
            "checked_on_the_file": False,
            "why_not_checked": NOT_AUDITED,
        },
        "columns": {"quasi": list(roles.quasi), "sensitive": list(roles.sensitive), "neutral": []},
        "anonymizer": public_maker(maker),
        "mechanism": {"procedure": maker.procedure, "noise": maker.noise_in_words},
        **foot(_meanings(release.table.missing, maker), cautions, path.name, (*LIBRARIES, "opendp")),
        "verify": ["sfumato", "audit", argument(path.name), "--certificate", argument(certified)],
    }


def noisy_certificate(
    outside: Mapping[str, Any],
    table: Table,
    origin: Origin,
    cautions: Sequence[Caution],
    measures: Mapping[str, float],
) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what the publisher alone may see."""
    return {
        **outside,
        "for": "the publisher",
        "warnings": [warning(caution) for caution in cautions],
        "for_your_eyes": for_the_publisher(EYES, table, origin, measures),
    }


def for_the_publisher(note: str, table: Table, origin: Origin, measures: Mapping[str, float]) -> dict[str, Any]:
    """Write what the publisher alone may see of records that are not the table's own."""
    return {
        "note": note,
        "input": (known := origin.content(table.cells.records))["input"],
        "dropped": table.dropped,
        "study": known["study"],
        "measures_on_the_map": dict(measures),
        "meaning": {name: MEASURES[name].meaning for name in measures if name in MEASURES},
        "columns_left_out": columns_left_out(table),
        "notices": noisy_notices(table),
    }


def _meanings(missing: str, maker: Mechanism) -> list[tuple[str, str]]:
    treated = (
        "Records that miss a value were removed before anything was counted. Whether a record is removed depends on "
        "itself alone, so the promise holds for it too."
        if missing == "drop"
        else "A missing value is a value of its own beside the others where the domain declares it; elsewhere there is "
        "none."
    )
    return [
        (
            "Epsilon",
            "The budget of the release: how much its outcome may depend on any one record. Smaller protects more. "
            "Every question to the records was answered with noise and costs a part of it; the parts add up.",
        ),
        *([("Delta", DELTA), ("Rho", RHO)] if maker.budget.delta else []),
        (maker.stage.capitalize(), maker.stages),
        (
            "Neighbouring tables",
            "Two tables that differ by one record. The promise is about any two such tables, so it holds for every "
            "person, in the table or not.",
        ),
        ("Missing values", treated),
    ]
