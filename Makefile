# One command each; every target sets up what it needs. PYTHON chooses the interpreter (3.11 to 3.13).
PYTHON ?= python3
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE # tests and benchmarks start many interpreters: each would compile what it imports

.PHONY: run test test-all quick mutants test-browser test-bindu test-api test-a2a test-lowest coverage lint format docs diagrams man deb test-deb bench bench-peers bench-compare bench-smoke bench-merged bench-scale bench-recovery bench-soak bench-deaths bench-lost-host bench-million bench-dashboard bench-live bench-kills bench-hostile bench-scripts bench-telemetry bench-schedules bench-ledger bench-postgres picture pictures top-pictures dashboard-pictures chaos clean

run: .venv/installed ## eight workers on the embedded store, counting words
	@$(BIN)/supervisor start examples.wordcount:handle --workers 8

test: .venv/collected ## all tests of behaviour, side by side, the longest files first; TESTS=tests/core/test_lease.py chooses
	$(BIN)/python -m pytest -n 5 --dist loadfile --no-loadscope-reorder $(TESTS)

test-all: .venv/developing ## the same with the long plays, all seeds, all stores, and each script that is broken on purpose
	@$(MAKE) --no-print-directory test TESTS='--all $(TESTS)'

quick: .venv/developing ## under a minute: rules, settings, and scripts on a server; no plays at random, no broken scripts
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" -k "not memory" tests/core tests/config tests/lua

test-bindu: ## the adapter for the agent framework, in .venv-bindu on Python 3.12 or later; PYTHON312 names one
	@.ci/test-bindu

test-api: .venv/developing ## a minute of requests at random against the HTTP API, by its OpenAPI document; schemathesis in .venv-api
	@.ci/test-api $(ARGS)

test-a2a: .venv/developing ## the agent with the clients of a2a-sdk 1.3.0 and 0.3.26, in .venv-a2a and .venv-a2a-03
	@PYTHON='$(PYTHON)' .ci/test-a2a

test-browser: .venv/developing ## the dashboard in Debian's Chromium, and what axe finds; skipped with a reason where they cannot be had
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright || true
	@mkdir -p build/axe && cd build/axe && { test -s axe.min.js || { timeout 60 npm pack --silent axe-core@4 >/dev/null \
		&& tar --extract --gzip --strip-components 1 --file axe-core-*.tgz package/axe.min.js; } >/dev/null 2>&1 || true; }
	$(BIN)/python -m pytest -q -rs tests/browser

test-lowest: ## the tests that are not slow, with the lowest versions of all libraries, in .venv-lowest; TESTS=… chooses
	@TESTS='$(TESTS)' PYTHON='$(PYTHON)' .ci/test-lowest

coverage: .venv/developing ## everything, with coverage through forks
	@rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest $(TESTS)
	@$(BIN)/coverage combine -q 2>/dev/null || true # killed processes leave torn files, or none is left to combine
	@$(BIN)/coverage report --format=total | sed 's/^/coverage: /; s/$$/ %/'

mutants: .venv/developing ## small faults that a seed draws: what share the tests notice; SAMPLE=300 SEED=7, AREAS='web,agent', ARGS=--recorded
	@$(BIN)/python -m tests.mutation --sample $(or $(SAMPLE),300) --seed $(or $(SEED),1) $(if $(AREAS),--areas '$(AREAS)') $(ARGS)

lint: .venv/developing ## format, style, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 config workers supervisor # files are read and written in UTF-8, whatever the locale
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: .venv/developing
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/docs ## the site in site/, which needs no other host: open site/index.html
	@$(BIN)/python -m docs.tools.site_pages build/pages
	@$(BIN)/zensical build --clean --strict
	@$(BIN)/python -m docs.tools.site_check site

diagrams: .venv/docs ## draws the diagrams of the pages; needs node, npm and a Chromium that CHROMIUM names
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright
	@$(BIN)/python -m docs.tools.draw_diagrams

.venv/docs: .venv/installed
	@echo 'setting up .venv for the site: this takes a minute, once'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded,docs]'
	@touch $@

.venv/installed: pyproject.toml
	@echo 'setting up .venv: this takes a minute, once'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@touch $@

.venv/developing: .venv/installed
	@echo 'setting up .venv for tests: this takes a minute, once'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded,web,dev]'
	@touch $@

.venv/collected: .venv/developing # compiled by one process, once: five that collect the tests would each do it
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || true
	@touch $@

man: .venv/installed ## manual pages of all commands, from their help, in build/man
	@rm -rf build/man
	@$(BIN)/python -m distribution.man_pages build/man/man1

deb: .venv/developing ## a Debian package in dist/, for the Python of this machine; DEB_PYTHON names another
	@distribution/deb

test-deb: deb ## that package installed, upgraded and removed on a throw-away machine with systemd
	$(BIN)/python -m pytest -q tests/distribution/test_deb.py

picture: .venv/installed ## the picture of the README
	@$(BIN)/python -m holdfastd.demo.picture docs/demo.svg

