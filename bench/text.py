"""From a raw text file to a model: labeltree, what else turns text into rows, and its peers.

    python -m bench.text --data DIR --out FILE.md [--sets hypernym,debtags] [--peers NAME,...]

DIR holds NAME_train.tsv.gz and NAME_test.tsv.gz: label, tab, text; the labels of a set are joined
by commas. Each system runs in a process of its own, on one thread, the peers in environments of
their own. Seconds go from opening the file to the trained model, imports not counted, and those of
`labeltree train` have the writing of the model in them; memory is the most until then. Repeats
take turns; seconds are the least of them. Texts a second are those of the test file, predicted in
one call, by processor time. Beside the table stand how fast texts become rows, and how much of
`labeltree train` is not learning.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.environments import (
    ROOT,
    CannotInstallError,
    default_cache,
    environment,
    last_error,
)
from bench.peers.base import TOP, best_columns
from bench.worker import peak_memory

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SETS = ("debtags",)  # whose rows have sets of labels
HASHED = 2**18  # features of scikit-learn's, which keeps dense coefficients
ROWS = 1000  # scored at a time


def read(path):
    """Return the texts, and the list of the labels of each."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    return [text for _, text in rows], [labels.split(",") for labels, _ in rows]


def is_sets(labels):
    return any(len(names) != 1 for names in labels)


def targets(labels):
    """Return labels as an estimator takes them: lists if they are sets."""
    return labels if is_sets(labels) else [name for (name,) in labels]


def tfidf(**options):
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **options)


def indicator(labels):
    from sklearn.preprocessing import MultiLabelBinarizer

    made = MultiLabelBinarizer(sparse_output=True)
    return made.fit_transform(labels), made.classes_


def command_line(*options):
    """Return a system that is `labeltree train` with these options."""

    def train(path, work):
        sets = ["--label-separator", ","] if path.name.startswith(SETS) else []
        run_command(["train", path, "-m", work / "model", "--quiet", *sets, *options])
        model = functools.cache(lambda: load_model(work / "model"))
        return lambda texts: model().predict_topk(texts, TOP)[0].tolist()

    return train


def run_command(arguments):
    """Run the command line in this process."""
    from labeltree import cli

    sys.argv = ["labeltree", *map(str, arguments)]
    try:
        cli.main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"labeltree left with {end.code}") from None


def load_model(path):
    import labeltree

    return labeltree.load(path)


def text_classifier(path, work):  # noqa: ARG001
    from labeltree import TextClassifier

    texts, labels = read(path)
    model = TextClassifier().fit(texts, targets(labels))
    return lambda texts: model.predict_topk(texts, TOP)[0].tolist()


def tfidf_labeltree(path, work):  # noqa: ARG001
    from labeltree import LabelTreeClassifier

    texts, labels = read(path)
    vectors = tfidf()
    model = LabelTreeClassifier().fit(vectors.fit_transform(texts), targets(labels))
    return lambda texts: model.predict_topk(vectors.transform(texts), TOP)[0].tolist()


def tfidf_libpecos(path, work):  # noqa: ARG001
    import numpy as np
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    texts, labels = read(path)
    vectors = tfidf(dtype=np.float32)
    X = vectors.fit_transform(texts)
    Y, names = indicator(labels)
    Y = Y.tocsr().astype(np.float32)
    embedding = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=1)
    model = XLinearModel.train(X, Y, Indexer.gen(embedding, threads=1), threads=1)

    def predict(texts):
        answer = model.predict(vectors.transform(texts), only_topk=TOP, threads=1).tocsr()
        rows = zip(answer.indptr[:-1], answer.indptr[1:], strict=True)
        return [
            names[answer.indices[a:b][np.argsort(-answer.data[a:b], kind="stable")]].tolist()
            for a, b in rows
        ]

    return predict


def fasttext_words(text):
    """Return a text as fastText's documentation prepares it."""
    return re.sub(r"([.!?,'/()])", r" \1 ", text).lower()


def fasttext_supervised(path, work):
    import fasttext

    prefix = "__label__"
    with open(work / "train.txt", "w", encoding="utf-8") as file:
        for text, names in zip(*read(path), strict=True):
            marks = " ".join(prefix + name for name in names)
            file.write(f"{marks} {fasttext_words(text)}\n")
    model = fasttext.train_supervised(
        input=str(work / "train.txt"),
        loss="hs",
        wordNgrams=2,
        epoch=25,
        lr=1.0,
        thread=1,
        seed=0,
        verbose=0,
    )

    def predict(texts):
        found = model.predict([fasttext_words(text) for text in texts], k=TOP)[0]
        return [[name.removeprefix(prefix) for name in row] for row in found]

    return predict


