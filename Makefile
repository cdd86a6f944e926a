# Every target sets up what it needs; the first run takes minutes, the next ones seconds.
# Any Python from 3.9 on begins; scripts/install.py finds or brings the one that serves.
PYTHON ?= $(shell for python in python3 python3.12 python3.11 python3.10; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && echo "$$python" && break; done)
BIN = .venv/bin
LOCK = poetry.lock pyproject.toml plate_cameras/pyproject.toml scripts/install.py scripts/torch-cpu.sha256
INSTALL = @test -n "$(PYTHON)" || { echo "make: wanted python3, 3.9 or newer, found none"; exit 1; }; \
	$(PYTHON) scripts/install.py

.PHONY: demo serve cameras test unit nightly check docs fuzz mutants bench bench-stages bench-growth bench-commits soak soak-bls faults camera-faults sbom audit bundle wheels gpu-check gpu-first-light gpu-quick image-check before-release workshop train-env test-train clean help

help:
	@echo "make demo        recognise a sample picture with a real Triton server and show the plates"
	@echo "make serve       start the service: page, REST and KServe on localhost:8000, gRPC on 8001"
	@echo "make cameras     install the package for cameras: plates watch, plates serve --cameras, the control room"
	@echo "make test        run the tests; make unit: those without a real server or browser"
	@echo "make nightly     run the tests that make test leaves out: studies of a minute or longer; new inputs of properties; make soak-bls"
	@echo "make check       lint, types, formats and which package may import which"
	@echo "make docs        the pages as a site, to be read without a network: site/html/index.html"
	@echo "make fuzz        MINUTES=60 of coverage-guided fuzzing: picture decoding, then request parsing"
	@echo "make mutants     MODULE=orchestrator.reading.grammar: the changes of its code that its tests miss"
	@echo "make bench       measure speed and cost of the server and of its parts"
	@echo "make bench-stages        the time of each stage of a picture, and the budgets of our own Python"
	@echo "make bench-commits       BASE=main~1: is this commit slower, or does it read fewer plates?"
	@echo "make bench-growth        pictures a second by cores, plates and megapixels, and what one more costs"
	@echo "make soak        1,000 mixed calls: does memory, a descriptor or anything else grow?"
	@echo "make soak-bls    MINUTES=60 of 16 calls at once, by 8 workers that call the networks"
	@echo "make faults      break a service on purpose under load: docs/reliability.md"
	@echo "make camera-faults  break plates watch, and what is around it: docs/reliability.md"
	@echo "make example-bls, -digits, -restoration, -ocr, -stream   other pipelines on the same server"
	@echo "make gpu-check   on an NVIDIA GPU: same answers, tensors stay there, how fast"
	@echo "make gpu-first-light  the first half hour on an NVIDIA GPU: step by step, and one page"
	@echo "make gpu-quick   the most telling of these steps, in eight minutes"
	@echo "make image-check as root: build the cpu image without Docker, look inside, run it; in Docker, too, where it is"
	@echo "make before-release  as root, two or three hours: all checks that make test leaves out, and a table of them"
	@echo "make bundle      one archive for a machine without a network; OPTIONS='--without torch --parts 60M'"
	@echo "make wheels      the two packages as wheels, checked: dist/; TAG=v1.0.0 for a release"
	@echo "make sbom        what the images hold, as CycloneDX; make audit: what is known against it"
	@echo "make test-train  the tests that need the yolov5 package"
	@echo "make workshop    what plates evaluate and bench need beside what serves"
	@echo "make train-env   the environment for training, in .venv-train (PyTorch with CUDA, yolov5)"

demo: .venv/.serve
	$(BIN)/plates recognize tests/data/street.jpg --annotate demo
	@echo
	@echo "Next: make serve, then open http://localhost:8000/ and drop a picture of yours there."

serve: .venv/.serve
	$(BIN)/plates serve

# Tests of servers wait now and then, so three processes keep two cores busy. WORKERS=0 runs all tests in one process.
WORKERS ?= 3
# A worker that is ended is not replaced: the new one would run the same test again and end as well.
# The order of tests/conftest.py is kept: tests of servers come first, so that no long one is left for the end.
# Python's files of compiled modules are kept, where the environment forbids it, too: each worker collects every test,
# and without these files compiles all of them again.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --durations 20
test: .venv/.dev
	$(PYTEST) -m "not nightly"

unit: .venv/.dev
	$(PYTEST) -m "not server and not nightly"

nightly: .venv/.dev
	$(PYTEST) -m nightly
	$(PYTEST) -m "not server and not nightly" --hypothesis-profile default
	$(MAKE) soak-bls

check: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.dev
	$(BIN)/python scripts/build_docs.py

MINUTES ?= 60
fuzz: .venv/.fuzz
	$(BIN)/python scripts/fuzz.py --minutes $(MINUTES)

# TESTS=... adds tests to those of the module's folder. ONLY=1 runs of that folder only those tests
# that mirror the module. COUNT= tries every mutant.
COUNT ?= 25
SEED ?= 0
mutants: .venv/.dev
	$(BIN)/python scripts/mutants.py $(MODULE) $(TESTS) $(if $(ONLY),--only) $(if $(COUNT),--count $(COUNT)) --seed $(SEED)

