"""The board page: one page about what will be published, its protection, limits and use, and the decisions.

It uses the publisher's certificate and the measures of the map, so it is internal, as it states. The public certificate
can be shared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import Any

from sfumato.config.options import check_choice
from sfumato.errors import InfeasibleError
from sfumato.measures.all_measures import MEASURES
from sfumato.publish.plain_language import DROPPED
from sfumato.publish.publication import board_file as board_file
from sfumato.publish.publication import certificate_files
from sfumato.report.measure_sentences import Subject, sentences
from sfumato.report.point_summary import headlines, settings
from sfumato.texts.catalogue import counted, t
from sfumato.texts.html import render
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.reasons import warnings as utility_warnings
from sfumato.tradeoff.question.recipients import RECIPIENTS, Recipient

MOST_WARNINGS = 4
MOST_USES = 4
LONG, WARNING, FOUND = 180, 130, 100
"""Maximum lengths of a text, a warning and a finding, so that everything fits on one page."""

FOR_RESEARCHERS = ("kl", "discernibility")
"""Measures of utility that need their formulas."""


@dataclass(frozen=True)
class Decision:
    """The point of a map that was chosen, and its recipient."""

    map_: Map
    point: Point
    recipient: Recipient | None = None

    def check(self, written: Mapping[str, float] | None = None) -> None:
        """Raise if the release is not fit for its recipient, by the map's measures or those of the file (`written`)."""
        if self.recipient is None:
            return
        measures = {**self.point.measures, **(written or {})}
        if against := self.recipient.fitness(self.map_, self.point, measures).objections:
            raise InfeasibleError(
                f"point {self.point.id} is not fit for {self.recipient.name} ({self.recipient.meaning}): "
                f"{'; '.join(against)}. `sfumato choose DIR --for {self.recipient.name}` names one that is"
            )


def board_page(certificate: Mapping[str, Any], decision: Decision, path: Path) -> str:
    """Render the page of a release for the board."""
    return render("board.html", **board_content(certificate, decision, path))


def board_content(certificate: Mapping[str, Any], decision: Decision, path: Path) -> dict[str, Any]:
    """Return the content of the page, every text short enough for one page."""
    plain = {about: [short(text) for text in texts] for about, texts in certificate["in_plain_words"].items()}
    warnings = certificate["warnings"]
    return {
        "name": short(path.name, 50),
        "public": short(certificate_files(path)[3].name, 80),
        "verdict": _verdict(decision),
        "plain": plain,
        "done": short(certificate["internal"].get("done", "")),
        "left_out": _left_out(certificate),
        "warnings": [
            (each["about"], opening(each["text"], WARNING), short(each.get("found", ""), FOUND))
            for each in warnings[:MOST_WARNINGS]
        ],
        "more": max(0, len(warnings) - MOST_WARNINGS),
        "uses": [short(text) for text in _uses(decision)],
        "decided": [(about, short(text)) for about, text in _decided(certificate, decision)],
    }


def _verdict(decision: Decision) -> str:
    """Return the verdict on fitness for the recipient; unfit releases were refused before."""
    recipient = decision.recipient
    if recipient is None:
        return "Not judged: no recipient was named, so no bound was checked."
    return f"Fit for the recipient '{recipient.name}': {_checked_bounds(decision)}."


def _checked_bounds(decision: Decision) -> str:
    """Return the satisfied bounds of the recipient."""
    assert decision.recipient is not None
    return ", ".join(map(str, decision.recipient.fitness(decision.map_, decision.point).bounds))


def _left_out(certificate: Mapping[str, Any]) -> str:
    """Describe the suppressed part of the table; empty for a noisy draw, which has no records of it."""
    left_out, dropped = certificate["internal"].get("suppressed", {}), _dropped(certificate)
    sentence = f"{DROPPED[:-1]}: {counted(dropped, 'record')}." if dropped else ""
    if "records" in left_out:
        return f"{left_out['records']:,} of {counted(left_out['of'], 'record')} left out. {sentence}".rstrip()
    if "items" in left_out:
        return f"{len(left_out['items']):,} of {counted(left_out['of'], 'item')} are published nowhere."
    return sentence


