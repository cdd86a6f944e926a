"""The list of all faults of cameras that are made on purpose, with the promise for each."""

from __future__ import annotations

import signal

from workshop.benchmarks.camera_faults.acts import (
    behave,
    both,
    empty_list,
    fill_database_disk,
    forbid_writes,
    kill,
    kill_backend,
    kill_postgresql,
    kill_sharing,
    kill_watch,
    nothing,
    refuse_for_good,
    remove_file,
    signal_decoders,
    start_another,
    stop_watch,
    suspend,
    suspend_postgresql,
    suspend_watch,
    write_file,
    write_often,
)
from workshop.benchmarks.camera_faults.machine_acts import (
    DAY_S,
    HOUR_S,
    fill,
    forbid_processes,
    limit_descriptors,
    make_read_only,
    step_clock,
    step_to_and_fro,
)
from workshop.benchmarks.camera_faults.observation import CameraFault
from workshop.benchmarks.camera_faults.report import (
    CAMERA_AWAY,
    DATABASE_AWAY,
    NOTHING_TO_TELL,
    RELAY_FAILS,
    SINK_FAILS,
    UNNOTICED,
    CameraPromise,
    Sign,
    counts,
    is_zero,
    says,
    shows,
)
from workshop.benchmarks.camera_faults.world import (
    CAMERA,
    DATABASE,
    EVENTS,
    PICTURES,
    POSTGRESQL,
    SPOOL,
    STORE,
    WATCH,
    Setting,
)

AWAY_S, HANGS_S = 8.0, 30.0
LISTED_S = 14.0
"""In this time a vehicle that is on the list comes to each camera."""
BLIND = CameraPromise(is_blind=True, may_not_open=True)
HANGING = CameraPromise(is_blind=True, may_not_open=True, recover_s=40.0)
"""A decoder without a sign of life is replaced after 30 s."""
STARTS = CameraPromise(is_blind=True, may_not_open=True, recover_s=20.0)
"""The command starts anew."""
SHUT = CameraPromise(may_not_open=True)
SERVICE_AWAY: tuple[Sign, ...] = (shows("plates_camera_service_up", is_zero),)

_DECODERS = [
    CameraFault("kill-decoder", "SIGKILL to the decoder", signal_decoders(signal.SIGKILL),
                0.0, CAMERA_AWAY, BLIND),
    CameraFault("stop-decoder", "SIGSTOP to the decoder for 8 s",
                signal_decoders(signal.SIGSTOP, is_resumed=True), AWAY_S, NOTHING_TO_TELL,
                BLIND),
    CameraFault("hang-decoder", "SIGSTOP to the decoder for good",
                signal_decoders(signal.SIGSTOP), 0.0, CAMERA_AWAY, HANGING),
]  # fmt: skip

_PROGRAMS: list[tuple[str, str, tuple[Sign, ...], CameraPromise]] = [
    ("cameras", "the RTSP server", CAMERA_AWAY, BLIND),
    ("service", "the recognition service", SERVICE_AWAY, BLIND),
    ("broker", "mosquitto", SINK_FAILS, UNNOTICED),
    ("webhook", "the webhook's receiver", SINK_FAILS, UNNOTICED),
]
_KILLED = [
    CameraFault(f"kill-{name}", f"{title} killed for 8 s", kill(name), AWAY_S, signs, promise)
    for name, title, signs, promise in _PROGRAMS
]
_RELAY_AWAY = [
    CameraFault("kill-relay", f"the gate's relay killed for {LISTED_S:.0f} s", kill("relay"),
                LISTED_S, RELAY_FAILS, SHUT),
    CameraFault("stop-relay", "the gate's relay stopped for 20 s", suspend("relay"), 20.0,
                RELAY_FAILS, SHUT),
]  # fmt: skip
_STOPPED = [
    CameraFault(f"stop-{name}", f"{title} stopped for 20 s", suspend(name), 20.0,
                (*signs, *NOTHING_TO_TELL), promise)
    for name, title, signs, promise in _PROGRAMS
]  # fmt: skip

_DATABASE = [
    CameraFault("kill-backend", "SIGKILL to a process of PostgreSQL", kill_backend, 2.0,
                NOTHING_TO_TELL),
    CameraFault("kill-postgresql", "PostgreSQL killed for 8 s", kill_postgresql, AWAY_S,
                DATABASE_AWAY),
    CameraFault("hang-postgresql", "PostgreSQL stopped for 30 s", suspend_postgresql, HANGS_S,
                DATABASE_AWAY),
    CameraFault("read-only-postgresql", "PostgreSQL takes no writes for 10 s", forbid_writes,
                10.0, DATABASE_AWAY),
    CameraFault("full-postgresql", "PostgreSQL's disk full for 10 s", fill_database_disk, 10.0,
                DATABASE_AWAY, setting=Setting(small_disks=(DATABASE,))),
    CameraFault("full-sqlite", "SQLite's disk full for 10 s", fill(STORE), 10.0,
                DATABASE_AWAY, setting=Setting(is_sqlite=True, small_disks=(STORE,))),
]  # fmt: skip

