"""Writes the states of cameras for the control room, and reads the areas that were drawn there."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TypeVar

import cv2

from plate_cameras.background_tasks import Note, make_note
from plate_cameras.blurring import blur_still
from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.configuration import NONE, SURROUNDINGS, Configuration
from plate_cameras.frame_pixels import decode_frame
from plate_cameras.store.writing.live_tables import (
    CameraState,
    DrawnAreas,
    LiveTables,
    Still,
    draw_on,
)
from plate_cameras.unmet_conditions import describe_unmet
from plate_cameras.watching.camera_loop import AnsweredFrame, CameraLoop
from plate_cameras.watching.status import CameraStatus

LOG = logging.getLogger(__name__)
Part = TypeVar("Part")
Made = TypeVar("Made")
STEP_S = 0.5
STATES_S, STILLS_S, AREAS_S = 2.0, 10.0, 2.0
EFFECT = "the control room gets no states"
"""The consequence of a failure, for its message."""
MAX_WIDTH = 1280
QUALITY = 80
REDUCED = {2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4,
           8: cv2.IMREAD_REDUCED_COLOR_8}  # fmt: skip
"""Ways to decode a JPEG at a part of its size, which takes a part of the time."""


class LiveReporter:
    """Writes the states and stills of all cameras, and reads their drawn areas.

    While the database is away, nothing is queued: the newest state is written when it is back.

    Args:
        redraw: Is called when other areas were drawn, or other lists are there.
        blur: The choice of what is made unrecognisable in stills, see `blur_still`.
        note: Takes the outcome of each step; failures are logged without it.
        find_lists: Returns the names of all lists, to tell of sinks whose lists are missing.
    """

    def __init__(
        self,
        live: LiveTables,
        loops: Callable[[], Sequence[CameraLoop]],
        redraw: Callable[[], Awaitable[None]],
        *,
        blur: str = SURROUNDINGS,
        watcher: str | None = None,
        note: Note | None = None,
        find_lists: Callable[[], Collection[str]] | None = None,
    ) -> None:
        self._live, self._loops, self._redraw, self._blur = live, loops, redraw, blur
        self._watcher = watcher or f"{socket.gethostname()}:{os.getpid()}"
        self._areas: dict[str, DrawnAreas] = {}
        self._unmet: list[str] = []
        self._find_lists = find_lists
        self._lists: Collection[str] | None = None
        self._states: dict[str, tuple[str, str]] = {}
        self._states_s = self._areas_s = float("-inf")
        self._stills_s: dict[str, float] = {}
        self._note = note or make_note(EFFECT)
        self._failures: dict[str, Exception] = {}
        self._camera_notes: dict[str, Note] = {}
        self._is_redrawn = True

    async def load(self) -> None:
        """Read the areas before cameras start. Without a database there are none yet."""
        await self._attempt(self._look_at_areas)

    async def run(self) -> None:
        """Report until the task is cancelled."""
        while True:
            await asyncio.sleep(STEP_S)
            await self._attempt(self._report)
            if steady_s() - self._areas_s >= AREAS_S:
                self._areas_s = steady_s()
                if await self._attempt(self._look_at_areas):
                    self._is_redrawn = False
            if not self._is_redrawn:
                await self._redraw()
                self._is_redrawn = True

    def apply_areas(self, configuration: Configuration) -> Configuration:
        """Return a configuration with the drawn areas in the place of its own.

        Conditions that cannot be met now are logged once.
        """
        cameras = draw_on(configuration.cameras, self._areas)
        configuration = replace(configuration, cameras=cameras)
        former, self._unmet = self._unmet, describe_unmet(configuration, self._lists)
        for sentence in self._unmet:
            if sentence not in former:
                LOG.warning("%s", sentence)
        return configuration

    async def _attempt(self, step: Callable[[], Awaitable[bool]]) -> bool:
        """Run a step. A failure, such as a database that is away, is logged once for all steps."""
        name = step.__name__
        try:
            result = await step()
        except Exception as error:
            self._failures[name] = error
            result = False
        else:
            self._failures.pop(name, None)
        self._note(next(iter(self._failures.values()), None))
        return result

    async def _report(self) -> bool:
        """Write states and stills that are due: states every `STATES_S`, and after each change."""
        frames = [frame for loop in self._loops() if (frame := self._tap(loop)) is not None]
        loops = {loop.camera.name: loop for loop in self._loops()}
        statuses = self._make_each("state", loops, CameraStatus.of)
        states = {status.name: (status.state, status.error) for status in statuses}
        is_due = steady_s() - self._states_s >= STATES_S or states != self._states
        if is_due or frames:
            erased_cameras = await asyncio.to_thread(
                self._write, statuses if is_due else [], frames
            )
            self._forget_texts(erased_cameras)
        if is_due:
            self._states, self._states_s = states, steady_s()
        return is_due

    def _tap(self, loop: CameraLoop) -> AnsweredFrame | None:
        """Return a frame for a still, if one is there; ask for the next one when it is due."""
        name, now_s = loop.camera.name, steady_s()
        if answered_frame := loop.tap.take():
            self._stills_s[name] = now_s
        elif now_s - self._stills_s.get(name, float("-inf")) >= STILLS_S:
            loop.tap.is_wanted = True
        return answered_frame

    def _forget_texts(self, cameras: Sequence[str]) -> None:
        """Forget the last texts of cameras, because these plates were deleted."""
        for loop in self._loops():
            if loop.camera.name in cameras:
                loop.counts.last_text = ""

    def _write(
        self, statuses: Sequence[CameraStatus], frames: Sequence[AnsweredFrame]
    ) -> list[str]:
        """Write states and stills. Return the cameras whose last text was deleted."""
        now_s = unix_s()
        erased_cameras = self._live.write_states(
            [CameraState(status.name, self._watcher, now_s, asdict(status)) for status in statuses]
        )
        by_camera = {frame.frame.camera: frame for frame in frames}
        jpegs = self._make_each(
            "still", by_camera, lambda frame: (frame.frame.camera, to_still(frame, self._blur))
        )
        self._live.write_stills([Still(name, now_s, jpeg) for name, jpeg in jpegs if jpeg])
        return erased_cameras

    def _make_each(
        self, kind: str, parts: Mapping[str, Part], make: Callable[[Part], Made]
    ) -> list[Made]:
        """Return what is made of the part of each camera. One that fails is left out, and told."""
        made_parts = []
        for name, part in parts.items():
            effect = f"{name}: its {kind} cannot be shown"
            note = self._camera_notes.setdefault(effect, make_note(effect))
            try:
                made_parts.append(make(part))
            except Exception as error:  # whatever it is, the other cameras are shown
                note(error)
            else:
                note(None)
        return made_parts

    async def _look_at_areas(self) -> bool:
        """Read the areas and the names of lists. Return whether one has changed."""
        lists = await asyncio.to_thread(self._find_lists) if self._find_lists else None
        versions = {name: (areas.revision, areas.changed_s) for name, areas in self._areas.items()}
        have_changed = await asyncio.to_thread(self._live.area_versions) != versions
        are_other_lists, self._lists = lists != self._lists, lists
        if not have_changed:
            return are_other_lists
        self._areas = await asyncio.to_thread(self._live.areas)
        for name, areas in self._areas.items():
            if areas.problem:
                LOG.error("%s: %s", name, areas.problem)
        return True


def to_still(answered_frame: AnsweredFrame, blur: str) -> bytes:
    """Return a frame as a JPEG file of at most `MAX_WIDTH` pixels; empty if it is damaged.

    Args:
        answered_frame: The frame, with the plates to hide in it.
        blur: The choice of what is made unrecognisable in it, see `blur_still`.
    """
    frame = answered_frame.frame
    width = frame.size_wh[0]
    if blur == NONE and width <= MAX_WIDTH:
        return frame.jpeg
    factor = next((factor for factor in REDUCED if width <= factor * MAX_WIDTH), 8)
    flag = cv2.IMREAD_COLOR if width <= MAX_WIDTH else REDUCED[factor]
    picture = decode_frame(frame.jpeg, flag)
    if picture is None:
        return b""
    scale = picture.shape[1] / width
    boxes = [
        (x0 * scale, y0 * scale, x1 * scale, y1 * scale) for x0, y0, x1, y1 in answered_frame.plates
    ]
    still = blur_still(picture, boxes, blur)
    _, jpeg = cv2.imencode(".jpg", still, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return jpeg.tobytes()
