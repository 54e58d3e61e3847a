"""Record losses, plans and the table of answers, or compare the package with them.

``python -m tests.recorded.losses`` records ``losses.json``, ``plans.json`` and ``answers.json``
anew; an interrupted run continues from files that end in ``.part``. ``--check`` compares instead:
it prints every entry that is not held, the numbers of entries by kind, and the processor time. Both
take minutes; ``--only losses``, ``plans`` or ``answers`` selects a file.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.recorded import adapter, holding, inputs
from tests.recorded.worker import Answer, Worker

Words = Mapping[str, Any]
LONGEST = 25.0  # seconds of processor time for a loss or a plan; what takes longer is left out
CELL = 10.0  # seconds of processor time for an entry of the table of answers
LATE = 5.0  # seconds for a loss that had no answer when it was recorded
# Kinds of which losses without an answer are recorded: their answers take milliseconds or forever.
ENDLESS = ("periodic", "families")
# Lengths whose losses are lower bounds of the loss for every length.
LENGTHS = (2, 3, 5, 10, 30, 100, 300, 509, 1000, 3000)
# Tolerances for the noise of plans whose loss is found by a search.
TOLERANCE = {"orders": 0.01, "orders: four": 0.05}
# Other tolerances that may give closer bounds.
TOLERANCES = (0.1, 0.01, 0.001, 1e-6)
MOST_ENUMERATED = 200_000  # series, times outputs, times sets of missing points
APART = 0.001  # relative; closer bounds count as equal

ABOUT = {
    "losses": "Bounds of privacy losses, in nats. laws.py describes models, noise and attacks; "
    "holding.py describes the conditions on later versions, and the fields true and defect.",
    "plans": "Plans within a budget, in the format of losses.json; share_error is the standard "
    "error of a share from 10,000 points of one series.",
    "answers": "Which questions are answered (+), which are refused (-), which had no answer "
    "within the time limit (?) and which ended in an error of another kind (!).",
}
NO_ANSWER = "no answer within {:g} seconds"
TOO_LOW = "the upper bound for every length is below the loss at a given length"
WORSE = "the upper bound is above one that was certified with another tolerance, or by a plan"
TOO_HIGH = "the upper bound is above the loss by enumeration of the definition"
BELOW = "the upper bound is below the loss by enumeration of the definition"


class Kept:
    """The entries recorded so far, kept in a file from which an interrupted run continues."""

    def __init__(self, name: str) -> None:
        self._path = holding.FOLDER / f"{name}.json.part"
        self.entries: list[dict[str, Any]] = []
        if self._path.exists():
            lines = self._path.read_text(encoding="utf-8").splitlines()
            self.entries = [json.loads(line, parse_constant=float) for line in lines]
        self._names = {entry["name"] for entry in self.entries}

    def has(self, name: str) -> bool:
        return name in self._names

    def add(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)
        self._names.add(entry["name"])
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def done(self) -> list[dict[str, Any]]:
        self._path.unlink(missing_ok=True)
        # Refusals are recorded in the table of answers alone.
        return [entry for entry in self.entries if "refused" not in entry]


def record_plans(worker: Worker) -> None:
    """``plans.json``."""
    kept = Kept("plans")
    for question in inputs.plans():
        if kept.has(question["name"]):
            continue
        answer = worker.ask("plan", question, LONGEST)
        _tell(question["name"], answer)
        kept.add(_plan_entry(question, answer))
    entries = kept.done()
    holding.write("plans", ABOUT["plans"], entries)


def _plan_entry(question: Words, answer: Answer) -> dict[str, Any]:
    if answer.status != "done":
        return dict(question) | {"refused": answer.status}
    found: dict[str, Any] = answer.result
    entry = dict(question) | found | {"seconds": round(answer.seconds, 4)}
    if question.get("objective") == "smoothed":
        entry["smoothed"] = holding.smoothed(question, found["noise"])
    complaints = holding.plan_complaints(entry, found)
    if complaints:
        print("   ", *complaints, flush=True)
    return entry


def record_losses(worker: Worker) -> None:
    """``losses.json``, with the losses of the plans in ``plans.json``."""
    plans = {entry["name"]: entry for entry in holding.read("plans")["entries"]}
    kept = Kept("losses")
    for question in [*inputs.losses(), *_of_plans(plans)]:
        if kept.has(question["name"]):
            continue
        asked = holding.loss_question(question, plans)
        answer = worker.ask("loss", asked, LONGEST)
        _tell(question["name"], answer)
        kept.add(_loss_entry(worker, question, asked, answer, plans))
    holding.write("losses", ABOUT["losses"], kept.done())


def _of_plans(plans: Mapping[str, Words]) -> list[dict[str, Any]]:
    """Losses of the noise of plans, some of them also with a small tolerance."""
    found: list[dict[str, Any]] = []
    for name, plan in plans.items():
        searched = plan["kind"].startswith(("docs", "finite", "orders"))
        coarse = {"tolerance": TOLERANCE.get(plan["kind"], 0.001)}
        question = {"name": f"noise of {name}", "kind": plan["kind"], "plan": name}
        found.append(question | (coarse if searched else {}))
        if plan["kind"].startswith(("docs", "finite")) and "every" not in plan:
            found.append(
                {"name": f"tolerance: noise of {name}", "kind": "tolerance", "plan": name}
                | {"tolerance": 1e-9}
            )
    return found


def _loss_entry(
    worker: Worker, question: Words, asked: Words, answer: Answer, plans: Mapping[str, Words]
) -> dict[str, Any]:
    entry = dict(question)
    late = answer.status == "late" and entry["kind"] in ENDLESS
    if answer.status != "done" and not late:
        return entry | {"refused": answer.status}
    if late:
        true = _truth(worker, asked)
        defect = NO_ANSWER.format(LONGEST)
        return entry | {"late": True, "seconds": LONGEST, "defect": defect, "true": true}
    found = answer.result
    entry |= found | {"seconds": round(answer.seconds, 4)}
    complaints = holding.loss_complaints(entry, asked, found)
    if complaints:
        print("   ", *complaints, flush=True)
    if "plan" in entry:
        # The attack stands with the plan.
        entry = _beside_plan(entry, plans[entry["plan"]])
    if _may_be_too_low(asked):
        entry = _at_lengths(worker, entry, asked)
    if "tolerance" in asked:
        entry = _at_tolerances(worker, entry, asked)
    if _is_small(asked):
        entry = _by_definition(worker, entry, asked)
    elif asked.get("length") is None and entry["lower"] < entry["upper"] == math.inf:
        entry = _from_short_series(worker, entry, asked)
    if entry["lower"] == 0:
        entry.pop("attack", None)
    return entry


def _is_small(asked: Words) -> bool:
    """Whether enumeration of the definition takes seconds at most."""
    model, length = asked["model"], asked.get("length")
    if "transition" not in model or length is None:
        return False
    reports = math.prod(
        len(one["first" if "first" in one else "matrix"][0]) if "rho0" not in one else 2
        for one in asked["releases"]
    )
    states = len(model["transition"][0])
    return bool((states * reports * (2 if asked.get("gaps") else 1)) ** length <= MOST_ENUMERATED)


def _from_short_series(worker: Worker, entry: dict[str, Any], asked: Words) -> dict[str, Any]:
    """A greater lower bound, if a short series has one: the loss does not fall with the length."""
    for length in (2, 3, 4, 5):
        given = dict(asked) | {"length": length}
        if length < asked.get("event", 1) or not _is_small(given):
            continue
        answer = worker.ask("enumerated", given, LONGEST)
        if answer.status == "done" and answer.result > entry["lower"] + 1e-9:
            entry |= {"lower": answer.result}
            entry.pop("attack", None)
    return entry


def _beside_plan(entry: dict[str, Any], plan: Words) -> dict[str, Any]:
    entry.pop("attack", None)
    entry.pop("on", None)
    entry["lower"] = max(entry["lower"], plan["lower"])
    if entry["upper"] > plan["upper"] * (1 + APART):
        entry |= {"defect": WORSE, "true": [entry["lower"], plan["upper"]]}
    return entry


def _may_be_too_low(asked: Words) -> bool:
    own_start = asked["model"].get("initial") is not None
    every_length = asked.get("length") is None
    return own_start and every_length and asked.get("adversary") == "ignorant"


def _at_lengths(worker: Worker, entry: dict[str, Any], asked: Words) -> dict[str, Any]:
    """The greatest lower bound among those of several given lengths."""
    for length in LENGTHS:
        answer = worker.ask("loss", dict(asked) | {"length": length}, LONGEST)
        if answer.status == "done" and answer.result["lower"] > entry["lower"]:
            better = {key: answer.result[key] for key in ("lower", "attack", "on")
                      if key in answer.result}  # fmt: skip
            entry = {key: value for key, value in entry.items() if key not in ("attack", "on")}
            entry |= better
    if entry["lower"] > entry["upper"] * (1 + 1e-9):
        entry |= {"defect": TOO_LOW, "true": [entry["lower"], None]}
        print("    defect:", TOO_LOW, entry["upper"], entry["lower"], flush=True)
    return entry


def _at_tolerances(worker: Worker, entry: dict[str, Any], asked: Words) -> dict[str, Any]:
    """The least upper bound over other tolerances, if that of the entry's own is greater."""
    if entry["upper"] - entry["lower"] <= asked["tolerance"] + APART * entry["lower"]:
        return entry
    least, most = entry.get("true", (entry["lower"], entry["upper"]))
    for tolerance in TOLERANCES:
        answer = worker.ask("loss", dict(asked) | {"tolerance": tolerance}, LONGEST)
        if answer.status == "done":
            most = min(most, answer.result["upper"])
            least = max(least, answer.result["lower"])
    if entry["upper"] > most * (1 + APART):
        entry |= {"defect": WORSE, "true": [least, most]}
        print("    defect:", WORSE, entry["upper"], entry["true"], flush=True)
    return entry


