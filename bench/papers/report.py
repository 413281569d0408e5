"""The pages: an index of verdicts, and for each paper what was tried and what was seen."""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from bench.papers import pictures
from bench.papers.claims import (
    Criterion,
    Experiment,
    Found,
    Paper,
    Table,
    Untried,
    Verdict,
    verdict,
)
from bench.papers.papers import PAPERS
from labeltree import __version__

WIDTH = 120
COMMAND = "python -m bench.papers --data DIR --out report --only {name}"
NOT_YET = "not measured yet"

INDEX = f"""
Which tables and figures of the four papers were tried with labeltree, and how their claims fared.
"As published" is what `published()` of an estimator returns: the algorithm as its paper prints it.
"Defaults" is the estimator without arguments.

The papers' data are mostly not at hand; each page names what stands in for them. Such a stand-in
can show that a claim is not true in general, and not that the paper's own figure is wrong. A
verdict follows from criteria that stand on the page with the figures measured: a claim *holds* if
all of its criteria do, *in part* if some do.

Version {__version__}. Times are processor time of one thread on a two-core x86-64 virtual machine
that others used too; they vary by a third from run to run. Where nothing else is said, a figure is
of one run.

`python -m bench.papers --data DIR --out report` measures all of it, in about a quarter of an hour
of one core, and `--only NAME` one experiment; pages and pictures like these are written to
`report`, and the figures to its `results.json`, from which a later run goes on. The pages here
are those of `docs/papers/results.json` (`--out docs/papers --pages`).
"""


def write(results: dict[str, Any], out: Path) -> None:
    """Write all pages, and the pictures of what was measured."""
    for name, page in pages(results).items():
        (out / name).write_text(page, encoding="utf-8")
    for paper in PAPERS:
        for one in paper.experiments:
            found = measured(one, results)
            if isinstance(one, Experiment) and found:
                figure = one.draw(found)
                if figure is not None:
                    pictures.write(figure, out / f"{one.name}.svg")


def measured(one: Experiment | Untried, results: dict[str, Any]) -> Found | None:
    """Return the figures of an experiment; nothing if some are missing."""
    kept = {} if isinstance(one, Untried) else results.get(one.measured_as, {})
    return kept["cells"] if kept.get("complete") else None


def pages(results: dict[str, Any]) -> dict[str, str]:
    """Return the text of all pages by the names of their files."""
    return {"index.md": index(results)} | {
        f"{paper.name}.md": page(paper, results) for paper in PAPERS
    }


def fare(one: Experiment | Untried, results: dict[str, Any]) -> tuple[str, str]:
    """Return the verdict, and what was seen in a line."""
    if isinstance(one, Untried):
        return str(Verdict.UNTRIED), one.why
    found = measured(one, results)
    if found is None:
        return NOT_YET, ""
    return str(verdict(one.criteria(found))), one.line(found)


def index(results: dict[str, Any]) -> str:
    lines = ["# The papers' claims, tried", "", filled(INDEX), ""]
    verdicts = Counter(fare(one, results)[0] for paper in PAPERS for one in paper.experiments)
    counted = ", ".join(f"{kind} {verdicts[kind]}" for kind in Verdict if verdicts[kind])
    lines += [f"{verdicts.total()} tables, figures and claims: {counted}.", ""]
    rows = [["paper", "claim", "verdict", "seen"]]
    for paper in PAPERS:
        for one in paper.experiments:
            judged, seen = fare(one, results)
            link = f"[{one.of}]({paper.name}.md#{anchor(one.of)})"
            rows.append([f"[{paper.title}]({paper.name}.md)", link, f"**{judged}**", seen])
    return "\n".join([*lines, *markdown(rows)]) + "\n"


def page(paper: Paper, results: dict[str, Any]) -> str:
    lines = [f"# {paper.title}", "", filled(paper.introduction), ""]
    rows = [["claim", "verdict", "seen"]]
    for one in paper.experiments:
        judged, seen = fare(one, results)
        rows.append([f"[{one.of}](#{anchor(one.of)})", f"**{judged}**", seen])
    lines += markdown(rows)
    for one in paper.experiments:
        lines += ["", *section(one, results)]
    return "\n".join(lines) + "\n"


def section(one: Experiment | Untried, results: dict[str, Any]) -> list[str]:
    lines = [f"## {one.of}", "", filled(f"**The paper:** {one.claim}"), ""]
    if isinstance(one, Untried):
        return [*lines, filled(f"**Verdict: {Verdict.UNTRIED}.** {one.why}")]
    lines += [filled(f"**Here:** {one.setting}"), ""]
    found = measured(one, results)
    if found is None:
        return [*lines, f"**Verdict: {NOT_YET}.**"]
    criteria = one.criteria(found)
    for table in one.tables(found):
        lines += [*markdown(table), ""]
    if one.draw(found) is not None:
        lines += [f"![{one.of}]({one.name}.svg)", ""]
    lines += ["```", COMMAND.format(name=one.name), "```", ""]
    lines += [f"**Verdict: {verdict(criteria)}.**", "", *map(item, criteria)]
    if one.remark:
        lines += ["", filled(one.remark)]
    return lines


def item(criterion: Criterion) -> str:
    mark = "holds" if criterion.holds else "does not hold"
    return filled(f"- *{mark}*: {criterion.text}", indent="  ")


def filled(text: str, indent: str = "") -> str:
    """Break the lines of paragraphs anew."""
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(
        textwrap.fill(
            " ".join(paragraph.split()),
            WIDTH,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for paragraph in paragraphs
    )


def markdown(table: Table) -> list[str]:
    head, *rows = (f"| {' | '.join(row)} |" for row in table)
    return [head, "|---" * len(table[0]) + "|", *rows]


def anchor(heading: str) -> str:
    """Return the anchor that Markdown makes of a heading."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.strip().replace(" ", "-")
