#!/usr/bin/env bash
# Next-word prediction from a stream, with checkpoints: the process is lost on the way, and a new
# one goes on exactly where the last checkpoint was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The language reference that comes with Python: a word, a tab, the four words before it.
python - > words.tsv <<'EOF'
import re
from pydoc_data.topics import topics

for name in sorted(topics):
    words = re.findall(r"[a-z']+", topics[name].lower())
    for i, word in enumerate(words[:1500]):
        before = words[max(0, i - 4) : i]
        print(word, " ".join(f"{word}{len(before) - j}" for j, word in enumerate(before)), sep="\t")
EOF

# Train on a stream. A checkpoint is a complete model, replaced as a whole.
labeltree train words.tsv -m next.labeltree --bits 20 --checkpoint-every 5k --quiet &
process=$!
until [ -f next.labeltree ]; do sleep 0.02; done
kill -9 "$process"
wait "$process" || true

# Go on: the data, the options and the line are in the checkpoint.
labeltree train --resume next.labeltree

# Ask for the word that follows "the value of".
printf '\tthe3 value2 of1\n' | labeltree predict next.labeltree - --top 3 --scores