def _by_definition(worker: Worker, entry: dict[str, Any], asked: Words) -> dict[str, Any]:
    """The loss itself, by enumeration."""
    answer = worker.ask("enumerated", asked, LONGEST)
    if answer.status != "done":
        return entry
    entry["true"] = [answer.result, answer.result]
    if holding.loss_complaints(entry, asked, entry):
        entry["defect"] = BELOW if entry["upper"] < answer.result - 1e-9 else TOO_HIGH
        print("    defect:", entry["defect"], entry["upper"], answer.result, flush=True)
    return entry


def _truth(worker: Worker, asked: Words) -> list[float | None]:
    """Bounds of a loss that has no answer, from equivalent or simpler questions."""
    releases = asked["releases"]
    if releases == [inputs.IN_TURN]:
        # Reports do not depend on the states.
        return [0.0, 0.0]
    if releases == [inputs.PAIRS_IN_TURN]:
        # The parity of each report is a report of this noise, and nothing else depends on states.
        same = dict(asked) | {"releases": [inputs.AS_PAIRS_IN_TURN]}
        result = worker.ask("loss", same, LONGEST).result
        return [result["lower"], result["upper"]]
    if "members" in asked["model"]:
        each = [
            worker.ask("loss", dict(asked) | {"model": member}, LONGEST).result
            for member in asked["model"]["members"]
        ]
        return [max(one["lower"] for one in each), max(one["upper"] for one in each)]
    length = asked.get("length") or 6
    answer = worker.ask("enumerated", dict(asked) | {"length": min(length, 6)}, LONGEST)
    return [answer.result if answer.status == "done" else 0.0, None]


