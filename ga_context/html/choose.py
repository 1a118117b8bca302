"""Choose the units that stay: the most value within the budget."""

from __future__ import annotations

from copy import copy

from ga_context.html.tree import Node, frame_of
from ga_context.html.units import Unit

NOTE_CHARS = 16
"""What a note takes in the place of what is gone, on average."""


class Choice:
    """Take units by value for their characters, the best first, as long as they fit.

    What is taken is worth at least the best set at the same charges less the first unit that does not fit: the greedy
    bound of the fractional knapsack. A unit has `UNIT_CHARS` at most, so at 35,000 characters that is about 2 %.
    Charges are what a unit takes itself, the elements around it that are not open yet, what it needs, and the notes
    that it parts or joins. Values close to each other count as equal, and then the page's order holds, so that what
    stays hangs together.
    """

    def __init__(self, kept: list[Node], units: list[Unit], room: int) -> None:
        self.taken = bytearray(len(units) + 2)
        """Of each unit, one place further: both ends count as taken, so that no edge needs a test."""
        self.taken[0] = self.taken[-1] = 1
        self._frames: set[Node] = set()  # elements around what is taken
        self._kept = kept
        self._units = units
        self._order = sorted(range(len(units)), key=self._rank)
        self._room = room - NOTE_CHARS
        self._fill()

    def refilled(self, room: int) -> Choice:
        """Return this choice with what fits beside it into so many characters."""
        other = copy(self)
        other.taken = self.taken[:]
        other._frames = set(self._frames)
        other._room = room
        other._fill()
        return other

    def _rank(self, number: int) -> float:
        """Return a key: the more a character is worth, the less; of the same, the order stays that of the page."""
        unit = self._units[number]
        return -round(unit.value / unit.cost, 1)

    def _fill(self) -> None:
        for number in self._order:
            if not self.taken[number + 1] and self._units[number].cost <= self._room + NOTE_CHARS:
                self._try(number)

    def _try(self, number: int) -> None:
        taken = self.taken
        wanted = [number, *[need for need in self._units[number].needs if not taken[need + 1]]]
        cost = 0
        frames: set[Node] = set()
        for one in wanted:
            unit = self._units[one]
            cost += unit.cost + NOTE_CHARS * (1 - taken[one] - taken[one + 2])
            frame = frame_of(self._kept[unit.start])
            while frame is not None and frame not in self._frames and frame not in frames:
                frames.add(frame)
                cost += len(frame.head) + len(frame.tail) + 1
                frame = frame.frame
                if cost > self._room + NOTE_CHARS:
                    return
        if cost <= self._room:
            self._room -= cost
            self._frames.update(frames)
            for one in wanted:
                taken[one + 1] = 1
