# Two images of the same service (docs/docker.md):
#
#   docker build --target cpu --tag plates:1.0.0-cpu .
#   docker build --target gpu --tag plates:1.0.0-gpu .
#   docker buildx build --platform linux/arm64 --target cpu --tag plates:1.0.0-cpu --load .
#
# Nothing here names an architecture: without --platform, each is built for that of the machine (docs/arm64.md).
#
# What decides the answers is pinned to the byte, the packages by poetry.lock and the weights by weights/SHA256SUMS. The
# bases are named by their most exact tags; who wants them to the byte, too, names a digest:
#
#   docker buildx imagetools inspect python:3.11.15-slim-bookworm --format '{{.Manifest.Digest}}'
#   docker build --build-arg PYTHON_IMAGE=python:3.11.15-slim-bookworm@sha256:... --target cpu .
#
# cpu: any Python that scripts/install.py takes; 3.11 is the one every test runs with.
ARG PYTHON_IMAGE=python:3.11.15-slim-bookworm
# gpu: -pyt-python-py3 holds Triton's Python backend, its PyTorch backend, which is not used (docs/why/docker.md), and
# nothing else. From 26.04 on Triton's readiness tells of dead Python workers, 26.09 ends cleanly with metrics of their
# own, 26.11 fixes a use after free in the dynamic batcher. 26.10 begins to carry CUDA's compilers.
ARG TRITON_IMAGE=nvcr.io/nvidia/tritonserver:26.11-pyt-python-py3


# The locked packages. Nothing here depends on the code, so that a change of it does not install PyTorch again; the
# editable installation notes where the package will be, and takes its commands from pyproject.toml.
#
# pip's settings, for networks where packages come from a mirror: --secret id=pip,src=pip.conf
#
# More packages: --build-arg EXTRAS=cameras,s3 adds the package for cameras, S3, and some 300 and 160 MB (docs/many-cameras.md).
FROM ${PYTHON_IMAGE} AS cpu-packages
ARG EXTRAS=""
WORKDIR /opt/plates
COPY LICENSE poetry.lock pyproject.toml ./
COPY plate_cameras/pyproject.toml plate_cameras/
COPY scripts/install.py scripts/torch-cpu.sha256 scripts/
COPY deploy/slim.sh deploy/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=cache,target=/root/.cache \
    mkdir orchestrator && touch orchestrator/__init__.py plate_cameras/__init__.py README.md \
    && python3 scripts/install.py --extras "${EXTRAS}" \
    && sh deploy/slim.sh .venv


FROM cpu-packages AS code
COPY weights weights
COPY model_repository model_repository
COPY orchestrator orchestrator
COPY plate_cameras plate_cameras
# Without its packages, the one for cameras is not there at all.
RUN ls .venv/lib/python3*/site-packages/plates_cameras-*.dist-info >/dev/null 2>&1 || rm -rf plate_cameras/*


# Both engines: the CPU that runs the image decides.
FROM code AS cpu-models
RUN .venv/bin/plates export --engine openvino && .venv/bin/plates export --engine openvino-int8


FROM ${PYTHON_IMAGE} AS cpu
COPY --from=cpu-packages /opt/plates/.venv /opt/plates/.venv
COPY --from=code /opt/plates/weights /opt/plates/weights
COPY --from=code /opt/plates/orchestrator /opt/plates/orchestrator
COPY --from=code /opt/plates/plate_cameras /opt/plates/plate_cameras
COPY --from=cpu-models /opt/plates/model_repository /opt/plates/model_repository
# Nobody can write bytecode when the service runs.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/plates/orchestrator /opt/plates/plate_cameras
# Docker mounts /tmp so that no program can be run from it: Triton gets its workers' program where it lies.
WORKDIR /opt/plates
RUN .venv/bin/python -c "from orchestrator.serving.supervisor import installation as i; i.place_stub(i.find_installation())"
# The rest of the server's environment `plates serve` sets itself. HOME is for libraries that look for one.
ENV PATH=/opt/plates/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000 8001 8002
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-IS", "/opt/plates/orchestrator/host/probe.py"]
# Only the gateway can be reached; Triton has any free ports of loopback. It wants keys (PLATES_KEYS) or --no-keys.
# What follows the image's name follows here, and the last of two says it: --host=:: is for IPv6.
ENTRYPOINT ["plates", "serve", "--host=0.0.0.0", "--metrics-host=0.0.0.0"]
ARG VERSION=1.0.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="plates" \
      org.opencontainers.image.description="Russian number plates from one infer call on NVIDIA Triton, on CPUs" \
      org.opencontainers.image.licenses="AGPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"


# The same packages for the Python of NGC's image, with PyTorch's CUDA build. It runs the pipeline and the networks.
FROM ${TRITON_IMAGE} AS gpu-packages
# hadolint ignore=DL3008 # in this stage alone, and of the release that the image is pinned to
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
ARG EXTRAS=""
WORKDIR /opt/plates
COPY LICENSE poetry.lock pyproject.toml ./
COPY plate_cameras/pyproject.toml plate_cameras/
COPY scripts/install.py scripts/torch-cpu.sha256 scripts/
COPY deploy/slim.sh deploy/
# NGC's tritonserver runs here, and on GPUs OpenVINO runs nothing.
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=cache,target=/root/.cache \
    mkdir orchestrator && touch orchestrator/__init__.py plate_cameras/__init__.py README.md \
    && python3 scripts/install.py --torch cuda --without nvidia-pytriton,openvino --extras "${EXTRAS}" \
    && sh deploy/slim.sh .venv


# Needs no GPU. Files that the CPU's environment wrote would be taken for outdated: they are another PyTorch's.
FROM gpu-packages AS gpu-models
COPY weights weights
COPY model_repository model_repository
COPY orchestrator orchestrator
COPY plate_cameras plate_cameras
# Without its packages, the one for cameras is not there at all.
RUN ls .venv/lib/python3*/site-packages/plates_cameras-*.dist-info >/dev/null 2>&1 || rm -rf plate_cameras/*
RUN .venv/bin/plates export --engine torchscript-fp16


FROM ${TRITON_IMAGE} AS gpu
COPY --from=gpu-packages /opt/plates/.venv /opt/plates/.venv
COPY --from=gpu-models /opt/plates/weights /opt/plates/weights
COPY --from=gpu-models /opt/plates/orchestrator /opt/plates/orchestrator
COPY --from=gpu-models /opt/plates/plate_cameras /opt/plates/plate_cameras
COPY --from=gpu-models /opt/plates/model_repository /opt/plates/model_repository
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/plates/orchestrator /opt/plates/plate_cameras
ENV PATH=/opt/plates/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000 8001 8002
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python3", "-IS", "/opt/plates/orchestrator/host/probe.py"]
# As above, with NGC's Triton, and on GPUs alone: without one the service ends with a sentence. NGC's own entrypoint
# comes first: it checks the driver, and then becomes the command.
ENTRYPOINT ["/opt/nvidia/nvidia_entrypoint.sh", "plates", "serve", \
    "--tritonserver=/opt/tritonserver/bin/tritonserver", "--device=gpu", "--engine=torchscript-fp16", \
    "--host=0.0.0.0", "--metrics-host=0.0.0.0"]
ARG VERSION=1.0.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="plates" \
      org.opencontainers.image.description="Russian number plates from one infer call on NVIDIA Triton, on GPUs" \
      org.opencontainers.image.licenses="AGPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
