"""The attacks as measures: what a map can be drawn on."""

from __future__ import annotations

from sfumato.measures.declaration import Measure


def _advantage(name: str, meaning: str) -> Measure:
    return Measure(name, "risk", "lower", meaning, 0, 1, needs_sensitive=False, reads_noisy=True)


OF_ATTACKS = (
    _advantage(
        "attack_worst",
        "largest advantage over its baseline among all attacks on the release: 0 is no better than against people who "
        "are not in it",
    ),
    _advantage(
        "singling_out",
        "how much more often descriptions by several columns that fit one released record fit exactly one person than "
        "among people who are not in it (Giomi et al. 2023)",
    ),
    _advantage("singling_out_univariate", "the same for descriptions by a single column"),
    _advantage(
        "linkability",
        "how much more often two sources are joined by the nearest released record than for people who are not in it "
        "(Giomi et al. 2023)",
    ),
    Measure(
        "inference",
        "risk",
        "lower",
        "how much more often the nearest released record tells a person's sensitive value than for people who are not "
        "in it (Giomi et al. 2023)",
        0,
        1,
        reads_noisy=True,
    ),
    _advantage(
        "membership",
        "how well an attacker tells who was in the table: true minus false positives, 0 is guessing, 1 is certainty "
        "(after van Breugel et al. 2023)",
    ),
    _advantage("membership_auc", "the same as the area under his curve: .5 is guessing"),
    _advantage(
        "membership_shadow",
        "how well an attacker who can make such releases himself tells who was in, by shadow models (Stadler et al. "
        "2022)",
    ),
    _advantage(
        "record_linkage",
        "how often the nearest released record is a person's own, beyond guessing at random (Domingo-Ferrer & Torra "
        "2001)",
    ),
    _advantage(
        "replicated_uniques", "share of the records that one person alone has which stand in the release as they are"
    ),
)

ATTACK_MEASURES = tuple(measure.name for measure in OF_ATTACKS)
"""The measures that need attacks (`Scales.attacks`)."""
