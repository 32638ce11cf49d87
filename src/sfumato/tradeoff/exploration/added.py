"""Adding a release that was made elsewhere to a map: a file, a frame, a function, or the text of a maker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sfumato.anonymizers import FOREIGN, Brought, BroughtFile, BroughtFrame, BroughtFunction, anonymizer
from sfumato.configuration import check_choice
from sfumato.engines import Frame
from sfumato.errors import BadInputError
from sfumato.tradeoff.exploration.exploration import measured_point
from sfumato.tradeoff.exploration.remade import opened_again
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import NOTHING
from sfumato.tradeoff.study.study import Study, of_table


def added(map_: Map, given: Any, declared: Mapping[str, Any]) -> Map:
    """Measure what was made elsewhere on the scales of a map, and put it there; what is there already is replaced."""
    study = of_table(map_.study)
    table = opened_again(map_)
    maker = brought(given, declared).pinned
    maker.check_readable(table)
    candidate = Candidate(maker, NOTHING, maker.form)
    grown = with_candidate(study, candidate.anonymizer)
    point = measured_point(candidate, study.scales.prepare(table).ready())
    kept = tuple(other for other in map_.points if other.id != point.id)
    return Map(grown, (*kept, point), map_.about, map_.limit, map_.decided)


def with_candidate(study: Study, maker: Any) -> Study:
    """Return a study with what was made elsewhere beside its own candidates."""
    known = {candidate.anonymizer for candidate in study.candidates}
    bare = replace(maker, digest="")
    return study if bare in known else study.grown([Candidate(bare, NOTHING, bare.form)])


def brought(given: Any, declared: Mapping[str, Any]) -> Brought:
    """Make a maker of what is given, with what is said of it; what is not said is as usual."""
    words = {key: value for key, value in declared.items() if value is not None}
    if words.get("records") is not None:
        check_choice("records", words["records"], ("people", "synthetic"))
    if isinstance(given, Brought):
        return _with(given, words)
    if isinstance(given, Path):
        return _with(BroughtFile(file=str(given)), words)
    if isinstance(given, str):
        return _with(named(given), words)
    if callable(given) and not hasattr(given, "columns"):
        return _with(BroughtFunction(function=given), words)
    return _with(BroughtFrame(frame=Frame.of(given)), words)


def named(text: str) -> Brought:
    """Read what was made elsewhere from the name of its file, or from the text of its maker."""
    kinds = {kind.name for kind in FOREIGN}
    if text.split(None, 1)[:1] and text.split(None, 1)[0] in kinds and not Path(text).exists():
        maker = anonymizer(text)
        assert isinstance(maker, Brought)
        return maker
    return BroughtFile(file=text)


def _with(maker: Brought, words: Mapping[str, Any]) -> Brought:
    """Say more of a maker; what it says of itself already is not said again."""
    usual = {each.name: each.default for each in fields(maker)}
    strange = [key for key in words if key not in usual]
    if strange:
        raise BadInputError(f"{strange[0]} cannot be said of {maker.made_of or maker.name}; leave it out")
    changed = {key: value for key, value in words.items() if value != usual[key]}
    return replace(maker, **changed)
