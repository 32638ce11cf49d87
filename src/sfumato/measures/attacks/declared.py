"""The attacks as measures: what a map can be drawn on."""

from __future__ import annotations

from sfumato.measures.declaration import Measure


def _advantage(name: str, meaning: str) -> Measure:
    return Measure(name, "risk", "lower", meaning, 0, 1, needs_sensitive=False, reads_noisy=True)


OF_ATTACKS = (
    _advantage(
        "attack_worst",
        "largest advantage over its baseline among all attacks on the release: 0 is no better than against records "
        "that are not in it",
    ),
    _advantage(
        "singling_out",
        "how much more often descriptions by several columns that fit one released record fit exactly one record than "
        "among records that are not in it (Giomi et al. 2023)",
    ),
    _advantage("singling_out_univariate", "the same for descriptions by a single column"),
    _advantage(
        "linkability",
        "how much more often two sources are joined by the nearest released record than for records that are not in "
        "it (Giomi et al. 2023)",
    ),
    Measure(
        "inference",
        "risk",
        "lower",
        "how much more often the nearest released record tells a record's sensitive value than for records that are "
        "not in it (Giomi et al. 2023)",
        0,
        1,
        reads_noisy=True,
    ),
    _advantage(
        "membership",
        "how well an attacker tells which records were in the table: true minus false positives, 0 is guessing, 1 is "
        "certainty (after van Breugel et al. 2023)",
    ),
    _advantage("membership_auc", "the same as the area under his curve: .5 is guessing"),
    _advantage(
        "membership_shadow",
        "how well an attacker who can make such releases himself tells which were in, by shadow models (Stadler et al. "
        "2022)",
    ),
    _advantage(
        "record_linkage",
        "how often the nearest released record is made of the known one, beyond guessing at random (Domingo-Ferrer & "
        "Torra 2001)",
    ),
    _advantage(
        "replicated_uniques", "share of the records that are unique in the table which stand in the release as they are"
    ),
)

ATTACK_MEASURES = tuple(measure.name for measure in OF_ATTACKS)
"""The measures that need attacks (`Scales.attacks`)."""