def record_answers(worker: Worker) -> None:
    """``answers.json``."""
    kept = Kept("answers")
    for ask, model, noise, question, apart in inputs.answer_rows():
        name = f"{ask}: {model}, {noise}"
        if kept.has(name):
            continue
        begin = time.perf_counter()
        marks, seconds = "", 0.0
        for _, cell in inputs.cells(apart):
            asked = {key: value for key, value in (question | cell).items() if value is not None}
            answer = worker.ask("is_answered", asked, CELL)
            marks += _mark(answer)
            seconds += answer.seconds
        print(f"{name}: {marks}, {time.perf_counter() - begin:.1f} s", flush=True)
        rest = {key: value for key, value in question.items() if key != "model"}
        kept.add(
            {"name": name, "kind": ask, "model": model, "asked": rest, "apart": apart}
            | {"answers": marks, "seconds": round(seconds, 3)}
        )
    for model, mechanism, wish, question in inputs.wishes():
        name = f"wish: {model}, {mechanism}, {wish}"
        if kept.has(name):
            continue
        answer = worker.ask("is_answered", question, CELL)
        print(f"{name}: {_mark(answer)}", flush=True)
        rest = {key: value for key, value in question.items() if key != "model"}
        kept.add(
            {"name": name, "kind": "wish", "model": model, "asked": rest}
            | {"answers": _mark(answer), "seconds": round(answer.seconds, 3)}
        )
    cells = {str(apart): list(inputs.cells(apart)) for apart in (0, 1, 4)}
    holding.write(
        "answers", ABOUT["answers"], kept.done(), models=inputs.MODELS,
        cells={apart: [[name, _given(cell)] for name, cell in own] for apart, own in cells.items()},
    )  # fmt: skip


