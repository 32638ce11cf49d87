"""A census that nobody took: N records x 8 quasi-identifiers, a sensitive and two neutral columns, as Parquet.

    python benchmarks/census.py 10000000 /tmp/census-10m.parquet

DuckDB draws it from a seed by hashing row numbers, so that a hundred million records take a minute. Attributes hang
together as those of people do (who is married depends on age, who came from where on the district), and shares fall off
as in real tables, so that distinct combinations grow more slowly than records.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb

QUASI = ("age", "birthplace", "district", "education", "household", "marital", "origin", "sex")
SENSITIVE = ("occupation",)
NEUTRAL = ("hours", "income")
SEED = 1


def draw(name: str, seed: int) -> str:
    """Write an even draw between 0 and 1 for row i: its own for every column."""
    return f"((hash(i, '{name}', {seed}) >> 11)::DOUBLE / 9007199254740992)"


def census_query(rows: int, seed: int = SEED) -> str:
    """Write the query that draws the census; every value is a function of the row's number and the seed."""
    u = {name: draw(name, seed) for name in (*QUASI, *SENSITIVE, *NEUTRAL, "milieu", "moved")}
    people = f"""
        SELECT i, least(99, floor(100 * {u["age"]} * (0.55 + 0.45 * {u["moved"]})))::INTEGER AS age,
            floor(60 * pow({u["district"]}, 2.2))::INTEGER AS district,
            floor(5 * pow({u["milieu"]}, 1.3))::INTEGER AS milieu
        FROM range({rows}) AS numbers(i)"""
    return f"""
        SELECT age,
            CASE WHEN {u["birthplace"]} < 0.93 THEN 'B' || (district // 10)
                ELSE 'B' || floor(24 * pow({u["birthplace"]} * 14 - 13, 2))::INTEGER END AS birthplace,
            printf('%05d', 10000 + 137 * district) AS district,
            'E' || least(8, milieu + (CASE WHEN {u["education"]} < 0.8 THEN 0 ELSE 1 END)
                + (age > 24)::INTEGER)::INTEGER AS education,
            CASE WHEN age < 20 THEN 4 ELSE 1 + floor(4 * pow({u["household"]}, 2))::INTEGER END AS household,
            CASE WHEN age < 20 OR {u["marital"]} < 0.25 THEN 'never' WHEN {u["marital"]} < 0.8 THEN 'married'
                WHEN age > 65 THEN 'widowed' ELSE 'divorced' END AS marital,
            'O' || (CASE WHEN {u["origin"]} < 0.9 THEN district % 3 ELSE 3 END) AS origin,
            CASE WHEN {u["sex"]} < 0.5 THEN 'f' ELSE 'm' END AS sex,
            'W' || least(19, milieu * 3 + floor(5 * pow({u["occupation"]}, 2)))::INTEGER AS occupation,
            floor(60 * {u["hours"]})::INTEGER AS hours,
            round(20000 + 30000 * milieu * {u["income"]})::INTEGER AS income
        FROM ({people})"""


def make_census(path: Path, rows: int, seed: int = SEED) -> Path:
    """Write a census to a Parquet file, unless it is there."""
    if not path.exists():
        draft = path.with_name(f".{path.name}")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({census_query(rows, seed)}) TO '{draft}' (FORMAT parquet, COMPRESSION zstd)")
        draft.rename(path)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    make_census(given.path, given.rows, given.seed)
