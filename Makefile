# The README's two commands. Both set everything up on a fresh machine: a virtual environment in .venv, the package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick clean

# What a person waits for between two edits; nothing that explores a bundled table. Seconds of processor time, machine code
# compiled: claims 3, map_questions 4, dotted_dates 6, matching 11; hierarchies and requirements more than 14 each.
QUICK := claims dotted_dates hierarchies map_questions matching requirements

demo: $(VENV)/.installed
	$(BIN)/sfumato explore adult --out demo

test: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/pytest -n 2 --dist loadfile

quick: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n 2 -q $(QUICK:%=tests/test_%.py)

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

clean:
	rm -rf $(VENV) demo