def hashing_sgd(path, work):  # noqa: ARG001
    import numpy as np
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier

    texts, labels = read(path)
    vectors = HashingVectorizer(n_features=HASHED)
    model = SGDClassifier(loss="log_loss", random_state=0)
    if is_sets(labels):
        Y, names = indicator(labels)
        model = OneVsRestClassifier(model).fit(vectors.transform(texts), Y)
    else:
        model.fit(vectors.transform(texts), targets(labels))
        names = model.classes_

    def predict(texts):
        X = vectors.transform(texts)
        scores = (model.decision_function(X[i : i + ROWS]) for i in range(0, len(texts), ROWS))
        return [row.tolist() for part in scores for row in np.asarray(names)[best_columns(part)]]

    return predict


# What a system is called, the peer whose environment it runs in, what it imports, and its function.
LABELTREE = ("labeltree.cli.app", "labeltree.cli.train", "labeltree.estimators")
SKLEARN = ("sklearn.feature_extraction.text", "sklearn.preprocessing")
SYSTEMS = {
    "labeltree": ("`labeltree train`, 1 pass", "labeltree", LABELTREE, command_line()),
    "labeltree-3": (
        "`labeltree train --passes 3`",
        "labeltree",
        LABELTREE,
        command_line("--passes", "3"),
    ),
    "text-classifier": ("`TextClassifier().fit`", "labeltree", LABELTREE, text_classifier),
    "tfidf": (
        "TfidfVectorizer + `LabelTreeClassifier().fit`",
        "labeltree",
        (*LABELTREE, *SKLEARN),
        tfidf_labeltree,
    ),
    "libpecos": (
        "TfidfVectorizer + libpecos XR-Linear",
        "libpecos",
        (*SKLEARN, "pecos.xmc", "pecos.xmc.xlinear.model"),
        tfidf_libpecos,
    ),
    "fasttext": (
        "fastText, hs, 2-grams, 25 epochs",
        "fasttext",
        ("fasttext",),
        fasttext_supervised,
    ),
    "sgd": (
        "HashingVectorizer + SGDClassifier",
        "scikit_learn",
        (*SKLEARN, "sklearn.linear_model", "sklearn.multiclass"),
        hashing_sgd,
    ),
}


def run_system(name, data, work):
    """Train and predict in this process; return the measures and the labels."""
    _, _, modules, train = SYSTEMS[name]
    for module in modules:
        __import__(module)
    start, cpu = time.perf_counter(), time.process_time()
    predict = train(data, work)
    result = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "memory": peak_memory(),
    }
    texts, _ = read(data.with_name(data.name.replace("_train", "_test")))
    predict(texts[:1])  # for which `labeltree train`'s model is read
    cpu = time.process_time()
    rows = predict(texts)
    result["rate"] = len(texts) / (time.process_time() - cpu)
    found = [[str(label) for label in row if label is not None] for row in rows]
    return {**result, "labels": found}


def run_rows(data, repeats):
    """Return MB a second of processor of turning texts into rows, by both ways in turn."""
    from labeltree import TextFeatures

    texts, _ = read(data)
    size = sum(len(text.encode()) for text in texts) / 1e6
    made = {"TextFeatures": TextFeatures().fit(texts), "TfidfVectorizer": tfidf().fit(texts)}
    speeds = {name: [] for name in made}
    for _ in range(repeats):
        for name, vectors in made.items():
            start = time.process_time()
            vectors.transform(texts)
            speeds[name].append(size / (time.process_time() - start))
    return speeds


class Timed:
    """A learner that tells how long it was asked to learn."""

    def __init__(self, learner, spent):
        self.__dict__.update(learner=learner, spent=spent)

    def __getattr__(self, name):
        return getattr(self.learner, name)

    def learn(self, *arguments):
        """Learn, and add the time."""
        start, cpu = time.perf_counter(), time.thread_time()
        try:
            return self.learner.learn(*arguments)
        finally:
            self.spent["seconds"] += time.perf_counter() - start
            self.spent["cpu"] += time.thread_time() - cpu


def run_share(data, work):
    """Return what `labeltree train` takes in one pass, and what of it the core learns."""
    for module in LABELTREE:
        __import__(module)
    from labeltree import LabelTreeClassifier

    spent = {"seconds": 0.0, "cpu": 0.0}
    make = LabelTreeClassifier._make_learner
    LabelTreeClassifier._make_learner = lambda self: Timed(make(self), spent)
    start, cpu = time.perf_counter(), time.process_time()
    command_line()(data, work)
    whole = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    return {"whole": whole, "learn": spent}


def child(python, arguments, limit):
    """Run one measurement in a process of its own; return its result, or why there is none."""
    with tempfile.TemporaryDirectory() as work:
        command = [python, "-m", "bench.text", "--child", *map(str, arguments), work]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=limit,
                env={**os.environ, **ONE_THREAD},
            )
        except subprocess.TimeoutExpired:
            return {"reason": f"not finished in {limit:.0f} s"}
        if done.returncode:
            return {"reason": f"failed: {last_error(done.stderr)}"}
        return json.loads((Path(work) / "result.json").read_text())


