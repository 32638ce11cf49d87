"""The page of risk: unique records of the original data, the columns that cause them, and the worst groups."""

from typing import Any

from starlette.responses import Response

from sfumato.measures.group_risk import THRESHOLDS
from sfumato.report.check_summary import KNOWN_FOR, SENTENCE, check_parts
from sfumato.tradeoff._check_items import BasketCheck, ItemsCheck, MixedCheck, check_items
from sfumato.tradeoff.check import Check, check
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.opened_data import in_forms, of_data, shown
from sfumato.workbench.projects import Project
from sfumato.workbench.views.page import data_page


def checked(project: Project) -> Check | ItemsCheck:
    """Check the original data of a project."""
    study = project.study
    done: Check | ItemsCheck
    if study.data.items is None:
        done = of_data(study.data, "check", check)
    else:
        what = f"check {study.scales.known} {study.scales.linking}"
        done = of_data(study.data, what, lambda data: check_items(data, study, tries_candidates=False))
    return done


def shown_risk(project: Project, plainly: bool = False) -> dict[str, Any]:
    """Return the risk of the data in sentences and numbers; records are masked by default."""
    done = checked(project)
    said = {
        name: [in_forms(project.locally(line)) for line in lines]
        for name, lines in check_parts(done).items()
        if name not in ("worst", "rarest")
    }
    about = {"kind": "table", "said": said, "notices": [in_forms(project.locally(notice)) for notice in done.notices]}
    if isinstance(done, BasketCheck):
        return {**about, "kind": "baskets", **_baskets(done, plainly)}
    if isinstance(done, MixedCheck):
        return {**about, "kind": "items", **_mixed(done)}
    assert isinstance(done, Check)
    return {**about, **_table(done, plainly)}


def _table(done: Check, plainly: bool) -> dict[str, Any]:
    risk = done.risk
    return {
        "records": done.records,
        "uniques": risk.uniques_share,
        "quasi": list(done.quasi),
        "thresholds": [
            {"smaller": k, "risk": threshold, "share": risk.above(k), "known": KNOWN_FOR.get(k, "").removeprefix(", ")}
            for k, threshold in THRESHOLDS.items()
        ],
        "sentence": SENTENCE,
        "attributes": [
            {
                "name": each.name,
                "values": each.values,
                "alone": each.alone.uniques_share,
                "below_alone": each.alone.above(SENTENCE),
                "without": None if each.without is None else each.without.above(SENTENCE),
                "uniques_without": None if each.without is None else each.without.uniques_share,
            }
            for each in done.attributes
        ],
        "below": risk.above(SENTENCE),
        "smallest": risk.smallest,
        "smallest_groups": done.smallest_groups,
        "worst": [
            {
                "records": group.frequency,
                "values": [
                    {"column": name, "text": shown(text or None, plainly)} for name, text in group.quasi.items()
                ],
                "unique_by": list(group.unique_by) if 0 < len(group.unique_by) < len(done.quasi) else [],
            }
            for group in done.worst
        ],
        "shown": plainly,
    }


def _baskets(done: BasketCheck, plainly: bool) -> dict[str, Any]:
    return {
        "records": done.records,
        "items": done.items,
        "known": [{"items": n, "alone": share, "below": done.below[n]} for n, share in done.alone.items()],
        "sets": [
            {"smaller": k, "risk": threshold, "share": done.rare_sets[k], "items": done.rare_items[k]}
            for k, threshold in THRESHOLDS.items()
        ],
        "worst": [{"records": n, "items": [shown(item, plainly) for item in items]} for n, items in done.weakest],
        "shown": plainly,
    }


def _mixed(done: MixedCheck) -> dict[str, Any]:
    known = [{"items": 0, "alone": done.alone_by_quasi, "below": done.few_by_quasi}]
    both = [{"items": n, "alone": share, "below": done.few_by_both[n]} for n, share in done.alone_by_both.items()]
    return {
        "records": done.records,
        "items": done.items,
        "quasi": list(done.quasi),
        "below": done.below,
        "by_items": [{"items": n, "alone": a, "below": done.few_by_items[n]} for n, a in done.alone_by_items.items()],
        "by_both": known + both,
        "uniques": done.alone_by_quasi,
    }


@endpoint("GET", "/projects/{project}/risk", query="show")
def risk(call: Call) -> Response:
    """Show the risk of the original data."""
    return data_page("risk.html", call, "risk", lambda project: {"risk": shown_risk(project, call.plainly)})


@endpoint("GET", "/api/projects/{project}/risk", query="show")
def risk_values(call: Call) -> dict[str, Any]:
    """Return the risk of the original data."""
    return shown_risk(call.project, call.plainly)
