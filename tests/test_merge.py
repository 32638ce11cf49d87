"""The map of another folder added to a study."""

import json

import pytest

from test_explore import folder, sfumato  # noqa: F401  (folder is a fixture)

pytestmark = pytest.mark.quick


def test_a_folder_is_added_without_measuring_again(folder):  # noqa: F811
    small = (folder / "study.toml").read_text()
    assert sfumato(folder, "explore", "study.toml", "--out", "one").returncode == 0
    first = json.loads((folder / "one/points.json").read_text())["points"]
    head = small.split("[[candidates]]")[0]
    (folder / "other.toml").write_text(head + '[[candidates]]\nrequirements = ["k-anonymity k=7"]\n')
    ended = sfumato(folder, "explore", "other.toml", "--out", "both", "--add", "one")
    assert ended.returncode == 0, ended.stderr
    both = {point["id"]: point for point in json.loads((folder / "both/points.json").read_text())["points"]}
    assert len(both) == len(first) + 1
    assert all(both[point["id"]]["measures"] == point["measures"] for point in first)
    kept = (folder / "both/cache.jsonl").read_text().splitlines()
    assert set((folder / "one/cache.jsonl").read_text().splitlines()) <= set(kept)
    refused = sfumato(folder, "explore", "other.toml", "--out", "both", "--add", "nowhere")
    assert refused.returncode == 2 and refused.stderr.splitlines()[-1].startswith(
        "sfumato: nowhere: there is no such file"
    )
