#!/usr/bin/env bash
# A Vowpal Wabbit session and its counterpart: the same input files, read natively.
# docs/vowpal_wabbit.md has a table of options.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python - <<'EOF'
import random

random.seed(0)
for name, rows in (("train", 4000), ("test", 500)):
    with open(f"{name}.vw", "w") as file:
        for i in range(rows):
            label = random.randint(1, 50)
            words = [f"w{(label * 7 + random.randint(0, 3)) % 97}" for _ in range(4)]
            weight = " 2.0" if label == 1 else ""
            print(f"{label}{weight} 'row{i}|words {' '.join(words)} |numbers size:{label / 50:.2f}", file=file)
EOF

# vw -d train.vw --recall_tree 50 -b 22 --passes 3 -c --holdout_off -f m.vw
labeltree train train.vw -m m.labeltree --algorithm recall-tree --bits 22 --passes 3

# vw -d test.vw -t -i m.vw
labeltree evaluate m.labeltree test.vw

# vw -d test.vw -t -i m.vw -p predictions.txt
labeltree predict m.labeltree test.vw -o predictions.txt
head -n 3 predictions.txt
