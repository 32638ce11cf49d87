"""Print the table of docs/guides/synthetic.md from a map of `sfumato explore adult --preset everything --out DIR`.

python benchmarks/everything.py DIR
"""

import json
import sys
from pathlib import Path

NUMBERS = (("attack_worst", 3), ("marginal_error_2", 3), ("query_error", 2), ("replicated_uniques", 2))


def shown(point: dict, name: str, digits: int) -> str:
    value = point["measures"].get(name)
    if value is None:
        return ""
    ends = point.get("intervals", {}).get(name) if name == "attack_worst" else None
    interval = "" if ends is None else f" ({ends[0]:.2f} to {ends[1]:.2f})"
    return f"{value:.{digits}f}{interval}".replace("0.", ".")


def main() -> None:
    points = json.loads((Path(sys.argv[1]) / "points.json").read_text(encoding="utf-8"))["points"]
    measured = [point for point in points if "attack_worst" in point["measures"]]
    makers = {point["anonymizer"].split(" ")[0] for point in points}
    print(f"{len(points)} releases by {len(makers)} makers, ends included")
    print("| release | worst attack | pairs | queries | replicated |\n| --- | --- | --- | --- | --- |")
    for point in sorted(measured, key=lambda point: point["measures"]["attack_worst"]):
        wanted = "" if point["requirement"] == "k-anonymity k=1" else f", {point['requirement']}"
        form = " (buckets)" if point["form"] == "bucketization" else ""
        numbers = " | ".join(shown(point, name, digits) for name, digits in NUMBERS)
        print(f"| `{point['anonymizer']}`{wanted}{form} | {numbers} |")


if __name__ == "__main__":
    main()
