"""What runs in one thread, by the clock that times it."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter
from typing import Any

from agnograd.extend import Backend, Lock, switch
from agnograd_timer._timeline import Timeline
from agnograd_timer._totals import Key

__all__ = ["Device", "Running"]

# How many marks may wait for a device: they take memory.
WAITING_MARKS = switch("WAITING_MARKS", 10_000, least=0, most=10**6, module=__name__)
_PASS: Key = ("passes", "backward pass", ())


class Device:
    """What a device's clock timed in one thread.

    Its marks are not numbers, and to compare them may wait for the device. So they are added up
    later: when someone asks, perhaps in another thread, or when there are many.
    """

    def __init__(self, clock: Backend, kept: int) -> None:
        self.timeline = Timeline(kept)
        self.clock = clock
        self._waiting: deque[tuple[Any, ...]] = deque()
        self._settling = Lock()
        self._last: tuple[Any, float] | None = None  # a mark, and its seconds since the first one

    def note(self, method: Any, *arguments: Any) -> None:
        """Let a method of the timeline be called later, its marks being the last arguments."""
        self._waiting.append((method, *arguments))
        if len(self._waiting) > WAITING_MARKS:
            self.settle()

    def settle(self) -> None:
        """Add up what waits for the device."""
        with self._settling:
            while self._waiting:
                method, *arguments = self._waiting.popleft()
                method(
                    *[each if type(each) is tuple else self._seconds(each) for each in arguments]
                )

    def reset(self) -> None:
        """Forget what ended."""
        self.settle()
        self.timeline.reset()

    def _seconds(self, mark: Any) -> float:
        """Return the seconds from the first mark to this one.

        The way goes by the last mark: clocks of devices lose digits over long times.
        """
        if self._last is None:
            self._last = mark, 0.0
        last, seconds = self._last
        if mark is not last:
            self._last = mark, seconds + self.clock.elapsed(last, mark)
        return self._last[1]


class Running:
    """What runs in one thread: on the host, and on devices."""

    def __init__(self, kept: int) -> None:
        self.thread = threading.get_ident()
        self.host = Timeline(kept)
        self.devices: dict[Backend, Device] = {}
        # The passes that run, the innermost last: what each is known by, and the device, if any.
        self._passes: list[tuple[object, Device | None]] = []
        self._kept = kept

    def on_device(self, clock: Backend, key: Key, start: Any, stop: Any) -> None:
        """Note what ended and was timed by a device's clock.

        The pass that it is the first rule of is timed by that clock, too.
        """
        if start is None:
            return  # a hook of another plugin failed before it
        device = self.devices.get(clock) or self.devices.setdefault(
            clock, Device(clock, self._kept)
        )
        timeline = device.timeline
        if self._passes and self._passes[-1][1] is None and self.host.inside == 0.0:
            self.host.forget_pass()
            self._passes[-1] = self._passes[-1][0], device
            device.note(timeline.begin_pass, start)
        device.note(timeline.add, key, start, stop)

    def begin_pass(self, outputs: object) -> None:
        """Note that a pass begins."""
        self._passes.append((outputs, None))
        self.host.begin_pass(perf_counter())

    def end_pass(self, outputs: object) -> None:
        """Note that a pass ended."""
        if not any(key is outputs for key, _ in self._passes):
            return  # a hook of another plugin failed before it began here
        ended = False
        while not ended:  # those inside it never ended: a hook of another plugin failed
            key, device = self._passes.pop()
            ended = key is outputs
            if device is None:
                self.host.end_pass(_PASS, perf_counter())
            else:
                device.note(device.timeline.end_pass, _PASS, device.clock.mark())

    def timelines(self) -> list[tuple[Backend | None, Timeline]]:
        """Return all timelines, with their clocks, after what waits has been added up."""
        found: list[tuple[Backend | None, Timeline]] = [(None, self.host)]
        for clock, device in list(self.devices.items()):
            device.settle()
            found.append((clock, device.timeline))
        return found

    def reset(self) -> None:
        """Forget what ended; what still runs counts when it ends."""
        self.host.reset()
        for device in list(self.devices.values()):
            device.reset()
