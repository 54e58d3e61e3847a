"""Sanitize one series point by point, with the standard library alone.

Every report is drawn by the plan below from random bytes of the operating system, and every
probability is realised exactly, as a whole number of 2^-53.

    sanitizer = Sanitizer()
    report = sanitizer.push(1)      # a state in; a report out, or None at a point that is silent
    saved = sanitizer.save()        # ready for JSON; Sanitizer.restore(saved) goes on from there

Make one sanitizer for each series, and keep it, or what it saves: a second one for the same
series publishes it a second time. Save after each report and before it leaves the device. What
is saved holds the last report and, for mechanisms that look back at the data ("correlated",
"tracking"), what they remember of the last point: keep it as secret as the data.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from bisect import bisect_right

PLAN: dict = {}

GRID_BITS, STREAM = 53, "chainveil-stream-2"
FIELDS = ("format", "noise", "source", "length", "missing", "position", "gaps", "memory")
# What random bytes are for, and REFINED more of them: only the sources of tests look at it.
BYTES, WIDE, CHAIN, START, KERNEL, TURN, REFINED = 0, 2, 6, 8, 9, 10, 1


def fresh(purpose, number, size):
    """Random bytes from the operating system: never kept, never used again."""
    return os.urandom(size)


class Sanitizer:
    """One series, sanitized as it arrives. One thread at a time goes in; others wait.

    missing : "error" or "keep"
        Whether a missing point (None) is an error, or leaves a gap that anyone can see.
    source : callable, for tests only
        ``source(purpose, number, size)``: random bytes, for noise that can be repeated.
    """

    def __init__(self, plan=PLAN, missing="error", source=fresh):
        self.plan = plan
        if missing not in ("error", "keep"):
            raise ValueError('missing: allowed are "error" and "keep"')
        if missing == "keep" and not self.plan["gaps"]:
            raise ValueError("missing: this plan covers no missing points; calibrate with --gaps")
        noise = self.plan["noise"]
        self.missing, self._lock = missing, allocate_lock()
        self.every = noise.get("every", 1)
        self._first_place = (self.every - 1) // 2
        self._work = WORK[noise["kind"]](noise["matrix"], source)
        self.states = self._work.states
        self._reached = (0, 0, None)

    @property
    def position(self):
        """Number of points pushed so far."""
        return self._reached[0]

    @property
    def next_report(self):
        """The index of the point at which the next report is made, counted from 0."""
        return self._first_place + self._reports_before(self._reached[0]) * self.every

    def state(self, value):
        """The state of a measured value, by the limits of the plan; None for none."""
        limits = self.plan["limits"]
        if not limits:
            raise ValueError("value: the plan has no limits between states; push states")
        return None if value is None or value != value else bisect_right(limits, value)

    def push(self, state):
        """The report of the next point, or None where there is none: silent, or missing.

        An error leaves the sanitizer where it was, and does not say what the point was.
        """
        with self._lock:
            position, gaps, memory = self._reached
            length, gap = self.plan["length"], state is None or state != state
            if length is not None and position >= length:
                raise ValueError(f"state: the plan covers {length} points; all are pushed")
            if gap and self.missing == "error":
                raise ValueError('state: a missing point; allowed with missing="keep"')
            if not gap and state not in range(self.states):
                raise ValueError(f"state: not one of the whole numbers 0 … {self.states - 1}")
            report, number = None, self._reports_before(position)
            if position % self.every == self._first_place:
                report, memory = self._work.draw(number, None if gap else int(state), memory)
            self._reached = (position + 1, gaps + gap, memory)
            return report

    def save(self):
        """What is needed to go on later, ready for JSON; chainveil's own streams read it too."""
        position, gaps, memory = self._reached
        values = (STREAM, self.plan["noise"], {"kind": "secure"}, self.plan["length"], self.missing)
        return dict(zip(FIELDS, (*values, position, gaps, self._work.to_json(memory))))

    @classmethod
    def restore(cls, saved, plan=PLAN, source=fresh):
        """Go on from what :meth:`save` returned, once: twice is two releases."""
        if not isinstance(saved, dict) or set(saved) != set(FIELDS) or saved["format"] != STREAM:
            raise ValueError("saved: allowed is what save() returned, unchanged")
        if saved["noise"] != plan["noise"] or saved["length"] != plan["length"]:
            raise ValueError("saved: of another plan; allowed is what this sanitizer saved")
        made = cls(plan, saved["missing"], source)
        position, gaps = saved["position"], saved["gaps"]
        if type(position) is not int or type(gaps) is not int or not 0 <= gaps <= position:
            raise ValueError("saved: position and gaps are no counts of points")
        reports, memory = made._reports_before(position), saved["memory"]
        made._reached = (position, gaps, made._work.from_json(memory, reports, gaps))
        return made

    def _reports_before(self, position):
        """How many points before this one report: the number of the next report."""
        return max(position - self._first_place + self.every - 1, 0) // self.every