_DISKS = [
    CameraFault("full-spool", "the spool's disk full while PostgreSQL is away, 10 s",
                both(kill_postgresql, fill(SPOOL)), 10.0, DATABASE_AWAY,
                setting=Setting(small_disks=(SPOOL,))),
    CameraFault("read-only-spool", "the spool read-only while PostgreSQL is away, 10 s",
                both(kill_postgresql, make_read_only(SPOOL)), 10.0, DATABASE_AWAY,
                setting=Setting(small_disks=(SPOOL,))),
    CameraFault("full-pictures", "the pictures' disk full for 10 s", fill(PICTURES), 10.0,
                (says("pictures|space"), *DATABASE_AWAY), setting=Setting(small_disks=(PICTURES,))),
    CameraFault("read-only-pictures", "the pictures' disk read-only for 10 s",
                make_read_only(PICTURES), 10.0, (says("pictures|ead-only"), *DATABASE_AWAY),
                setting=Setting(small_disks=(PICTURES,))),
    CameraFault("full-events", "the disk of the sink's file full for 10 s", fill(EVENTS), 10.0,
                SINK_FAILS, setting=Setting(small_disks=(EVENTS,))),
    CameraFault("full-output", "the standard output's disk full all the time", nothing, 5.0,
                NOTHING_TO_TELL, setting=Setting(output="/dev/full")),
]  # fmt: skip

_LIMITS = [
    CameraFault("descriptors", "no file descriptors for 10 s", limit_descriptors(0), 10.0,
                (*DATABASE_AWAY, *SINK_FAILS, says("open files")), SHUT),
    CameraFault("descriptors-decoder", "no file descriptors for 10 s, and the decoder killed",
                both(limit_descriptors(0), signal_decoders(signal.SIGKILL)), 10.0,
                CAMERA_AWAY, BLIND),
    CameraFault("processes", "no more processes and threads for 10 s, and the decoder killed",
                both(forbid_processes, signal_decoders(signal.SIGKILL)), 10.0,
                CAMERA_AWAY, BLIND),
]  # fmt: skip

_OWN_CLOCK = Setting(clock_of=WATCH)
_STEPS = {
    "hour": ("an hour", HOUR_S),
    "day": ("a day", DAY_S),
    "40-days": ("40 days", 40 * DAY_S),
}
_CLOCKS = [
    *(
        CameraFault(f"clock-{way}-{name}", f"the wall clock {way} by {amount}",
                    step_clock(sign * seconds), 12.0, NOTHING_TO_TELL, setting=_OWN_CLOCK)
        for name, (amount, seconds) in _STEPS.items()
        for way, sign in (("ahead", 1), ("back", -1))
        if name != "day"
    ),
    CameraFault("clock-to-and-fro", "the wall clock four times ahead and back",
                step_to_and_fro, 2.0, NOTHING_TO_TELL, setting=_OWN_CLOCK),
    CameraFault("clock-webhook", "the wall clock ahead by 40 days while the webhook is away",
                both(kill("webhook"), step_clock(40 * DAY_S)), AWAY_S, SINK_FAILS,
                setting=_OWN_CLOCK),
    CameraFault("clock-webhook-back", "the same, and the clock right again with the webhook",
                both(kill("webhook"), step_clock(40 * DAY_S, is_undone=True)), AWAY_S, SINK_FAILS,
                setting=_OWN_CLOCK),
    CameraFault("clock-database", "the wall clock ahead by 40 days while PostgreSQL is away",
                both(kill_postgresql, step_clock(40 * DAY_S)), AWAY_S, DATABASE_AWAY,
                setting=_OWN_CLOCK),
    CameraFault("clock-restart", "the command starts again with a wall clock 40 days ahead",
                both(step_clock(40 * DAY_S), stop_watch), 1.0, NOTHING_TO_TELL,
                STARTS, _OWN_CLOCK),
    CameraFault("clock-of-postgresql", "PostgreSQL's wall clock back by an hour, and right again",
                step_clock(-HOUR_S, is_undone=True), 10.0, NOTHING_TO_TELL,
                setting=Setting(clock_of=POSTGRESQL)),
    CameraFault("clock-of-cameras", "the cameras' clocks ahead by two hours",
                step_clock(2 * HOUR_S), 12.0, NOTHING_TO_TELL,
                setting=Setting(clock_of=CAMERA)),
    CameraFault("clock-shared", "PostgreSQL's wall clock ahead by an hour, with two watchers",
                step_clock(HOUR_S), 12.0, NOTHING_TO_TELL, BLIND,
                Setting(clock_of=POSTGRESQL, watchers=2)),
]  # fmt: skip

