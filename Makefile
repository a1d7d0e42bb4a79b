# make run: serve the page on http://127.0.0.1:$(PORT). make test: run every test.
# Both set everything up first, in .venv and node_modules; a second run finds it done.

PORT ?= 8000
PYTHON ?= python3
BIN := .venv/bin
PAGE := $(shell find static templates -type f -not -path 'static/dist/*') package.json package-lock.json

.PHONY: run test setup clean

run: setup
	$(BIN)/stridescope serve --port $(PORT)

test: setup
	$(BIN)/python tests/install_chromium.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python static/page.py check
	$(BIN)/pytest -n auto

setup: .venv/.installed static/dist/.built

.venv/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	command -v cc >/dev/null || $(BIN)/python -m pip install --quiet ziglang
	touch $@

static/dist/.built: $(PAGE) | .venv/.installed
	$(BIN)/python static/page.py build
	mkdir -p static/dist
	touch $@

clean:
	rm -rf .venv node_modules static/dist build *.egg-info
