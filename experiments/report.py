"""The page that sets the authors' numbers beside ours, written from the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chainveil.errors import InvalidInput
from experiments import settings as stored
from experiments.markdown import NONE, number, pair, signed, table
from experiments.parts import Row, write_text
from experiments.report_fig4 import figure4
from experiments.report_memory import limit, memory
from experiments.run import HOMES, Result, read_result

TITLE = "# The paper, reproduced and corrected"


def write(out: Path) -> Path:
    """Write the page ``OUT.md`` beside the folder ``OUT`` from what is in the folder."""
    found = [result for name in HOMES if (result := read_result(name, out)) is not None]
    path = page_path(out)
    write_text(path, page(found, out.resolve().name))
    return path


def page_path(out: Path) -> Path:
    """Where the page of a folder goes; an error if something else is there."""
    whole = out.resolve()
    path = whole.parent / f"{whole.name}.md"
    if path.exists() and not (path.is_file() and path.read_bytes().startswith(TITLE.encode())):
        raise InvalidInput(
            "out", str(out), f"a folder beside which {path.name} is free for the page",
            "That file is something else and stays as it is.",
        )  # fmt: skip
    return path


def page(results: list[Result], folder: str) -> str:
    """The whole page; figures are linked in ``folder``."""
    sizes = sorted({result.record["size"] for result in results})
    parts = [
        TITLE,
        "Written by `python -m experiments` from the results beside it; nothing is edited by hand. "
        "“Authors” are the numbers in the result files that accompany the paper, single runs; "
        "“paper's noise” is Theorem 1's, which protects only against an adversary who knows "
        "nothing else; “corrected noise” protects against any. Differences are ours minus theirs.",
    ]
    if sizes != ["full"]:
        parts.append(f"**Size of the runs: {', '.join(sizes)}.** A quick run has few samples.")
    sections: dict[str, Callable[[Result], list[str]]] = {
        "fig1": figure1, "fig2": figure2, "fig3": figure3, "fig4": figure4,
        "correlated": correlated, "theorem2": theorem2,
        "memory": memory, "limit": limit,
    }  # fmt: skip
    for result in results:
        parts += sections[result.name](result)
        parts.append(
            f"![{result.record['title']}]({folder}/{result.name}/{result.name}.svg)\n\n"
            f"[results]({folder}/{result.name}/results.csv) · "
            f"[settings, seed, versions, time]({folder}/{result.name}/run.json)"
        )
        parts += [f"Missing in this run: {text}." for text in result.record["missing"]]
    parts += circumstances(results)
    return "\n\n".join(parts) + "\n"


def figure1(result: Result) -> list[str]:
    """Borders and optima."""
    who = {"ignorant": "Theorem 1 (ignorant)", "any": "any adversary"}
    goal = {"wrong-reports": "least expected flips", "share": "least ρ0 + ρ1"}
    rows = [
        (
            f"{row['epsilon']:g}", who[row["adversary"]], number(row["u"]), number(row["w"]),
            goal[row["objective"]], pair(row["rho0"], row["rho1"]), number(row["flips"]),
            number(row["loss_any"], 3),
        )
        for row in result.rows
    ]  # fmt: skip
    header = ("ε", "constraints of", "ρ1/(1-ρ0) ≥", "ρ0/(1-ρ1) ≥", "objective", "optimum (ρ0, ρ1)",
              "expected flips", "true loss against any")  # fmt: skip
    worst = max(result.rows, key=lambda row: float(row["loss_any"]) - float(row["epsilon"]))
    return [
        "## Figure 1: feasible noise",
        "The authors show the two constraints without numbers. Both are half-planes, for "
        "Theorem 1 and for any adversary alike.",
        table(header, rows),
        f"The optimum of Theorem 1 loses up to {worst['loss_any']:.3f} where "
        f"{worst['epsilon']:g} was promised. At the smaller budget the least expected flips lie "
        "where a border meets ρ = 1/2, not where the borders cross.",
    ]


def _pick(rows: list[Row], **wanted: object) -> Row | None:
    found = (row for row in rows if all(row.get(key) == value for key, value in wanted.items()))
    return next(found, None)


def figure2(result: Result) -> list[str]:
    """Attackers under DP noise, then under BDP noise."""
    reported = {point["theta"]: point for point in stored.reported()["fig2"]["points"]}
    settings = result.record["settings"]
    rows, equal, far = [], [], []
    for theta in settings["thetas"]:
        bit = _pick(result.rows, theta=theta, noise="dp", attacker="single bit")
        aware = _pick(result.rows, theta=theta, noise="dp", attacker="correlation aware")
        assert bit is not None
        assert aware is not None
        theirs = reported.get(theta, {})
        single, both = theirs.get("single_bit"), theirs.get("correlation_aware")
        spread = aware["deviation_of_authors_design"]
        off = None if both is None else (aware["exact"] - both) / spread
        if both is not None and both == single and aware["exact"] > bit["exact"] + 1e-4:
            equal.append(f"{theta:g}")
        elif off is not None and abs(off) > 2:
            far.append(f"θ = {theta:g} ({off:+.1f})")
        rows.append((
            f"{theta:g}", number(single), number(bit["success"]), _difference(bit, single),
            number(both), number(aware["success"]), number(aware["exact"]),
            _difference(aware, both), number(spread), NONE if off is None else f"{off:+.1f}",
            number(theirs.get("estimated_epsilon"), 3), number(aware["exact_epsilon"], 3),
        ))  # fmt: skip
    header = ("θ", "SB, authors", "SB, ours", "difference", "CA, authors", "CA, ours",
              "CA, exact", "difference", "deviation of a run like theirs", "deviations off",
              "ε̃, authors", "ε̃, exact")  # fmt: skip
    error = max(row["error"] for row in result.rows)
    return [
        "## Figure 2: DP noise does not hide correlated data",
        f"Success at point {settings['target'] + 1} of {settings['length']}, noise "
        f"{result.rows[0]['rho']:.4f} for ε = {settings['epsilon']:g} "
        f"(authors: {stored.reported()['fig2']['rho']}). Single bit (SB) and correlation aware "
        f"(CA). Ours: {settings['databases']:,} series, each released {settings['releases']} "
        f"times, largest standard error {error:.4f}.",
        table(header, rows),
        _reasons2(equal, far),
        "The same attackers against noise calibrated for BDP at the same ε (any adversary, this "
        "length), which the paper does not show:",
        _bdp_table(result),
    ]


def _difference(row: Row, theirs: float | None) -> str:
    return signed(None if theirs is None else row["success"] - theirs)


def _reasons2(equal: list[str], far: list[str]) -> str:
    text = (
        "**Why they differ.** The authors drew 100 series a point, and series differ in how "
        "exposed their point is, so a run like theirs scatters by the deviation shown (another "
        f"run of theirs has {stored.reported()['fig2']['another_run']} at θ = 0.02)."
    )
    text += f" More than two deviations off: {', '.join(far)}." if far else ""
    if equal:
        text += (
            f" At θ = {', '.join(equal)} their correlation-aware number equals their single-bit "
            "number in all four digits, although the best attacker does better there: their "
            "attacker always followed the one bit. Chance hardly explains that; the reason is not "
            "known."
        )
    return text


def _bdp_table(result: Result) -> str:
    rows = []
    for row in result.rows:
        if (row["noise"], row["attacker"]) != ("bdp", "correlation aware"):
            continue
        bit = _pick(result.rows, theta=row["theta"], noise="bdp", attacker="single bit")
        dp = _pick(result.rows, theta=row["theta"], noise="dp", attacker="single bit")
        assert bit is not None
        assert dp is not None
        rows.append((
            f"{row['theta']:g}", number(row["rho"]), number(bit["success"]),
            number(row["success"]), number(row["exact"]), number(row["loss_any"], 3),
            number(dp["loss_any"], 3),
        ))  # fmt: skip
    header = ("θ", "BDP noise ρ", "SB", "CA", "CA, exact", "true loss of it",
              "true loss of DP noise")  # fmt: skip
    return table(header, rows)


def figure3(result: Result) -> list[str]:
    """Noise of each method at a few budgets, and where each begins."""
    methods = list(dict.fromkeys(row["method"] for row in result.rows))
    shown = [epsilon for epsilon in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
             if _pick(result.rows, method=methods[0], epsilon=epsilon)]  # fmt: skip
    rows = []
    for method in methods:
        found = [_pick(result.rows, method=method, epsilon=epsilon) for epsilon in shown]
        rows.append((method, *(number(row.get("flips") if row else None) for row in found)))
    lengths = [
        abs(one["flips"] - other["flips"])
        for one in result.rows if one["method"] == "any adversary, every length"
        for other in [_pick(result.rows, method="any adversary, this length",
                            epsilon=one["epsilon"])] if other is not None
    ]  # fmt: skip
    reached = [
        abs(row["flips"] - other["flips"])
        for row in result.rows if row["method"] == "correlated noise, any adversary"
        for other in [_pick(result.rows, method="Theorem 1 exactly (ignorant)",
                            epsilon=row["epsilon"])] if other is not None
    ]  # fmt: skip
    settings = result.record["settings"]
    return [
        "## Figure 3: how much noise each method needs",
        f"Symmetric chain with θ = {settings['theta']:g}, n = {settings['length']}; share of "
        "points changed. The authors show curves without numbers; a dash is a budget that the "
        "method cannot reach or that was not asked for.",
        table(("method", *(f"ε = {epsilon:g}" for epsilon in shown)), rows),
        "The order of the paper's three curves is theirs: Zhao et al. above Corollary 2's formula "
        "above Theorem 1. Theorem 1's noise is less than Bayesian differential privacy needs; the "
        f"exact curve for any adversary lies just above it, and {settings['length']} points need "
        f"as much as infinitely many (largest difference {max(lengths):.1e}). Correlated noise, in "
        "the hands of one owner, reaches Theorem 1's level with the full guarantee (largest "
        f"difference {max(reached):.1e} over {len(reached)} budgets).",
    ]


def correlated(result: Result) -> list[str]:
    """Independent against correlated noise."""
    rows = []
    for row in result.rows:
        if row["adversary"] == "any":
            rows.append((
                f"{row['epsilon']:g}", f"{row['theta']:g}", number(row["independent_flips"]),
                number(row["correlated_flips"]), f"{row['saved']:.2%}", number(row["s"], 3),
                number(row["theorem1_flips"]),
            ))  # fmt: skip
    ignorant = [row for row in result.rows if row["adversary"] == "ignorant"]
    gap = max(abs(row["correlated_flips"] - row["independent_flips"]) for row in ignorant)
    known = [row for row in result.rows if row["adversary"] == "any"]
    helped = [row for row in known if row["saved"] > 1e-6]
    least = [row for row in known if abs(row["correlated_flips"] - row["theorem1_flips"]) < 1e-6]
    header = ("ε", "θ", "independent", "correlated", "saved", "ρ0 + ρ1", "Theorem 1")
    return [
        "## Section 3, last part: can correlated noise help?",
        "The authors: no, the expected noise is the same. Against the ignorant adversary we find "
        f"the same (largest difference {gap:.1e} over {len(ignorant)} settings). Against any "
        f"adversary correlated noise flips fewer points in {len(helped)} of {len(known)} settings, "
        f"and in {len(least)} of them as few as Theorem 1 asks against the ignorant adversary "
        "alone. Least flip rates against any adversary:",
        table(header, rows),
        "**Why they differ.** The remark compares noise against the ignorant adversary, who is "
        "not the hardest one. The flip rates are certified to meet the budget; that no noise "
        "chain does better is numerical.",
    ]


def theorem2(result: Result) -> list[str]:
    """The worst loss by length and by what is known."""
    settings = result.record["settings"]
    rows, most = [], max(settings["lengths"])
    for length in settings["lengths"]:
        own = [row for row in result.rows if row["length"] == length]
        worst = [
            max(row["loss"] for row in own if row["known_points"] == size) for size in range(length)
        ]
        worse = sum(row["loss"] > worst[0] + 1e-12 for row in own)
        cells = [number(loss, 2) for loss in worst] + [NONE] * (most - length)
        rows.append((str(length), *cells, f"{worse} of {len(own)}"))
    example = _pick(result.rows, counter_example=True)
    assert example is not None
    ignorant = max(
        row["loss"] for row in result.rows
        if row["length"] == example["length"] and row["known_points"] == 0
    )  # fmt: skip
    return [
        "## Theorem 2: the most ignorant adversary is not the hardest",
        f"Symmetric chain with θ = {settings['theta']:g}, noise ρ = {settings['rho']:g}; the "
        "largest loss over all targets, known values and outputs, straight from the definition, "
        "by the number of points known:",
        table(("n", *(f"{size} known" for size in range(most)), "adversaries worse than ignorant"),
              rows),
        f"Counter-example: n = {example['length']}, the middle point is the target, both ends are "
        f"known: loss {example['loss']:.2f}, while the ignorant adversary has {ignorant:.2f}. "
        "**Why they differ.** The proof takes known values that agree with the tested one; values "
        "that contradict it cost more.",
    ]  # fmt: skip


def circumstances(results: list[Result]) -> list[str]:
    """Size, time and versions of the runs."""
    rows = [
        (result.name, result.record["size"], f"{result.record['seconds']:g}",
         ", ".join(f"{name} {version}" for name, version in result.record["versions"].items()))
        for result in results
    ]  # fmt: skip
    return [
        "## Runs",
        "Seconds are those of the parts when they were computed; networks trained elsewhere are "
        "under Figure 4.",
        table(("experiment", "size", "seconds", "versions"), rows),
        "`python -m experiments all --full --out NEW-FOLDER` makes everything anew; in a folder "
        "with finished parts it goes on from those. Seeds are in the settings; "
        "noise comes from the seeded source, which is for study only.",
    ]
