"""The library's random bytes, handed to a program of a device by their addresses."""

from __future__ import annotations

from chainveil.mechanism.randomness import Keystream, Plane, Seeded

WINDOW = 1 << 16
# Planes whose numbers are counted in blocks of 16 bytes, of which the first 8 are used.
BLOCKS = {Plane.BYTES_REFINED, Plane.WIDE_REFINED, Plane.CHAIN_REFINED, Plane.START,
          Plane.TURN_REFINED}  # fmt: skip


class Fed:
    """A source for ``Sanitizer``: what ``seeded(seed)`` gives series 0 of the library."""

    def __init__(self, seed: int) -> None:
        self._stream: Keystream = Seeded(seed).open()
        self._at: tuple[int, int] | None = None
        self._window = b""

    def __call__(self, purpose: int, number: int, size: int) -> bytes:
        if purpose in BLOCKS:
            return self._stream.word(Plane(purpose), 0, number).to_bytes(8, "little")[:size]
        place, inside = divmod(number * size, WINDOW)
        if self._at != (purpose, place):
            run = self._stream.run(Plane(purpose), 0, place * WINDOW, WINDOW)
            self._window, self._at = run[:WINDOW].tobytes(), (purpose, place)
        return self._window[inside : inside + size]
