# Two commands set a fresh machine up: `make demo` and `make test`. Each makes its own environment.
PYTHON ?= python3
HOST_PYTHON ?= $(shell sh tests/maibot/find_python.sh)

DEMO = .venv-demo
TEST = .venv
HOST = .venv-maibot

.PHONY: demo test test-fast fuzz lint test-maibot test-webui test-matrix test-integrations test-conformance test-servers bench soak audit clean

demo: $(DEMO)/ready
	$(DEMO)/bin/python -m mcp_bridge demo

# Most tests wait rather than work, so more of them than there are cores run at a time.
JOBS ?= 4
test: $(TEST)/ready
	$(TEST)/bin/python -m pytest -n $(JOBS) tests --ignore=tests/maibot --ignore=tests/webui

# What starts no process, with fewer examples of each property: for every change, a minute on two cores.
test-fast: $(TEST)/ready
	MCP_BRIDGE_EXAMPLES=30 $(TEST)/bin/python -m pytest -q -n $(JOBS) --dist worksteal -m "not process" tests --ignore=tests/maibot --ignore=tests/webui

# The property tests with many examples each: EXAMPLES=50000 takes hours.
EXAMPLES ?= 1000
fuzz: $(TEST)/ready
	MCP_BRIDGE_EXAMPLES=$(EXAMPLES) $(TEST)/bin/python -m pytest -q -n $(JOBS) -m hypothesis tests --ignore=tests/maibot --ignore=tests/webui

lint: $(TEST)/ready-dev
	$(TEST)/bin/python -m mypy --strict mcp_bridge tests
	cd tests/servers && ../../$(TEST)/bin/python -m mypy --strict --explicit-package-bases --config-file ../../pyproject.toml *.py
	$(TEST)/bin/python -m ruff check .
	$(TEST)/bin/python -m ruff format --check .
	$(TEST)/bin/lint-imports

# The real bot: about 1 GB, and some minutes the first time.
test-maibot: $(HOST)/ready
	$(HOST)/bin/python -m pytest tests/maibot

# The page in MaiBot's web UI, in a real browser (Debian: apt-get install chromium fonts-noto-cjk).
test-webui: $(HOST)/ready
	$(HOST)/bin/python -m pip install --quiet --disable-pip-version-check playwright
	$(HOST)/bin/python -m pytest tests/webui

# Four versions of the SDK on two Pythons: half an hour.
test-matrix:
	$(PYTHON) tests/matrix.py

# The real packages behind the facades, each in an environment of its own.
test-integrations:
	$(PYTHON) tests/integrations/run.py

# The official conformance tool on both majors of the SDK; skipped where no Node >= 22 can be had.
test-conformance:
	$(PYTHON) tests/conformance/run.py

# Public servers from npm and PyPI through the bridge: some minutes, and 1.5 GB the first time.
test-servers: $(TEST)/ready
	$(TEST)/bin/python -m tests.real_servers.run

# Twenty minutes, beside nothing else; `make bench BENCH=--quick` is a smoke test.
bench: $(TEST)/ready
	$(TEST)/bin/python -m benchmarks $(BENCH)

# Random calls while servers are killed, each answer checked: SOAK=8h for a night, SOAK=60s for a smoke test.
SOAK ?= 10m
soak: $(TEST)/ready
	$(TEST)/bin/python -m soak --time $(SOAK) $(SOAK_OPTIONS)

# Known weaknesses in what is installed; fails, too, where the database of them cannot be reached.
audit:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check -e ".[chat,import]" pip-audit
	.venv-audit/bin/python -m pip uninstall --quiet --yes mcp-bridge  # in no database, which would count as a failure
	.venv-audit/bin/pip-audit --local --strict

$(DEMO)/ready: pyproject.toml
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[cli]"
	touch $@

$(TEST)/ready: pyproject.toml
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	touch $@

$(TEST)/ready-dev: $(TEST)/ready
	$(TEST)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[test,dev]"
	touch $@

$(HOST)/ready: pyproject.toml
	@test -n "$(HOST_PYTHON)" || { echo "MaiBot needs Python >= 3.12 and none was found"; exit 1; }
	$(HOST_PYTHON) -m venv $(HOST)
	$(HOST)/bin/python -m pip install --quiet --disable-pip-version-check maibot==1.3.15 pytest pytest-asyncio hypothesis psutil
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) $(HOST) .venv-matrix .venv-integrations .venv-conformance .venv-servers .venv-audit build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
