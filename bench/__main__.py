"""labeltree and its peers on the same data, in one run.

    python -m bench --data DIR --out report

Every peer gets a virtual environment of its own, made here. Writes results.json, report.md and
pictures to the folder of --out; docs/benchmarks.md says what they hold.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import data, environments, peers, report, runs


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def counts(text: str) -> list[int]:
    return [int(name) for name in names(text)]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder of NAME_train.txt.gz")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the report")
    parser.add_argument(
        "--peers", type=names, default=list(peers.NAMES), help=f"default {','.join(peers.NAMES)}"
    )
    chosen = [*data.SINGLE, *data.SETS]
    parser.add_argument(
        "--data-sets", type=names, default=chosen, help=f"default {','.join(chosen)}"
    )
    parser.add_argument("--algorithms", type=names, help="of labeltree and peers, default all")
    parser.add_argument("--threads", type=counts, default=[1, 2], help="default 1,2")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--time-limit", type=float, default=600.0, help="seconds until a run is ended"
    )
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--bits", type=int, default=24, help="of Vowpal Wabbit's weights and ours")
    parser.add_argument(
        "--environments",
        type=Path,
        default=environments.default_cache(),
        help="where the peers' environments are kept, default %(default)s",
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep the results in --out and make what is missing"
    )
    options = parser.parse_args(arguments)
    unknown = sorted({*options.peers} - {*peers.NAMES})
    if unknown:
        parser.error(f"--peers has {', '.join(unknown)}, expected some of {', '.join(peers.NAMES)}")
    every = {name for peer in options.peers for name in peers.peer(peer).algorithms}
    options.algorithms = options.algorithms or sorted(every)
    unknown = sorted({*options.algorithms} - every)
    if unknown:
        parser.error(
            f"--algorithms has {', '.join(unknown)}, expected some of {', '.join(sorted(every))}"
        )
    absent = data.missing(options.data, options.data_sets)
    if absent:
        parser.error(f"{absent[0]} does not exist: --data-sets needs it in the folder of --data")
    if min(options.repeats, options.passes, *options.threads) < 1:
        parser.error("--repeats, --passes and --threads must be at least 1")
    if (options.out / "results.json").exists() and not options.resume:
        parser.error(f"{options.out} has results: give --resume to go on, or another --out")
    return options


def machine() -> str:
    """Return the processor, how many, the system and the Python."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    count = f"{len(models)} x " if models else ""
    return f"{count}{model}, {platform.system()}, Python {platform.python_version()}"


def open_results(out: Path, settings: runs.Settings) -> dict[str, Any]:
    """Return the results in the folder, or empty ones."""
    path = out / "results.json"
    if not path.exists():
        return {"machine": machine(), "settings": asdict(settings), "peers": {}, "runs": []}
    results: dict[str, Any] = json.loads(path.read_text())
    for name, now in {"machine": machine(), "settings": asdict(settings)}.items():
        if results[name] != now:
            raise SystemExit(
                f"{path}: the {name} was {results[name]}, now it is {now}; take another --out"
            )
    return results


def save(results: dict[str, Any], out: Path) -> None:
    beside = out / "results.json.part"
    beside.write_text(json.dumps(results, indent=1))
    beside.replace(out / "results.json")


def find_environments(
    wanted: list[str], cache: Path, known: dict[str, Any]
) -> dict[str, environments.Environment]:
    """Return the environments that could be made, and note versions and reasons."""
    found = {}
    for name in wanted:
        print(f"environment of {name}: ", end="", flush=True)
        try:
            found[name] = environments.environment(name, cache)
            known[name] = {"version": found[name].version}
            print(f"version {found[name].version}")
        except environments.CannotInstallError as error:
            known[name] = {"reason": str(error)}
            print(error)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run what the arguments ask for."""
    options = parse(arguments)
    settings = runs.Settings(options.passes, options.bits)
    options.out.mkdir(parents=True, exist_ok=True)
    results = open_results(options.out, settings)
    found = find_environments(options.peers, options.environments, results["peers"])
    folders = {name: options.out / "data" / name for name in options.data_sets}
    for name, folder in folders.items():
        data.prepare(options.data, name, folder)

    plan = (
        (repeat, cell)
        for repeat, cell in runs.schedule(
            options.data_sets, list(found), options.threads, options.repeats
        )
        if cell.algorithm in options.algorithms
    )
    try:
        runs.make_runs(
            plan,
            results["runs"],
            settings,
            folders,
            found,
            options.time_limit,
            lambda: save(results, options.out),
        )
    finally:
        save(results, options.out)
        report.write(results, options.out)
    print(f"wrote {options.out / 'report.md'}")


if __name__ == "__main__":
    # As on Ctrl-C, the running peer is ended and the results so far are written.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    main()
