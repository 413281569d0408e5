"""Tables and figures of the four papers, on real data, with a verdict each.

    python -m bench.papers --data DIR --out report [--only NAME ...]

Measures what is not yet in results.json of the folder of --out, which is saved all the time, and
writes a page for each paper there, with pictures, and an index of verdicts. `--only` names
experiments; `--pages` measures nothing and writes the pages of what there is.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from bench.papers import report
from bench.papers.claims import Experiment
from bench.papers.papers import PAPERS
from bench.papers.sources import Files


def experiments() -> dict[str, Experiment]:
    """Return all that can be measured, by name."""
    return {
        one.name: one
        for paper in PAPERS
        for one in paper.experiments
        if isinstance(one, Experiment)
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.papers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="a folder of data sets")
    parser.add_argument("--out", type=Path, required=True, help="the folder of results and pages")
    parser.add_argument("--only", nargs="+", choices=list(experiments()), metavar="NAME")
    parser.add_argument("--pages", action="store_true", help="measure nothing, write the pages")
    options = parser.parse_args(arguments)
    if not options.pages and options.data is None:
        parser.error("--data is needed to measure; --pages writes pages of what was measured")
    return options


def save(results: dict[str, Any], path: Path) -> None:
    beside = path.with_suffix(".json.part")
    beside.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    os.replace(beside, path)


def main(arguments: list[str] | None = None) -> None:
    """Measure, then write the pages."""
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if not options.pages:
        source = Files(options.data)
        for name in options.only or experiments():
            one = experiments()[name]
            start = time.process_time()
            kept = results.setdefault(one.measured_as, {"cells": {}, "complete": False})
            one.measure(source, kept["cells"], lambda: save(results, path))
            kept["complete"] = True
            save(results, path)
            print(f"{name}: {time.process_time() - start:.1f} s", flush=True)
    report.write(results, options.out)


if __name__ == "__main__":
    main()
