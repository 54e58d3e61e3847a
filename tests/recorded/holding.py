"""What the record asks of an answer, and which entries are asked in a short time.

An answer may be better than what was recorded; ``LOOSER``, ``WRONG``, ``ERROR`` and ``SMOOTHED``
say by how much it may be worse. ``true``, where it is there, are the least and the largest value
that the loss can have, as far as they are known otherwise: by enumeration of the definition, by a
longer series, by another tolerance. An entry with a ``defect`` holds numbers of the day that do
not agree with it: an answer that does is right, and one that is what it was is a known defect.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.recorded.laws import log_odds, smoothed_error

Words = Mapping[str, Any]
FOLDER = Path(__file__).parent
# By how much an upper bound may rise, as a share of it and beyond that.
LOOSER, TINY = 0.005, 1e-9
# By how much more of the reports of a plan may be wrong; of distances, for each step of the scale.
WRONG = 0.003
# By how much the error of a share may rise, as a share of it, where it is what a plan minimises.
ERROR = 0.02
# The same for points that are wrong after smoothing, which are simulated.
SMOOTHED = 0.005
# What rounding takes: beyond a millionth of a millionth of a number, and for each point.
ROUNDING, A_POINT = 1e-10, 1e-14


def read(name: str) -> dict[str, Any]:
    """The file of the record of that name, with infinite numbers in place of words for them."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = _numbers(json.loads(text))
    return content


def write(name: str, about: str, entries: Sequence[Words], **more: Any) -> None:
    """A file of the record, an entry a line."""
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
    """The question of an entry; some are about the noise of a plan, together with earlier ones."""
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
    """Entries of every kind that take so many seconds together, by the times that were recorded.

    The quickest of each kind is one of them; then kinds take turns, each with the next one of its
    own that is not too long, as long as time is left. Those that have no answer are left out.
    """
    kinds: dict[str, list[Words]] = defaultdict(list)
    for entry in entries:
        if not entry.get("late"):
            kinds[entry["kind"]].append(entry)
    found = [min(own, key=lambda entry: entry["seconds"]) for own in kinds.values()]
    left = seconds - sum(entry["seconds"] for entry in found)
    queues = [
        [entry for entry in own if entry["seconds"] <= longest and entry is not first]
        for own, first in zip(kinds.values(), found, strict=True)
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
    """What is wrong with a loss, in words; nothing where all is well."""
    upper, lower = found["upper"], found["lower"]
    least, most = entry.get("true", (entry["lower"], entry["upper"]))
    # Bounds are asked to be as close as this, and no closer.
    apart = entry.get("tolerance", 0.0) if "true" in entry else 0.0
    complaints = []
    if upper < lower:
        complaints.append(f"the bound {upper!r} is below the attack, {lower!r}")
    if upper < least - _rounding(least):
        complaints.append(f"the bound {upper!r} is below what can be attained, {least!r}")
    if most is not None and upper > most * (1 + LOOSER) + apart + TINY:
        complaints.append(f"the bound {upper!r} is far above {most!r}")
    if most is not None and lower > most + _rounding(most) + TINY:
        complaints.append(f"an attack is said to attain {lower!r}, which is above {most!r}")
    return complaints + _attack_complaints(question, found)


def answer_questions(content: Words, entry: Words) -> list[tuple[str, dict[str, Any], str]]:
    """The combinations of a row of ``answers.json``: name, question, and what was said."""
    asked = {"model": content["models"][entry["model"]]} | entry["asked"]
    cells = content["cells"][str(entry.get("apart", 0))]
    return [
        (f"{entry['name']}: {name}", asked | cell, mark)
        for (name, cell), mark in zip(cells, entry["answers"], strict=True)
    ]


def is_known_defect(entry: Words, found: Words) -> bool:
    """Whether a loss is what it was, wrong as recorded."""
    if "defect" not in entry or "upper" not in entry:
        return False
    then, now = entry["upper"], found["upper"]
    return bool(then == now or abs(then - now) <= 1e-6 * max(1.0, abs(then)))


def plan_complaints(entry: Words, found: Words) -> list[str]:
    """What is wrong with a plan, in words; nothing where all is well."""
    complaints = []
    if found["upper"] > entry["epsilon"]:
        complaints.append(f"the loss {found['upper']!r} is above the budget, {entry['epsilon']!r}")
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
        complaints.append(f"{name}: {cost!r}, which is above {most!r}")
    question = {"model": entry["model"], "releases": [*entry.get("earlier", ()), found["noise"]]}
    asked = {name: entry[name] for name in ("length", "adversary") if name in entry}
    complaints += _attack_complaints(question | asked, found)
    return complaints + _old_attack_complaints(entry, question, found)


def smoothed(entry: Words, noise: Words) -> float:
    """Points that are wrong after smoothing, by simulation."""
    return smoothed_error(entry["model"], noise)


def _states(entry: Words) -> int:
    model = entry["model"]
    while "members" in model:
        model = model["members"][0]
    return 2 if "q" in model else len(model["transition"][0])


def _rounding(number: float, points: int = 0) -> float:
    return (ROUNDING + A_POINT * points) * max(1.0, abs(number)) if math.isfinite(number) else 0.0


def _attack_complaints(question: Words, found: Words) -> list[str]:
    """Whether the attack of an answer is one that was asked about, and attains the lower bound."""
    attack = found.get("attack")
    if attack is None:
        return []
    model, complaints = found.get("on", question["model"]), []
    if "on" in found and not _holds(question["model"], model):
        complaints.append("the attack is on a model that was not asked about")
    length, who = question.get("length"), question.get("adversary", "any")
    if length is not None and attack["length"] > length:
        complaints.append(f"the attack has {attack['length']} points, which is above {length}")
    places = [place for place, _ in attack["known"]]
    if who == "ignorant" and places:
        complaints.append("the attacker knows points and should not")
    if isinstance(who, Mapping) and (
        attack["target"] != who["target"] or not set(places) <= set(who["known"])
    ):
        complaints.append("the attacker is another one than was asked about")
    try:
        worth = log_odds(model, question["releases"], attack)
    except ValueError:
        # It is no attack: reports or values that cannot be.
        worth = 0.0
    allowed = _rounding(found["lower"], attack["length"])
    if not math.isfinite(found["lower"]):
        allowed = 0.0
    if worth < found["lower"] - allowed:
        complaints.append(f"the attack attains {worth!r} and not {found['lower']!r}")
    return complaints


def _holds(model: Words, chain: Words) -> bool:
    """Whether a chain is one that a box or a family stands for."""
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
    """The attack on the recorded noise, on this one: a net that needs no engine."""
    attack, noise, before = entry.get("attack"), found["noise"], entry["noise"]
    if attack is None or noise["mechanism"] != before["mechanism"]:
        return []
    if noise.get("every", 1) != before.get("every", 1):
        return []
    try:
        worth = log_odds(entry.get("on", entry["model"]), question["releases"], attack)
    except ValueError:
        # With this noise the reports cannot be.
        return []
    if worth > found["upper"] + _rounding(worth, attack["length"]):
        return [f"an attack attains {worth!r}, which is above the bound {found['upper']!r}"]
    return []
