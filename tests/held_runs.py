"""Runs that cannot end before a test lets them: what is stopped in the middle is in the middle on any machine."""

HELD = """
[[candidates]]
command = "sh held.sh {table} {out}"
"""
"""A candidate that a program makes, which does not end before it may."""

PROGRAM = """n=0
until [ -e '{gate}' ]; do
  n=$((n + 1)); [ $n -lt 12000 ] || exit 1
  sleep 0.05
done
cp "$1" "$2"
"""
"""It ends by itself when nobody cares for it any more, after ten minutes."""
