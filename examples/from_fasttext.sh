#!/usr/bin/env bash
# A fastText session and its counterpart: the same files, the same questions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# __label__module  the text of a function of the standard library
python - <<'EOF'
from labeltree.datasets import stdlib_functions

texts, labels = stdlib_functions(2500)
lines = [f"__label__{y} {' '.join(text.split())}\n" for text, y in zip(texts, labels, strict=True)]
open("train.txt", "w").writelines(lines[:2000])
open("test.txt", "w").writelines(lines[2000:])
EOF

# fasttext supervised -input train.txt -output model -wordNgrams 2 -epoch 25 -lr 1.0 -loss hs
labeltree train train.txt -m m.labeltree --passes 3 --quiet

# fasttext test model.bin test.txt
labeltree evaluate m.labeltree test.txt

# fasttext predict-prob model.bin test.txt 3
labeltree predict m.labeltree test.txt --top 3 --scores -o predictions.tsv
head -n 3 predictions.tsv

# what fastText has not: learn on, one line at a time, and say why
labeltree train test.txt --resume m.labeltree -m m2.labeltree --quiet
labeltree inspect m2.labeltree --example test.txt:1 > why.txt
tail -n 16 why.txt | head -n 8
