"""How long it takes to write the page of a tree of many labels, and to open it in a browser.

    python -m bench.treepage [--labels 1000000]

A probability tree learns a row of each label. Then the page that `labeltree inspect --html` writes
is made, and opened in Chromium, if that is installed: until when its top can be unfolded, and what
it takes to unfold a branch, and to search the labels for the first time and again. Times to write
are the processor's.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import numpy as np

from bench.synthetic import rows
from labeltree import ProbabilityTreeClassifier
from labeltree.treepage import tree_page

DEPTH = 12  # as `labeltree inspect --html` shows
AT_ONCE = 50_000
ACT = """<script>{
const times = [performance.now()], step = act => { act(); times.push(performance.now()); };
const search = text => { box.value = text; box.dispatchEvent(new Event("input")); };
step(() => open(first[roots[0]]));
step(() => search("7777"));
step(() => search("77777"));
const told = document.createElement("pre");
told.id = "told";
told.textContent = JSON.stringify(times);
document.body.append(told);
}</script></body>"""


def learned(labels):
    """Return the tree of a model that has learned a row of each label."""
    clf = ProbabilityTreeClassifier(bits=22, random_state=0)
    order = np.random.default_rng(0).permutation(labels)
    for begin in range(0, labels, AT_ONCE):
        y = order[begin : begin + AT_ONCE]
        clf.partial_fit(rows(y, nnz=8, seed=(0, begin)), y)
    return clf.tree_


def opened(browser, page):
    """Return when the page could be used, and how long the steps of ACT took, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "tree.html")
        path.write_text(page.replace("</body>", ACT), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        command += [f"--user-data-dir={folder}/profile", f"file://{path}"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r'id="told">(.*?)</pre>', text)
    times = json.loads(found[1])
    return [times[0], *np.diff(times).tolist()]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    tree = learned(options.labels)
    start = time.process_time()
    page = tree_page("a tree", tree, DEPTH)
    seconds = time.process_time() - start
    print(f"{tree}: written in {seconds:.1f} s, {len(page.encode()) / 1e6:.1f} MB", flush=True)
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser:
        names = ("usable after", "unfolding", "first search", "search")
        times = zip(names, opened(browser, page), strict=True)
        print(", ".join(f"{name} {value:,.0f} ms" for name, value in times))


if __name__ == "__main__":
    main()