pictures: .venv/developing ## each page of the dashboard in five states, three sizes, light and dark: build/pictures; STATES='empty wrong' chooses
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright pillow
	@$(BIN)/python -m bench.demo_pictures build/pictures $(STATES)

top-pictures: .venv/developing ## the pictures of `supervisor top`, from a pool under load: takes a minute and a half
	@$(BIN)/python -m bench.pictures docs/pictures

dashboard-pictures: .venv/developing ## the pictures of the dashboard, from a pool under load, with Debian's Chromium: takes two minutes
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright pillow
	@$(BIN)/python -m bench.dashboard_pictures docs/pictures/dashboard

bench: .venv/developing ## speed, cost, latency, memory, kills beside a bare loop: writes docs/performance.md; ARGS='--rounds 1 --dry'
	$(BIN)/python -m bench.performance $(ARGS)

bench-peers: .venv/developing ## the same with huey, rq, saq, dramatiq, taskiq, celery and arq beside it, each in its own environment
	$(BIN)/python -m bench.performance --peers $(ARGS)

bench-compare: .venv/developing ## measure again and compare with the committed data: a change of 10 % is marked; FILE=… compares that file
	$(BIN)/python -m bench.comparison $(FILE)

bench-scale: .venv/developing ## the cost of a task by queue, workers and supervisors: writes docs/capacity.md; TASKS=… for fewer
	$(BIN)/python -m bench.scale $(TASKS) $(ARGS)

bench-merged: .venv/developing ## memory of an idle pool while the kernel merges equal pages; needs root, takes four minutes
	$(BIN)/python -m bench.merged_pages

bench-smoke: .venv/developing ## within a minute: this project beside a bare loop, each task run and completed once
	$(BIN)/python -m bench.smoke

bench-recovery: .venv/developing ## from kill -9 to the handler running again
	$(BIN)/python -m bench.recovery

bench-soak: .venv/developing ## 200,000 tasks, workers replaced every 500: what parent and steward hold
	$(BIN)/python -m bench.soak

bench-deaths: .venv/developing ## 1,000 workers killed: what parent and steward hold
	$(BIN)/python -m bench.deaths

bench-lost-host: .venv/developing ## from the death of a whole host to its tasks running on another
	$(BIN)/python -m bench.lost_host

bench-million: .venv/developing ## 1,000,000 tasks: what they weigh, how long the server is busy with each call; TASKS=… for fewer
	$(BIN)/python -m bench.million $(TASKS)

bench-dashboard: .venv/developing ## the dashboard on 1,000,000 tasks: time of each page, of each step of a search, memory; TASKS=… for fewer
	$(BIN)/python -m bench.dashboard $(TASKS)

bench-live: .venv/developing ## what ten clients of the live events cost a task, in pairs
	$(BIN)/python -m bench.live_clients $(ARGS)

bench-kills: .venv/developing ## 1,000,000 tasks, undisturbed and with a worker killed every 0.5 s: writes docs/performance.md; TASKS=… for fewer
	$(BIN)/python -m bench.kills $(TASKS) $(ARGS)

bench-hostile: .venv/developing ## entries of 60 MB, a million messages for one task and the like: how long the server is busy with a call
	$(BIN)/python -m bench.hostile

bench-scripts: .venv/developing ## what submit, pull and renew cost the server; AGAINST=<folder of another tree>: both in turns; SERVER=redis-server
	$(BIN)/python -m bench.script_time $(if $(AGAINST),--against $(AGAINST)) $(if $(SERVER),--server $(SERVER))

bench-telemetry: .venv/developing ## what traces, metrics and logs cost a task of 1 ms, with collectors that are away; AGAINST=<folder of another tree>, off, too
	$(BIN)/python -m bench.telemetry $(ARGS) $(if $(AGAINST),--against $(AGAINST))

bench-schedules: .venv/developing ## 100,000 schedules, a thousand due at once: lateness, cost, ten stewards racing
	$(BIN)/python -m bench.schedules

bench-ledger: .venv/developing ## storage in PostgreSQL: tasks copied a second, how far behind, 100,000 put back into an emptied Redis
	$(BIN)/python -m bench.ledger

bench-postgres: .venv/developing ## PostgreSQL storage beside procrastinate and pgqueuer: writes docs/performance.md
	$(BIN)/python -m bench.postgres $(ARGS)

step-kills: .venv/developing ## `task.step` while 200 workers are killed: how often each step was called; takes some minutes; STEP_KILLS=20 for fewer
	STEP_KILLS=$(or $(STEP_KILLS),200) $(BIN)/python -m pytest -q -s -p no:cacheprovider tests/faults/test_steps.py -k again_and_again

chaos: .venv/developing ## faults of every kind against a running pool; SECONDS=300 SEED=1 choose
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) --report chaos-report

clean:
	rm -rf .venv .venv-a2a .venv-a2a-03 .venv-bindu .venv-lowest site build/pages .cache .mypy_cache .ruff_cache .pytest_cache .coverage*
