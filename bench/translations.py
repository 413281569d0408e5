"""Data sets of raw text in German, Japanese and Chinese: what Debian's packages are, by section.

    python -m bench.translations OUT [--languages de,ja,zh_CN] [--folds N] [--fetch-only]

apt fetches the package index of a Debian suite, and the descriptions that volunteers translated,
into OUT/apt; the configuration of the system stays as it is. Writes LANGUAGE_train.tsv and
LANGUAGE_test.tsv to OUT: section, tab, translated description. Packages of one source, whose
descriptions are much alike, are all in the same file, and no text is there twice. Then prints
precision@1 of `labeltree train` in three passes, beside scikit-learn's n-grams of characters before
the same learner: on the test file, or with --folds on so many parts of the training file, each left
out in turn.
"""

import argparse
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path
from zlib import crc32

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import labeltree

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PARTS = 5  # of which one is for testing


def fetch(folder, mirror, suite, languages):
    """Let apt fetch its lists into a folder of their own."""
    for name in ("lists/partial", "cache/archives/partial", "parts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    signed = f"[signed-by={KEYS}] " if KEYS.exists() else ""
    (folder / "sources.list").write_text(f"deb {signed}{mirror} {suite} main\n")
    settings = {
        "Dir::State": folder,
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": folder / "parts",
        "Acquire::Languages": ",".join(languages),
        "Acquire::GzipIndexes": "false",
        "APT::Sandbox::User": "",
    }
    options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", *options, "update", "-qq"], check=True)


def stanzas(path):
    """Yield the fields of each stanza; lines of a field stay apart."""
    fields, lines = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line == "\n":
                yield fields
                fields = {}
            elif line[0] in " \t":
                lines.append(line.strip())
            else:
                name, _, value = line.partition(":")
                lines = fields[name] = [value.strip()]
    if fields:
        yield fields


def is_wide(character):
    return unicodedata.east_asian_width(character) in "WF"


def joined(lines):
    """Return lines as one text; no space where a script without spaces was broken into lines."""
    text = ""
    for line in lines:
        piece = " " if line == "." else " ".join(line.split())
        if text and piece and not (is_wide(text[-1]) and is_wide(piece[0])):
            text += " "
        text += piece
    return " ".join(text.split())


def listed(folder, ending):
    """Return the list that apt keeps under a name with this ending."""
    found = [*folder.glob(f"lists/*{ending.replace('_', '%5f')}")]
    if not found:
        raise SystemExit(f"apt has fetched no {ending} to {folder / 'lists'}")
    return found[0]


def read_rows(folder, language):
    """Return source, section and text of each translated package, one of a text, shuffled."""
    packages = {}
    for fields in stanzas(next(folder.glob("lists/*_Packages"))):
        source = fields.get("Source", fields["Package"])[0].split()[0]
        packages[fields["Package"][0]] = source, fields["Section"][0]
    rows, texts = {}, set()
    for fields in stanzas(listed(folder, f"Translation-{language}")):
        name = fields["Package"][0]
        text = joined(fields[f"Description-{language}"])
        if name in packages and text not in texts:
            texts.add(text)
            rows[name] = (*packages[name], text)
    rows = [rows[name] for name in sorted(rows)]
    return [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]


def write(path, rows):
    path.write_text("".join(f"{section}\t{text}\n" for _, section, text in rows), "utf-8")


def train(rows, path, *options):
    """Return the model that the command line makes of rows."""
    write(path, rows)
    model = path.with_suffix(".model")
    command = ["train", path, "-m", model, "--passes", "3", "--quiet", *options]
    subprocess.run([sys.executable, "-m", "labeltree", *command], check=True)
    return labeltree.load(model)


def answers(learned, tested):
    """Return whether each answer of each system is right."""
    texts, sections = [row[2] for row in learned], [row[1] for row in learned]
    asked, truth = [row[2] for row in tested], np.array([row[1] for row in tested])
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    fitted = labeltree.LabelTreeClassifier().fit(vectors.fit_transform(texts), sections)
    right = {}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "train.tsv"
        right["labeltree train"] = train(learned, path).predict(asked) == truth
        also = train(learned, path, "--char-ngrams", "2-4")
        right["labeltree train --char-ngrams 2-4"] = also.predict(asked) == truth
    fit = labeltree.TextClassifier().fit(texts, sections)
    right["TextClassifier().fit"] = fit.predict(asked) == truth
    right["char_wb tf-idf + LabelTreeClassifier().fit"] = (
        fitted.predict(vectors.transform(asked)) == truth
    )
    return right


def measure(language, rows, folds):
    """Print precision@1 on the test rows, or on the folds of the training rows."""
    number = {source: crc32(source.encode()) for source, _, _ in rows}
    learned = [row for row in rows if number[row[0]] % PARTS]
    if not folds:
        tested = [row for row in rows if number[row[0]] % PARTS == 0]
        right = answers(learned, tested)
    else:
        fold = [number[row[0]] // PARTS % folds for row in learned]
        parts = []
        for left_out in range(folds):
            kept, tested = (
                [row for row, f in zip(learned, fold, strict=True) if (f == left_out) == test]
                for test in (False, True)
            )
            parts.append(answers(kept, tested))
        right = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    for name, hits in right.items():
        error = hits.std() / len(hits) ** 0.5
        print(
            f"| {language} | {name} | {100 * hits.mean():.2f} ± {100 * error:.2f} | {len(hits):,} |"
        )


def main():
    """Fetch, write and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.translations", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--languages", default="de,ja,zh_CN")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--fetch-only", action="store_true", help="write the files, and no more")
    options = parser.parse_args()
    languages = options.languages.split(",")
    folder = options.out.absolute() / "apt"
    if not all([*folder.glob(f"lists/*Translation-{x.replace('_', '%5f')}")] for x in languages):
        fetch(folder, options.mirror, options.suite, languages)
    for language in languages:
        rows = read_rows(folder, language)
        test = [crc32(source.encode()) % PARTS == 0 for source, _, _ in rows]
        for part in ("train", "test"):
            chosen = [row for row, t in zip(rows, test, strict=True) if t == (part == "test")]
            write(options.out / f"{language}_{part}.tsv", chosen)
            sections = len({section for _, section, _ in chosen})
            print(f"{language} {part}: {len(chosen):,} rows, {sections} sections")
    if options.fetch_only:
        return
    print("| language | system | precision@1 | rows |\n|---|---|---|---|")
    for language in languages:
        measure(language, read_rows(folder, language), options.folds)


if __name__ == "__main__":
    main()
