#!/bin/sh
# Starts the tritonserver of NGC's image with the flags of `plates serve`, orchestrator/server/distribution.py; a test
# compares the two. Further flags may follow.
#
# Administration (models, shared memory of callers, traces, logs) needs the header plates-admin-key: docs/operations.md.
# Where nobody has set PLATES_ADMIN_KEY nobody knows the key.
set -eu

admin="plates-admin-key=${PLATES_ADMIN_KEY:-$(cat /proc/sys/kernel/random/uuid)}"
exec tritonserver \
    --model-repository="${PLATES_MODELS:-/opt/plates/models}" \
    --model-control-mode=none \
    --disable-auto-complete-config \
    --strict-readiness=true \
    --log-info=false \
    --exit-timeout-secs=10 \
    --backend-config=python,shm-default-byte-size=8388608 \
    --backend-config=python,shm-growth-byte-size=8388608 \
    --http-restricted-api=model-repository,shared-memory,trace,logging:"$admin" \
    --grpc-restricted-protocol=model-repository,shared-memory,trace,logging:"$admin" \
    "$@"
