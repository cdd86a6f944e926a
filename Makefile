# Every target sets up what it needs; the first run takes minutes, the next ones seconds.
# Any Python from 3.9 on begins; scripts/install.py finds or brings the one that serves.
PYTHON ?= $(shell for python in python3 python3.12 python3.11 python3.10; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && echo "$$python" && break; done)
BIN = .venv/bin
LOCK = poetry.lock pyproject.toml scripts/install.py scripts/torch-cpu.sha256
INSTALL = @test -n "$(PYTHON)" || { echo "make: wanted python3, 3.9 or newer, found none"; exit 1; }; \
	$(PYTHON) scripts/install.py

.PHONY: demo serve test check bench bench-compositions scale-out gpu-check image-check workshop train-env test-train clean help

help:
	@echo "make demo        recognise a sample picture with a real Triton server and show the plates"
	@echo "make serve       start the server on localhost:8000 (HTTP), 8001 (gRPC), 8002 (metrics)"
	@echo "make test        run every test"
	@echo "make check       lint, types, formats and which package may import which"
	@echo "make bench       measure speed and cost of the server and of its parts"
	@echo "make bench-compositions  BLS, ensemble and one Python model beside one another"
	@echo "make scale-out   kill and restart servers behind HAProxy under load; add servers"
	@echo "make example-digits, -restoration, -ocr, -stream   other pipelines on the same server"
	@echo "make gpu-check   on an NVIDIA GPU: same answers, tensors stay there, how fast"
	@echo "make image-check as root: build the cpu image without Docker, look inside, run it"
	@echo "make test-train  the tests that need the yolov5 package"
	@echo "make workshop    what plates evaluate and bench need beside what serves"
	@echo "make train-env   the environment for training, in .venv-train (PyTorch with CUDA, yolov5)"

demo: .venv/.serve
	$(BIN)/plates recognize tests/data/street.jpg --annotate demo

serve: .venv/.serve
	$(BIN)/plates serve

test: .venv/.dev
	$(BIN)/pytest

check: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.workshop
	$(BIN)/plates bench

bench-compositions: .venv/.workshop .venv/.examples
	$(BIN)/python -m benchmarks.compositions

gpu-check: .venv/.workshop
	$(BIN)/python -m benchmarks.gpu_check

scale-out: .venv/.workshop
	$(BIN)/python -m benchmarks.scale_out

example-%: .venv/.examples
	$(BIN)/python -m examples.$*

image-check: .venv/.dev
	$(BIN)/python -m deploy.check_image

workshop: .venv/.workshop

train-env: .venv-train/.train

test-train: .venv-train/.train
	.venv-train/bin/pytest tests/training/with_yolov5 tests/training/test_detector.py

clean:
	rm -rf .venv .venv-train .venv-python model_repository/*/1/model.*[!y]

.venv/.serve: $(LOCK)
	$(INSTALL)
	@touch $@

.venv/.workshop: $(LOCK)
	$(INSTALL) --group workshop
	@touch .venv/.serve $@

.venv/.examples: $(LOCK)
	$(INSTALL) --group examples
	@touch .venv/.serve $@

.venv/.dev: $(LOCK)
	$(INSTALL) --group dev --group workshop --group examples
	@touch .venv/.serve .venv/.workshop .venv/.examples $@

.venv-train/.train: $(LOCK)
	$(INSTALL) --group dev --group workshop --group examples --group train --venv .venv-train
	@touch $@
