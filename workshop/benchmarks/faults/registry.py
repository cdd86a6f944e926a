"""The list of all faults that are made on purpose, with the promise for each."""

from __future__ import annotations

import signal

from orchestrator.contract import DECODE, DETECTOR, MODEL, READER
from orchestrator.networks.registry import STEPS
from workshop.benchmarks.faults.harmful_requests import hang
from workshop.benchmarks.faults.host_faults import (
    fill_disk,
    fill_shared_memory,
    jump,
    limit_memory,
    start_and_stop_another,
    take_a_port,
    take_descriptors,
)
from workshop.benchmarks.faults.observation import Fault
from workshop.benchmarks.faults.report import Promise
from workshop.benchmarks.faults.settings import CLOCK, HANGING, PLAIN, PRIVATE
from workshop.benchmarks.faults.signals import (
    kill_at_random,
    kill_command,
    kill_everything,
    kill_triton,
    restart_as_planned,
    send_signal,
    stop_at_work,
)
from workshop.benchmarks.processes import GATEWAY

WORKERS = (DETECTOR, "stn", READER, MODEL, *STEPS, DECODE)
A_WORKER = Promise(longest_s=4.0, recover_s=15.0)
"""The promise for a lost worker. Triton gives up a call to it after 1 s, and one call after the
other: with three pictures in work, the last one of `stn`, which has no other worker, after 3 s."""
A_LOOP = Promise(longest_s=6.0, recover_s=25.0)
"""The promise for a hanging call: it costs two of three workers, and delays calls by 1 s each."""
NOTHING = Promise(longest_s=3.0, recover_s=3.0)
START = Promise(recover_s=30.0, may_refuse=True, may_lose=True)


def _workers() -> list[Fault]:
    manners = (("kill", signal.SIGKILL), ("stop", signal.SIGSTOP))
    return [
        Fault(
            f"{manner}-{model}",
            f"{number.name} to a worker of `{model}`",
            PLAIN,
            A_WORKER,
            send_signal(model, number),
        )
        for manner, number in manners
        for model in WORKERS
    ]


FAULTS = (
    *_workers(),
    Fault("crash-yolo", "SIGSEGV in a worker of `yolo`", PLAIN, A_WORKER,
          send_signal(DETECTOR, signal.SIGSEGV)),
    Fault("random-kills", "workers killed at random, one after the other", PLAIN, A_WORKER,
          kill_at_random),
    Fault("memory", "one worker without memory for large pictures", PLAIN, NOTHING, limit_memory),
    Fault("descriptors", "a gateway without file descriptors", PLAIN, NOTHING, take_descriptors),
    Fault("neighbour", "a second service starts and stops", PLAIN, NOTHING,
          start_and_stop_another),
    Fault("port", "a second service, one of whose ports is taken while it starts", PLAIN, NOTHING,
          take_a_port),
    Fault("kill-triton", "Triton killed", PLAIN, Promise(longest_s=8.0, recover_s=8.0),
          kill_triton),
    Fault("planned-restart", "a planned restart (SIGHUP)", PLAIN,
          Promise(over_usual_s=0.2, recover_s=240.0), restart_as_planned),
    Fault("kill-gateway", "the gateway killed", PLAIN,
          Promise(longest_s=8.0, recover_s=8.0, may_lose=True),
          send_signal(GATEWAY, signal.SIGKILL)),
    Fault("disk", "TMPDIR and the audit's disk full", PRIVATE, NOTHING, fill_disk),
    Fault("shm", "`/dev/shm` full", PRIVATE, NOTHING, fill_shared_memory),
    Fault("kill-serve", "`plates serve` killed and started again", PRIVATE, START, kill_command),
    Fault("kill-all", "every process killed at once and started again", PRIVATE, START,
          kill_everything),
    Fault("stop-serve", "SIGTERM to `plates serve`", PRIVATE, Promise(longest_s=8.0), stop_at_work),
    Fault("loop", "a call at which its worker works for ever", HANGING, A_LOOP, hang),
    Fault("clock", "the clock jumps by an hour, and back", CLOCK, NOTHING, jump),
)  # fmt: skip
"""All faults, in the order in which they are made."""