bench: .venv/.workshop
	$(BIN)/plates bench

OPTIONS ?=
# OPTIONS=--check: fail if a budget is exceeded.
bench-stages: .venv/.workshop
	$(BIN)/python -m workshop.benchmarks.stage_budgets $(OPTIONS)

# OPTIONS='--rounds 12 --scenes FOLDER' and others: .venv/bin/python -m workshop.benchmarks.commits --help
BASE ?= main~1
bench-commits: .venv/.workshop
	$(BIN)/python -m workshop.benchmarks.commits $(BASE) $(OPTIONS)

bench-growth: .venv/.workshop
	$(BIN)/python -m workshop.benchmarks.growth $(OPTIONS)

gpu-check: .venv/.workshop
	$(BIN)/python -m workshop.benchmarks.gpu_check

# OPTIONS=--rehearse does the same on a CPU, in a small way.
gpu-first-light: .venv/.workshop
	$(BIN)/python -m workshop.benchmarks.first_light $(OPTIONS)

gpu-quick: .venv/.workshop
	$(BIN)/python -m workshop.benchmarks.first_light --quick --out reports/gpu-quick $(OPTIONS)

soak: .venv/.workshop
	$(BIN)/plates soak

# Many workers call the networks at once, on the embedded Triton: docs/soak.md says why.
soak-bls: .venv/.workshop
	$(BIN)/plates soak --minutes $(MINUTES) --callers 16 --pictures 8 --out reports/soak-bls

faults: .venv/.workshop
	$(BIN)/python -m workshop.benchmarks.faults --json reports/faults.json --logs reports/faults \
	  --page docs/reliability.md

camera-faults: .venv/.workshop .venv/.cameras
	$(BIN)/python -m workshop.benchmarks.camera_faults --at-once 3 --json reports/camera_faults.json \
	  --logs reports/camera_faults --page docs/reliability.md

example-%: .venv/.examples
	$(BIN)/python -m examples.$*

image-check: .venv/.dev
	$(BIN)/python -m deploy.check_image

RELEASE_CHECKS = image-check faults camera-faults soak bundle "gpu-first-light OPTIONS=--rehearse" nightly
before-release:
	@failed=0; table=; for check in $(RELEASE_CHECKS); do \
	  begun=$$(date +%s); result=passed; \
	  $(MAKE) $$check || { result=FAILED; failed=1; }; \
	  table="$$table$$(printf '%-6s %5d s  %s' $$result $$(($$(date +%s) - begun)) "$$check")\n"; \
	done; printf "\n$$table"; exit $$failed

# OPTIONS='--python 3.12 --without torch --parts 60M': docs/offline.md
bundle: .venv/.serve
	$(BIN)/python scripts/bundle.py $(OPTIONS)

wheels: .venv/.dev
	$(BIN)/python -m scripts.wheels --tag "$(TAG)"

# cyclonedx-py stumbles over a [tool.poetry] that has no name.
sbom: .venv/.audit
	@mkdir -p sbom
	@sed '/^\[tool/,$$d' pyproject.toml > sbom/pyproject.toml
	@for image in cpu gpu; do $(BIN)/python scripts/locked.py $$image > sbom/$$image.txt && \
	  PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --pyproject sbom/pyproject.toml --sv 1.6 \
	  --output-reproducible --of JSON --validate -o sbom/$$image.json sbom/$$image.txt || exit 1; done

audit: sbom
	@for image in cpu gpu; do $(BIN)/pip-audit --strict --require-hashes --disable-pip \
	  --progress-spinner off --requirement sbom/$$image.txt || exit 1; done

workshop: .venv/.workshop

train-env: .venv-train/.train

test-train: .venv-train/.train
	.venv-train/bin/pytest tests/workshop/training/with_yolov5 tests/workshop/training/detector/test_detector_training.py

clean:
	rm -rf .venv .venv-train .venv-python site model_repository/*/1/model.*[!y]

.venv/.serve: $(LOCK)
	$(INSTALL)
	@touch $@

cameras: .venv/.cameras

.venv/.cameras: $(LOCK)
	$(INSTALL) --group cameras --group gates --group excel --group notify
	@touch .venv/.serve $@

.venv/.workshop: $(LOCK)
	$(INSTALL) --group workshop
	@touch .venv/.serve $@

.venv/.examples: $(LOCK)
	$(INSTALL) --group examples
	@touch .venv/.serve $@

.venv/.audit: $(LOCK)
	$(INSTALL) --group audit
	@touch .venv/.serve $@

.venv/.fuzz: $(LOCK)
	$(INSTALL) --group dev --group docs --group workshop --group examples --group fuzz
	@touch .venv/.serve .venv/.workshop .venv/.examples .venv/.dev $@

.venv/.dev: $(LOCK)
	$(INSTALL) --group dev --group docs --group workshop --group examples
	@touch .venv/.serve .venv/.workshop .venv/.examples $@

.venv-train/.train: $(LOCK)
	$(INSTALL) --group dev --group workshop --group examples --group train --venv .venv-train
	@touch $@