def _given(cell: Words) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if value is not None}


def _mark(answer: Answer) -> str:
    if answer.status == "done":
        return "+" if answer.result else "-"
    return {"refused": "-", "late": "?"}.get(answer.status, "!")


def _tell(name: str, answer: Answer) -> None:
    result = answer.result if isinstance(answer.result, Mapping) else {}
    numbers = [result[key] for key in ("wrong", "lower", "upper") if key in result]
    words = "" if numbers else str(answer.result)[-200:]
    print(f"{name}: {answer.status}", *numbers, words, f"{answer.seconds:.2f} s", flush=True)


def check(parts: list[str]) -> int:
    """Compare the package with files of the record; the number of entries that are not held."""
    plans = {entry["name"]: entry for entry in holding.read("plans")["entries"]}
    counts: dict[str, Counter[str]] = {}
    total = 0.0
    with Worker() as worker:
        for part in parts:
            for kind, name, outcome, complaints, seconds in _checked(part, worker, plans):
                counts.setdefault(f"{part}: {kind}", Counter())[outcome] += 1
                total += seconds
                if complaints:
                    text = "; ".join(complaints)
                    print(f"{part}, {name}: {outcome}: {text}, {seconds:.2f} s", flush=True)
    for kind, own in sorted(counts.items()):
        print(f"{kind:40s} " + ", ".join(f"{n} {outcome}" for outcome, n in own.items()))
    every = sum(counts.values(), Counter())
    print(f"{sum(every.values())} entries:", ", ".join(f"{n} {one}" for one, n in every.items()))
    print(f"{total:.0f} seconds of processor time")
    return every["not held"]


def asked_entries(content: Words) -> list[dict[str, Any]]:
    """The entries of a file whose questions the package takes."""
    entries: list[dict[str, Any]] = content["entries"]
    return [one for one in entries if adapter.TAKES_TOLERANCE or one["kind"] != "tolerance"]


def _checked(part: str, worker: Worker, plans: Mapping[str, Words]) -> Any:
    """Kind, name, outcome, unmet conditions and seconds of each entry of a file."""
    content = holding.read(part)
    for entry in asked_entries(content):
        if part == "answers":
            yield _checked_row(worker, content, entry)
            continue
        asked = entry if part == "plans" else holding.loss_question(entry, plans)
        limit = LATE if entry.get("late") else 4 * LONGEST
        answer = worker.ask("plan" if part == "plans" else "loss", dict(asked), limit)
        if answer.status != "done":
            reason = f"{answer.status} {answer.result or ''}".strip()
            yield entry["kind"], entry["name"], "not held", [reason], answer.seconds
            continue
        if part == "plans":
            complaints = holding.plan_complaints(entry, answer.result)
            outcome = "not held" if complaints else "held"
        else:
            complaints = holding.loss_complaints(entry, asked, answer.result)
            known = holding.is_known_defect(entry, answer.result)
            outcome = "held" if not complaints else "known defect" if known else "not held"
        yield entry["kind"], entry["name"], outcome, complaints, answer.seconds


def _checked_row(worker: Worker, content: Words, entry: Words) -> Any:
    missing, seconds = [], 0.0
    for name, question, mark in holding.answer_questions(content, entry):
        if mark != "+":
            continue
        answer = worker.ask("is_answered", question, 4 * CELL)
        seconds += answer.seconds
        if not (answer.status == "done" and answer.result):
            missing.append(f"{name} ({answer.status})")
    outcome = "not held" if missing else "held"
    return entry["kind"], entry["name"], outcome, missing, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare; record nothing")
    parts = {"plans": record_plans, "losses": record_losses, "answers": record_answers}
    parser.add_argument("--only", choices=parts, help="one part alone")
    arguments = parser.parse_args()
    asked = [arguments.only] if arguments.only else list(parts)
    if arguments.check:
        raise SystemExit(check(asked) > 0)
    begin = time.perf_counter()
    with Worker(measured=True) as worker:
        for part in asked:
            parts[part](worker)
            print(f"{part}: {time.perf_counter() - begin:.0f} seconds", flush=True)


if __name__ == "__main__":
    main()