_RELAYS = [
    CameraFault(f"relay-{manner}", f"the relay {title}, {LISTED_S:.0f} s", behave(manner, "relay"),
                LISTED_S, (*RELAY_FAILS, *more), SHUT)
    for manner, title, more in (
        ("slow", "answers after 3 s", NOTHING_TO_TELL),
        ("silent", "does not answer", ()),
        ("error", "answers 500", ()),
        ("dies", "takes the request and hangs up", ()),
        ("endless", "answers without an end", NOTHING_TO_TELL),
    )
]  # fmt: skip
_WEBHOOKS = [
    CameraFault(f"webhook-{manner}", f"the webhook {title}, 12 s",
                behave(manner, "webhook"), 12.0, (*SINK_FAILS, *more))
    for manner, title, more in (
        ("slow", "answers after 3 s", NOTHING_TO_TELL),
        ("silent", "does not answer", ()),
        ("error", "answers 500", ()),
        ("dies", "takes the request and hangs up", ()),
        ("endless", "answers without an end", NOTHING_TO_TELL),
        ("busy", "answers 429 with `Retry-After`", ()),
    )
] + [
    CameraFault("webhook-gone", "the webhook answers 410, until the file is touched",
                refuse_for_good, AWAY_S, (counts("plates_sink_disabled"), says("410|erp"))),
]  # fmt: skip

_WRONG_SINK = '[[sinks]]\nname = "wrong"\ntype = "webhook"\nurl = "http://10.0.0.1/"'
_FILES = [
    CameraFault("wrong-file", "a file of cameras with a wrong sink for 6 s",
                write_file(_WRONG_SINK), 6.0, (says("not reloaded"),)),
    CameraFault("broken-file", "a file of cameras that is no TOML for 6 s",
                write_file("[[["), 6.0, (says("not reloaded"),)),
    CameraFault("reloads", "the file of cameras changed five times in 8 s", write_often, 0.0,
                (says("reloaded"),)),
    CameraFault("no-file", "the file of cameras away for 6 s", remove_file, 6.0,
                (says("not reloaded"),)),
    CameraFault("list", "plates taken off the list while vehicles wait", empty_list, 12.0,
                NOTHING_TO_TELL, SHUT, Setting(open_s=4.0)),
]  # fmt: skip

_COMMAND = [
    CameraFault("kill-watch", "the command killed, and started again", kill_watch, 1.0,
                NOTHING_TO_TELL, STARTS),
    CameraFault("suspend-watch", "the command stopped for 8 s", suspend_watch, AWAY_S,
                NOTHING_TO_TELL, BLIND),
    CameraFault("end-watch", "SIGTERM, and started again", stop_watch, 1.0, NOTHING_TO_TELL,
                STARTS),
    CameraFault("end-hanging", "SIGTERM while PostgreSQL hangs",
                both(suspend_postgresql, stop_watch), 1.0, NOTHING_TO_TELL, STARTS),
    CameraFault("end-full", "SIGTERM while the disk of SQLite is full",
                both(fill(STORE), stop_watch), 0.0, NOTHING_TO_TELL, STARTS,
                Setting(is_sqlite=True, small_disks=(STORE,))),
    CameraFault("second-watch", "a second command with the same file", start_another, 1.0,
                NOTHING_TO_TELL),
    CameraFault("kill-sharing", "one of two watchers that share killed", kill_sharing, 0.0,
                NOTHING_TO_TELL, BLIND, Setting(watchers=2)),
    CameraFault("suspend-sharing", "one of two watchers that share stopped for 12 s",
                suspend_watch, 12.0, NOTHING_TO_TELL, BLIND, Setting(watchers=2)),
]  # fmt: skip

FAULTS: tuple[CameraFault, ...] = (
    *_DECODERS,
    *_KILLED,
    *_STOPPED,
    *_RELAY_AWAY,
    *_DATABASE,
    *_DISKS,
    *_LIMITS,
    *_CLOCKS,
    *_RELAYS,
    *_WEBHOOKS,
    *_FILES,
    *_COMMAND,
)
"""All faults, in the order of the table."""