def run_child(arguments):
    what, data, *rest, work = arguments
    work = Path(work)
    if what == "rows":
        result = run_rows(Path(data), int(rest[0]))
    elif what == "share":
        result = run_share(Path(data), work)
    else:
        result = run_system(what, Path(data), work)
    (work / "result.json").write_text(json.dumps(result))


def precisions(found, labels):
    from labeltree.metrics import precision_at_k

    padded = [row + [None] * (TOP - len(row)) for row in found]
    return [precision_at_k(labels, padded, k) for k in (1, 3, 5)]


def measure(options):
    """Return the results of every set and system."""
    environments = {}
    for name in options.peers:
        peer = SYSTEMS[name][1]
        try:
            environments[name] = environment(peer, options.environments)
        except CannotInstallError as error:
            environments[name] = str(error)
    results = {}
    for repeat in range(options.repeats):
        for data in options.sets:
            train = options.data / f"{data}_train.tsv.gz"
            _, labels = read(options.data / f"{data}_test.tsv.gz")
            for name, found in environments.items():
                if repeat and "reason" in results[data, name]:
                    continue
                if isinstance(found, str):
                    results[data, name] = {"reason": found}
                    continue
                result = child(found.python, [name, train], options.time_limit)
                if "labels" in result:
                    result["precision"] = precisions(result.pop("labels"), labels)
                    result["version"] = found.version
                    if repeat:
                        before = results[data, name]
                        for measured in ("seconds", "cpu"):
                            result[measured] = min(result[measured], before[measured])
                        result["rate"] = max(result["rate"], before["rate"])
                results[data, name] = result
                print(data, name, result, flush=True)
    return results


def table(results, names, sets):
    lines = []
    for data in sets:
        lines += [
            f"## {data}",
            "",
            "| system | P@1 | P@3 | P@5 | seconds | of processor | memory | texts a second |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for name in names:
            result = results[data, name]
            if "reason" in result:
                lines.append(f"| {SYSTEMS[name][0]} | {result['reason']} | | | | | | |")
                continue
            cells = [f"{100 * p:.2f}" for p in result["precision"]]
            cells += [f"{result['seconds']:.1f}", f"{result['cpu']:.1f}"]
            cells += [f"{result['memory'] / 2**20:,.0f} MiB", f"{result['rate']:,.0f}"]
            lines.append(f"| {SYSTEMS[name][0]} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def rows_and_share(options):
    lines = []
    for data in options.sets:
        train = options.data / f"{data}_train.tsv.gz"
        speeds = child(sys.executable, ["rows", train, 3], options.time_limit)
        if "reason" in speeds:
            lines.append(f"- {data}, text to rows: {speeds['reason']}")
        else:
            ours, theirs = speeds["TextFeatures"], speeds["TfidfVectorizer"]
            ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
            lines.append(
                f"- {data}, text to rows, a second of one processor: TextFeatures "
                f"{statistics.median(ours):.1f} MB, TfidfVectorizer "
                f"{statistics.median(theirs):.1f} MB; ratio "
                f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
            )
        share = child(sys.executable, ["share", train], options.time_limit)
        if "reason" in share:
            lines.append(f"- {data}, share outside learning: {share['reason']}")
        else:
            whole, learn = share["whole"], share["learn"]
            lines.append(
                f"- {data}, `labeltree train`, one pass: {whole['seconds']:.2f} s, of which "
                f"{1 - learn['seconds'] / whole['seconds']:.1%} outside the core's learning; "
                f"{whole['cpu']:.2f} s of processor, {1 - learn['cpu'] / whole['cpu']:.1%} outside"
            )
        print("\n".join(lines[-2:]), flush=True)
    return lines


def main():
    """Measure, and write the tables."""
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2:])
        return

    def names(text):
        return [name.strip() for name in text.split(",") if name.strip()]

    parser = argparse.ArgumentParser(prog="python -m bench.text", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=names, default=["hypernym", "debtags"])
    parser.add_argument("--peers", type=names, default=[*SYSTEMS], help=f"of {','.join(SYSTEMS)}")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds of a run")
    parser.add_argument("--environments", type=Path, default=default_cache())
    options = parser.parse_args()
    unknown = sorted({*options.peers} - {*SYSTEMS})
    if unknown:
        parser.error(f"--peers has {', '.join(unknown)}, expected some of {', '.join(SYSTEMS)}")
    options.data = options.data.absolute()
    results = measure(options)
    lines = table(results, options.peers, options.sets) + rows_and_share(options)
    versions = {SYSTEMS[n][1]: r["version"] for (_, n), r in results.items() if "version" in r}
    lines += ["", "Versions: " + ", ".join(f"{n} {v}" for n, v in versions.items()) + "."]
    options.out.write_text("\n".join(lines) + "\n")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