class Draws:
    """Whole numbers from random bytes, by the plan's probabilities."""

    def __init__(self, rows, source):
        self.rows = [[int(entry * 2.0**GRID_BITS) for entry in row] for row in rows]
        if not self.rows or any(sum(row) != 1 << GRID_BITS for row in self.rows):
            raise ValueError("plan: not the probabilities that chainveil export writes")
        self._source = source

    def number(self, purpose, number, size, bits):
        """A random number of so many bits, from ``size`` bytes."""
        drawn = int.from_bytes(self._source(purpose, number, size), "little")
        return drawn >> (8 * size - bits)

    def happens(self, purpose, number, chance):
        """Whether something with this chance (in 2^-53) happens: one byte, rarely nine."""
        symbol = self.number(purpose, number, 1, 8)
        # A certain event takes all symbols but 0, and every tie.
        high = min(chance >> (GRID_BITS - 8), 255)
        if symbol:
            return int(symbol <= high)
        rest = GRID_BITS - 8
        return int(self.number(purpose + REFINED, number, 8, rest) < chance - (high << rest))

    def pick(self, number, row):
        """A report by its probabilities: 53 random bits reach so many of the running sums."""
        return reached(self.number(KERNEL, number, 8, GRID_BITS), row, 0)

    def to_json(self, memory):
        return memory

    def from_json(self, memory, reports, gaps):
        """What is remembered, read from ``save``: nothing, unless a mechanism says otherwise."""
        return remembered(memory, memory is None)


class Independent(Draws):
    """Each report looks at its own point alone."""

    def __init__(self, rows, source):
        super().__init__(rows, source)
        self.states, self._outputs = len(rows), len(rows[0])
        self._two = (self.states, self._outputs) == (2, 2)
        self._bits = 8 if max(self.states, self._outputs) <= 8 else 16
        unit, symbols = 1 << (GRID_BITS - self._bits), 1 << self._bits
        # The lowest symbols, as many for each state, are ties: further bits decide them.
        self._reserved = max(1, *(symbols - sum(e // unit for e in row) for row in self.rows))
        self._split = [split(row, unit, symbols - self._reserved) for row in self.rows]

    def draw(self, number, state, memory):
        if state is None:
            return None, None
        if self._two:
            return state ^ self.happens(BYTES, number, self.rows[state][1 - state]), None
        purpose, bits = (BYTES if self._bits == 8 else WIDE), GRID_BITS - self._bits
        symbol = self.number(purpose, number, self._bits // 8, self._bits)
        whole, rest = self._split[state]
        if symbol >= self._reserved:
            return reached(symbol, whole, self._reserved), None
        more = self.number(purpose + REFINED, number, 8, bits)
        return reached((symbol << bits) | more, rest, 0), None


class Correlated(Draws):
    """A chain of flips, which runs on beneath missing points; memory: the last flip."""

    states = 2

    def draw(self, number, state, memory):
        begin, stop = self.rows[0][1], self.rows[1][0]
        if number == 0:
            flip = int(self._below(begin + stop) < begin)
        else:
            flip = memory ^ self.happens(CHAIN, number, (begin, stop)[memory])
        return (None if state is None else state ^ flip), flip

    def _below(self, limit):
        """A uniform number below a limit: one that is too large is drawn again."""
        drawn, attempt = limit, 0
        while drawn >= limit:
            drawn = self.number(START, attempt, 8, max(1, (limit - 1).bit_length()))
            attempt += 1
        return drawn

    def to_json(self, memory):
        return memory or 0

    def from_json(self, memory, reports, gaps):
        return remembered(memory, type(memory) is int and memory in (0, 1))


class Sticky(Draws):
    """A report leans on the last one, which stands over missing points; memory: report, state."""

    looks_back = False

    def __init__(self, rows, source):
        super().__init__(rows, source)
        m = self._outputs = len(rows[0])
        sizes = [k + m * k + self.looks_back * m * k * k for k in range(len(rows) + 1)]
        self.states = sizes.index(len(rows))

    def draw(self, number, state, memory):
        if state is None:
            return None, None if memory is None else (memory[0], None)
        row = self.rows[self._row(state, memory)]
        if (self.states, self._outputs) == (2, 2):
            report = self.happens(TURN, number, row[1])
        else:
            report = self.pick(number, row)
        return report, (report, state if self.looks_back else None)

    def _row(self, state, memory):
        """First laws, one a state; for tracking those by the point before; those without it."""
        if memory is None:
            return state
        (last, before), k = memory, self.states
        if before is not None:
            return k + (last * k + before) * k + state
        return len(self.rows) - (self._outputs - last) * k + state

    def to_json(self, memory):
        if memory is None or not self.looks_back:
            return None if memory is None else memory[0]
        return [part for part in memory if part is not None]

    def from_json(self, memory, reports, gaps):
        if memory is None:
            return remembered(None, reports <= gaps)
        parts = memory if self.looks_back else [memory]
        sizes = (self._outputs, self.states)
        sound = reports and isinstance(parts, list) and 1 <= len(parts) <= 2
        sound = sound and all(type(p) is int and 0 <= p < n for p, n in zip(parts, sizes))
        return remembered((parts[0], parts[1] if parts[1:] else None) if sound else 0, sound)


class Tracking(Sticky):
    """A report leans on the last one and on the point before."""

    looks_back = True


MECHANISMS = (Independent, Correlated, Sticky, Tracking)
WORK = {mechanism.__name__.lower(): mechanism for mechanism in MECHANISMS}


def split(row, unit, symbols):
    """Whole symbols for each report, ``symbols`` in all, and what is left for ties."""
    whole = [entry // unit for entry in row]
    while sum(whole) > symbols:
        largest = whole.index(max(whole))
        whole[largest] -= min(sum(whole) - symbols, whole[largest])
    return whole, [entry - count * unit for entry, count in zip(row, whole)]


def reached(number, weights, start):
    """How many running sums of the weights, from ``start`` on, a number reaches."""
    report = 0
    for weight in weights[:-1]:
        start += weight
        report += number >= start
    return report


def remembered(memory, sound):
    """What is remembered, if it can be."""
    if not sound:
        raise ValueError("saved: not what this noise remembers; allowed is what save() returned")
    return memory
