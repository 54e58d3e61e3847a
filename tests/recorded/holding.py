"""The files of the record, and the conditions that an answer has to meet.

An answer may be better than what was recorded; ``LOOSER``, ``LOWER``, ``WRONG``, ``ERROR`` and
``SMOOTHED`` say by how much it may be worse.

The field ``true`` of an entry holds the least and the greatest value that the loss can have, where
they are known from elsewhere: from enumeration of the definition, from the loss at a given length,
from another tolerance, or from a later version. An entry with the field ``defect`` was recorded
with bounds that contradict ``true``; answers are then compared with ``true`` alone.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.recorded.laws import log_ratio, smoothed_error

Words = Mapping[str, Any]
FOLDER = Path(__file__).parent
LOOSER = 0.005  # relative; by how much an upper bound may rise
TINY = 1e-9  # nats; losses are compared up to so much
LOWER = 0.003  # relative; by how much the attack of an answer may attain less
WRONG = 0.003  # by how much wrong reports of a plan may rise, and distances for each state but one
ERROR = 0.02  # relative; by how much the standard error of a share may rise where it is minimised
SMOOTHED = 0.005  # the same for the error after smoothing, which is simulated
ROUNDING = 1e-10  # relative; rounding of log likelihood ratios
ROUNDING_OF_POINT = 1e-14  # relative; the same for each point of the series
# Beginnings of kinds whose defects remain. Entries of other kinds with a defect have to be right.
REMAINING = ("docs", "finite", "orders", "tolerance")


def read(name: str) -> dict[str, Any]:
    """A file of the record; the string "inf" stands for an infinite number."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = _numbers(json.loads(text))
    return content


def write(name: str, about: str, entries: Sequence[Words], **more: Any) -> None:
    """Write a file of the record, one entry a line."""
    head = {"about": about, **more}
    lines = [json.dumps(_words(one), allow_nan=False) for one in entries]
    beginning = json.dumps(_words(head), indent=1, allow_nan=False)[:-2]
    text = f'{beginning},\n "entries": [\n' + ",\n".join(lines) + "\n]}\n"
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


def _numbers(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _numbers(one) for key, one in part.items()}
    if isinstance(part, list):
        return [_numbers(one) for one in part]
    return math.inf if part == "inf" else part


