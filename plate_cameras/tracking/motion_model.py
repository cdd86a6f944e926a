"""Motion of a plate in the picture: a Kalman filter of constant velocity on place and size.

Source: R. Kalman, "A New Approach to Linear Filtering and Prediction Problems", 1960.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log

from plate_cameras.tracking.looks import Look

PLACE_NOISE = 0.08
"""Standard deviation of a box's place, in plate widths."""
FIRST_SPEED = 7.0
"""Standard deviation of the speed of a plate that was seen once, in plate widths a second. A car of
54 km/h makes 29 plate widths a second, of which a camera beside its lane sees a third."""
ACCELERATION = 3.0
"""Standard deviation of the acceleration in plate widths a second squared: perspective more than
brakes."""
SIZE_NOISE, FIRST_GROWTH, GROWTH_CHANGE = 0.07, 0.7, 0.8
"""Noise, speed and acceleration of the logarithm of the size, likewise."""


@dataclass(frozen=True)
class Axis:
    """One coordinate with its rate, and their covariance."""

    value: float
    variance: float
    rate: float = 0.0
    covariance: float = 0.0
    rate_variance: float = 0.0

    def predict(self, after_s: float, acceleration: float) -> Axis:
        """Return the coordinate after a time."""
        power = acceleration**2
        return Axis(
            self.value + self.rate * after_s,
            self.variance
            + 2 * after_s * self.covariance
            + after_s**2 * self.rate_variance
            + power * after_s**4 / 4,
            self.rate,
            self.covariance + after_s * self.rate_variance + power * after_s**3 / 2,
            self.rate_variance + power * after_s**2,
        )

    def correct(self, measurement: float, noise: float) -> Axis:
        """Return the coordinate after it was measured."""
        total = self.variance + noise**2
        gain, rate_gain = self.variance / total, self.covariance / total
        miss = measurement - self.value
        return Axis(
            self.value + gain * miss,
            (1 - gain) * self.variance,
            self.rate + rate_gain * miss,
            (1 - gain) * self.covariance,
            self.rate_variance - rate_gain * self.covariance,
        )


@dataclass(frozen=True)
class Motion:
    """Place and size of a plate at a time.

    Attributes:
        x, y: Place in frame widths.
        log_size: Logarithm of the plate's width in frame widths.
    """

    time_s: float
    x: Axis
    y: Axis
    log_size: Axis

    @classmethod
    def start(cls, look: Look) -> Motion:
        """Return the motion of a plate that was seen once."""
        noise, rate = (PLACE_NOISE * look.size) ** 2, (FIRST_SPEED * look.size) ** 2
        return cls(
            look.observation.time_s,
            Axis(look.place[0], noise, rate_variance=rate),
            Axis(look.place[1], noise, rate_variance=rate),
            Axis(look.log_size, SIZE_NOISE**2, rate_variance=FIRST_GROWTH**2),
        )

    @property
    def size(self) -> float:
        return exp(min(0.0, max(-9.0, self.log_size.value)))

    def predict(self, time_s: float, max_s: float) -> Motion:
        """Return the motion at a time; it stops after `max_s`, since nothing is known then."""
        after_s = min(max(0.0, time_s - self.time_s), max_s)
        force = ACCELERATION * self.size
        return Motion(
            time_s,
            self.x.predict(after_s, force),
            self.y.predict(after_s, force),
            self.log_size.predict(after_s, GROWTH_CHANGE),
        )

    def correct(self, look: Look) -> Motion:
        """Return the predicted motion after a look."""
        noise = PLACE_NOISE * look.size
        return replace(
            self,
            x=self.x.correct(look.place[0], noise),
            y=self.y.correct(look.place[1], noise),
            log_size=self.log_size.correct(look.log_size, SIZE_NOISE),
        )

    def misfit(self, look: Look) -> tuple[float, float]:
        """Return how far a look is from this prediction.

        Returns:
            The squared distance in standard deviations, and the logarithm of the prediction's area
            in squared plate widths, which tells how vague it is.
        """
        noise = (PLACE_NOISE * look.size) ** 2
        spread = self.x.variance + noise, self.y.variance + noise
        size_spread = self.log_size.variance + SIZE_NOISE**2
        squared_distance = (
            (look.place[0] - self.x.value) ** 2 / spread[0]
            + (look.place[1] - self.y.value) ** 2 / spread[1]
            + (look.log_size - self.log_size.value) ** 2 / size_spread
        )
        return squared_distance, 0.5 * log(spread[0] * spread[1] / max(look.size, 1e-6) ** 4)