def _dropped(certificate: Mapping[str, Any]) -> int:
    """Count the dropped records of the table, which miss a value."""
    inside = certificate["internal"]
    return int(inside.get("suppressed", inside).get("dropped", 0))


def _uses(decision: Decision) -> list[str]:
    """Return sentences about utility: the headline, then the map's measures."""
    map_, point = decision.map_, decision.point
    told = [name for name in MEASURES if name not in FOR_RESEARCHERS and not name.endswith("_em")]
    utility = [name for name in told if MEASURES[name].kind == "utility"]
    measured = {name: point.measures[name] for name in utility if name in point.measures}
    first = headlines(map_, point)[2].said
    more = [
        sentence
        for sentence in sentences(measured, Subject.of(map_), point.by_sensitive).values()
        if sentence not in first
    ]
    return [first, *utility_warnings(point), *dict.fromkeys(more)][:MOST_USES]


def _decided(certificate: Mapping[str, Any], decision: Decision) -> list[tuple[str, str]]:
    """Return the decisions: study, requirement, point, recipient, time, version."""
    point, recipient, origin = decision.point, decision.recipient, certificate["internal"]["input"]
    candidates = counted(len(decision.map_.points), "candidate")
    records = counted(origin["records"] + _dropped(certificate), "record")
    whom = "no recipient named; `sfumato release --for` names and checks one"
    if recipient is not None:
        whom = f"{recipient.name}: {recipient.meaning}; checked: {_checked_bounds(decision)}"
    return [
        ("Data", f"{normpath(origin['table'])}, {records}, SHA-256 {origin['sha256'][:12]}"),
        ("Study", f"{decision.map_.study.name}: {candidates} on one map"),
        ("Chosen", f"point {point.id}: {settings(point)}"),
        *_promised(certificate),
        ("For whom", whom),
        ("Made", f"{certificate['made'][:10]}, sfumato {certificate['versions']['sfumato']}"),
    ]


def _promised(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the requirement, and the stronger promise if there is one; for a noisy draw, its epsilon."""
    promise = certificate["promise"]
    if "claimed" in promise:
        return [("Required", f"nothing: it was made elsewhere; claimed for it: {promise['claimed'] or 'nothing'}")]
    if "requirement" in promise:
        promised = str(promise["requirement"])
        required = certificate["internal"].get("required", promised)
        more = [("Promised", f"{promised} (checked on the file)")] if promised != required else []
        return [("Required", required), *more]
    private = promise["differential_privacy"]
    delta = f", delta {private['delta']:g}" if "delta" in private else ""
    unit = t("privacy.unit", **private) if "contribution" in private else ""
    return [("Required", f"differential privacy, epsilon {private['epsilon']:g}{delta}{unit}")]


def recipient_named(name: str | None) -> Recipient | None:
    """Return a recipient by its name, if one is named."""
    if name is None:
        return None
    check_choice("for", name, RECIPIENTS)
    return RECIPIENTS[name]


def opening(text: str, letters: int = LONG) -> str:
    """Return the sentences of a text that fit; if the first is too long, its beginning.

    >>> opening("One. Two is longer. Three.", 20), opening("One is far too long.", 9)
    ('One. Two is longer.', 'One ...')
    """
    end = text.rfind(". ", 0, letters) + 1
    return text if len(text) <= letters else text[:end] if end else short(text, letters)


def short(text: str, letters: int = LONG) -> str:
    """Shorten a text at the end of a part or of a word.

    >>> short("age in ranges of 20; town left out", 30), short("one two three", 10), short("unbroken", 7)
    ('age in ranges of 20; ...', 'one ...', 'unb ...')
    """
    if len(text) <= letters:
        return text
    room = text[: letters - 4]
    part, word = room.rfind(";") + 1, room.rfind(" ")
    return f"{room[: part if part > len(room) / 2 else word if word > 0 else len(room)].rstrip()} ..."