def _words(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {key: _words(one) for key, one in part.items()}
    if isinstance(part, (list, tuple)):
        return [_words(one) for one in part]
    return "inf" if part == math.inf else part


def loss_question(entry: Words, plans: Mapping[str, Words]) -> dict[str, Any]:
    """The question of an entry; that of some is the loss of a recorded plan."""
    if "plan" not in entry:
        return dict(entry)
    plan = plans[entry["plan"]]
    names = ("model", "length", "adversary", "event", "gaps")
    asked = {name: plan[name] for name in names if name in plan}
    releases = [*plan.get("earlier", ()), plan["noise"]]
    return asked | {"releases": releases} | {
        name: entry[name] for name in ("tolerance",) if name in entry
    }  # fmt: skip


def chosen(entries: Sequence[Words], seconds: float, longest: float = 0.25) -> list[Words]:
    """Entries of every kind that take so many seconds together, by the recorded times.

    First the quickest one of each kind, if it takes less than a second, then one of each kind in
    turn, in the order of the file, of at most ``longest`` seconds. Entries without an answer are
    left out.
    """
    kinds: dict[str, list[Words]] = defaultdict(list)
    for entry in entries:
        if not entry.get("late"):
            kinds[entry["kind"]].append(entry)
    quickest = [min(own, key=lambda entry: entry["seconds"]) for own in kinds.values()]
    found = [entry for entry in quickest if entry["seconds"] < 1]
    left = seconds - sum(entry["seconds"] for entry in found)
    queues = [
        [entry for entry in own if entry["seconds"] <= longest and entry is not first]
        for own, first in zip(kinds.values(), quickest, strict=True)
    ]
    while left > 0 and any(queues):
        for queue in queues:
            if queue and queue[0]["seconds"] <= left:
                left -= queue[0]["seconds"]
                found.append(queue.pop(0))
            elif queue:
                queue.pop(0)
    return found


def loss_complaints(entry: Words, question: Words, found: Words) -> list[str]:
    """The conditions that a loss does not meet, in words."""
    upper, lower = found["upper"], found["lower"]
    least, most = entry["true"] if "true" in entry else (entry["lower"], entry["upper"])
    most = math.inf if most is None else most
    # Bounds have to be as close as a tolerance asks, and no closer.
    apart = entry.get("tolerance", 0.0)
    looser = LOOSER * most + TINY + (apart if "true" in entry else 0.0)
    complaints = []
    if upper < lower:
        complaints.append(f"the upper bound {upper!r} is below the lower one, {lower!r}")
    if upper < least - rounding(least):
        complaints.append(f"the upper bound {upper!r} is below an attainable loss, {least!r}")
    if math.isfinite(most) and upper > most + looser:
        complaints.append(f"the upper bound {upper!r} is too far above {most!r}")
    if lower > most + rounding(most) + TINY:
        complaints.append(f"the lower bound {lower!r} is above the greatest loss, {most!r}")
    remains = "defect" in entry and entry["kind"].startswith(REMAINING)
    if not remains and lower < least * (1 - LOWER) - apart - TINY:
        complaints.append(f"the lower bound {lower!r} is too far below {least!r}")
    return complaints + _attack_complaints(question, found)


def answer_questions(content: Words, entry: Words) -> list[tuple[str, dict[str, Any], str]]:
    """The combinations of a row of ``answers.json``: name, question, and how it was answered."""
    asked = {"model": content["models"][entry["model"]]} | entry["asked"]
    cells = content["cells"][str(entry.get("apart", 0))]
    return [
        (f"{entry['name']}: {name}", asked | cell, mark)
        for (name, cell), mark in zip(cells, entry["answers"], strict=True)
    ]


def is_known_defect(entry: Words, found: Words) -> bool:
    """Whether an upper bound is wrong as it was when it was recorded, and may be so."""
    if "defect" not in entry or not entry["kind"].startswith(REMAINING):
        return False
    then, now = entry["upper"], found["upper"]
    return bool(then == now or abs(then - now) <= 1e-6 * max(1.0, abs(then)))


def plan_complaints(entry: Words, found: Words) -> list[str]:
    """The conditions that a plan does not meet, in words."""
    complaints = []
    if found["upper"] > entry["epsilon"]:
        complaints.append(f"its loss {found['upper']!r} is above epsilon, {entry['epsilon']!r}")
    objective = entry.get("objective", "wrong reports")
    allowed = {
        "wrong reports": ("wrong", entry["wrong"] + WRONG),
        "share": ("share_error", (entry["share_error"] or math.inf) * (1 + ERROR)),
        "distance": ("distance", entry["distance"] + WRONG * (_states(entry) - 1)),
        "smoothed": ("smoothed", entry.get("smoothed", math.inf) + SMOOTHED),
    }
    name, most = allowed[objective]
    cost = smoothed(entry, found["noise"]) if name == "smoothed" else found[name]
    if cost is None or cost > most:
        complaints.append(f"{name}: {cost!r} is above {most!r}")
    question = {"model": entry["model"], "releases": [*entry.get("earlier", ()), found["noise"]]}
    asked = {name: entry[name] for name in ("length", "adversary") if name in entry}
    complaints += _attack_complaints(question | asked, found)
    return complaints + _old_attack_complaints(entry, question, found)


def smoothed(entry: Words, noise: Words) -> float:
    """Share of points that are wrong after smoothing, by simulation."""
    return smoothed_error(entry["model"], noise)


def _states(entry: Words) -> int:
    model = entry["model"]
    while "members" in model:
        model = model["members"][0]
    return 2 if "q" in model else len(model["transition"][0])


def rounding(number: float, points: int = 0) -> float:
    """Bound of the rounding of a log likelihood ratio, of an attack on so many points."""
    if not math.isfinite(number):
        return 0.0
    return (ROUNDING + ROUNDING_OF_POINT * points) * max(1.0, abs(number))


def _attack_complaints(question: Words, found: Words) -> list[str]:
    """Whether the attack of an answer fits the question and attains the lower bound."""
    attack = found.get("attack")
    if attack is None:
        return []
    model, complaints = found.get("on", question["model"]), []
    if "on" in found and not _holds(question["model"], model):
        complaints.append("the attack is on a chain that is not in the model")
    length, who = question.get("length"), question.get("adversary", "any")
    if length is not None and attack["length"] > length:
        complaints.append(f"the attack has {attack['length']} points, more than {length}")
    places = [place for place, _ in attack["known"]]
    if who == "ignorant" and places:
        complaints.append("an ignorant adversary knows points")
    if isinstance(who, Mapping) and (
        attack["target"] != who["target"] or not set(places) <= set(who["known"])
    ):
        complaints.append("the adversary is not the one of the question")
    try:
        attained = log_ratio(model, question["releases"], attack)
    except ValueError:
        # Reports or values that cannot occur are no attack.
        attained = 0.0
    if attained < found["lower"] - rounding(found["lower"], attack["length"]):
        complaints.append(f"the attack attains {attained!r}, less than {found['lower']!r}")
    return complaints


def _holds(model: Words, chain: Words) -> bool:
    """Whether a chain lies in a model: in a box, or in a family."""
    if "members" in model:
        return any(_holds(member, chain) for member in model["members"])
    if "q" not in model:
        return _near(model["transition"], chain["transition"])
    (_, q), (r, _) = chain["transition"]
    return all(
        low * (1 - 1e-9) <= number <= high * (1 + 1e-9)
        for number, (low, high) in ((q, model["q"]), (r, model["r"]))
    )


def _near(one: Any, other: Any) -> bool:
    flat = list(_flat(one)), list(_flat(other))
    return len(flat[0]) == len(flat[1]) and all(
        math.isclose(a, b, rel_tol=1e-9) for a, b in zip(*flat, strict=True)
    )


def _flat(part: Any) -> Iterable[float]:
    if not isinstance(part, list):
        return [part]
    return [number for one in part for number in _flat(one)]


def _old_attack_complaints(entry: Words, question: Words, found: Words) -> list[str]:
    """The recorded attack on the noise of this plan, weighed without the package."""
    attack, noise, before = entry.get("attack"), found["noise"], entry["noise"]
    if attack is None or noise["mechanism"] != before["mechanism"]:
        return []
    if noise.get("every", 1) != before.get("every", 1):
        return []
    try:
        attained = log_ratio(entry.get("on", entry["model"]), question["releases"], attack)
    except ValueError:
        # With this noise the reports cannot occur.
        return []
    if attained > found["upper"] + rounding(attained, attack["length"]):
        return [f"an attack attains {attained!r}, above the upper bound {found['upper']!r}"]
    return []
