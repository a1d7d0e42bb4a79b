# make run: serve the page on http://127.0.0.1:$(PORT). make test: run every test. make check: style,
# types, and the tests without browser, servers, runs of programs and campaigns: before each commit.
# Both set everything up first, in .venv and node_modules; a second run finds it done. The browser
# comes while packages are unpacked. Types are checked while tests run: one process of its own, for
# which a core has time.
# make docs: the pages of docs/ and the reference of the library, as a site in dist/docs.
# make lock: resolve the dependencies of pyproject.toml anew (make lock UPGRADE=--upgrade: to their
# newest versions). make audit: look for known vulnerabilities. make sbom: what is in the product.
# make screenshots: take the pictures of README and docs anew.

PORT ?= 8000
PYTHON ?= python3
BIN := .venv/bin
TOOLS := .tools/bin
LOCKS := dev run tools docs node zig cuda12 cuda13 postgres lsp
LOCKED := -m pip --quiet --disable-pip-version-check install --no-compile --require-hashes \
  --requirement
COMPILED := -m compileall -qq -j 0
UPGRADE ?=
# Modules are compiled once, on all cores, and kept, whatever the environment says: workers cannot
# write them. What packages have for other versions of Python is none that this one compiles.
export PYTHONDONTWRITEBYTECODE :=
PAGE := $(shell find static templates -type f -not -path 'static/dist/*') package.json package-lock.json

.PHONY: run test check docs setup chromium screenshots lock audit sbom clean

run: setup .venv/.gpu
	$(BIN)/stridescope serve --port $(PORT)

test:
	$(MAKE) --jobs=2 setup chromium
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & types=$$!; $(BIN)/python static/page.py check & page=$$!; \
	  $(BIN)/pytest -n auto --dist worksteal; tests=$$?; wait $$types && wait $$page && exit $$tests

check: setup docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & types=$$!; $(BIN)/python static/page.py check & page=$$!; \
	  $(BIN)/pytest -n auto --dist worksteal -m "not long and not browser and not gpu"; tests=$$?; \
	  wait $$types && wait $$page && exit $$tests

setup: .venv/.installed static/dist/.built
	$(BIN)/python -m compileall -q compiler app

chromium:
	$(PYTHON) -m tests.install_chromium

screenshots: setup chromium
	$(BIN)/python -m docs.screenshots

# Everything from the registry comes by its hash. The project itself is built with what is locked.
.venv/.installed: pyproject.toml requirements/dev.txt requirements/node.txt requirements/zig.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python $(LOCKED) requirements/dev.txt
	$(BIN)/python -c 'import runpy, sys; \
	  sys.exit(runpy.run_path("static/page.py")["node_folder"]() is None)' \
	  || $(BIN)/python $(LOCKED) requirements/node.txt
	command -v cc >/dev/null || $(BIN)/python $(LOCKED) requirements/zig.txt
	$(BIN)/python -m pip --quiet --disable-pip-version-check install \
	  --no-index --no-deps --no-build-isolation --editable .
	-$(BIN)/python $(COMPILED) .venv/lib
	touch $@

# What is installed is for drivers of CUDA 13; where there is one of CUDA 12, it is for that.
.venv/.gpu: .venv/.installed requirements/cuda12.txt
	! nvidia-smi 2>/dev/null | grep -q 'CUDA Version: 12' || { \
	  $(BIN)/python -m pip --quiet --disable-pip-version-check uninstall --yes cupy-cuda13x && \
	  $(BIN)/python $(LOCKED) requirements/cuda12.txt; }
	touch $@

static/dist/.built: $(PAGE) | .venv/.installed
	$(BIN)/python static/page.py build
	mkdir -p static/dist
	touch $@

.tools/.installed: requirements/tools.txt
	$(PYTHON) -m venv .tools
	.tools/bin/python $(LOCKED) requirements/tools.txt
	touch $@

.docs/.installed: requirements/docs.txt
	$(PYTHON) -m venv .docs
	.docs/bin/python $(LOCKED) requirements/docs.txt
	touch $@

docs: .docs/.installed
	.docs/bin/mkdocs build --strict --quiet

lock: .tools/.installed
	$(foreach name,$(LOCKS),$(TOOLS)/uv --quiet pip compile pyproject.toml $(UPGRADE) --universal \
	  --generate-hashes --no-annotate --custom-compile-command 'make lock' \
	  $(if $(filter dev,$(name)),,--constraint requirements/$(if $(filter cuda12,$(name)),run,dev).txt) \
	  $(if $(filter run,$(name)),,$(if $(filter tools docs,$(name)),--group,--extra) $(name)) \
	  --output-file requirements/$(name).txt &&) true

audit: .tools/.installed setup
	$(BIN)/python -m tests.audit --notes dist/audit.txt

sbom: .tools/.installed setup
	mkdir -p dist
	$(TOOLS)/cyclonedx-py requirements requirements/run.txt --pyproject pyproject.toml \
	  --output-reproducible --output-file dist/stridescope.cdx.json
	$(BIN)/python static/page.py sbom > dist/page.cdx.json

clean:
	rm -rf .docs .tools .venv node_modules static/dist build *.egg-info
