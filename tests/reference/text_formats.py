"""Slow, obvious versions of the text parsers: a line in, (labels, {index: value}, weight) out."""

import math
import re
import struct

MASK = 2**64 - 1


def mix64(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def hash_bytes(data, seed=0):
    h = mix64(seed ^ ((0x9E3779B97F4A7C15 * (len(data) + 1)) & MASK))
    whole = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        h = mix64(h ^ word)
    return mix64(h ^ int.from_bytes(data[whole:], "little"))


def typed_label(token):
    match = re.fullmatch(r"\+?(-?(?:0|[1-9][0-9]*))(?:\.0*)?", token)
    if match and not token.startswith("+-") and -(2**63) <= int(match[1]) < 2**63:
        return int(match[1])
    return token


def unique(labels):
    return list(dict.fromkeys(labels))


def svmlight(line):
    """Parse `label[,label...] [qid:N] index:value ... [# comment]`."""
    label_text, _, rest = line.partition(" ")
    if ":" in label_text:
        label_text, rest = "", line
    labels = unique(typed_label(token) for token in label_text.split(",") if label_text)
    features = {}
    for token in rest.partition("#")[0].split():
        index, value = token.split(":")
        if index != "qid":
            features[int(index)] = features.get(int(index), 0.0) + float(value)
    return labels, features, 1.0


def vw(line, hash_bits):
    """Parse `[labels] [importance] [base] ['tag]|namespace[:scale] name[:value] ...`."""
    head, *namespaces = line.split("|")
    tokens = head.split()
    if tokens and (head[-1] != " " or tokens[-1].startswith("'")):
        tokens.pop()
    labels = unique(typed_label(token) for token in tokens[0].split(",")) if tokens else []
    weight = float(tokens[1]) if len(tokens) > 1 else 1.0
    features = {}
    for text in namespaces:
        name, scale = "", "1"
        tokens = text.split()
        if text and text[0] != " ":
            name, _, scale = tokens.pop(0).partition(":")
        for token in tokens:
            feature, _, value = token.partition(":")
            seed = hash_bytes(name.encode())
            index = hash_bytes(feature.encode(), seed) % 2**hash_bits
            features[index] = features.get(index, 0.0) + float(value or 1) * float(scale or 1)
    return labels, features, weight


def tsv(line, *, label_separator, word_ngrams, char_ngrams, lowercase, hash_bits, normalize):
    """Parse `label<TAB>text`."""
    label_text, _, text = line.partition("\t")
    labels = label_text.split(label_separator) if label_separator else [label_text]
    if lowercase:
        text = re.sub("[A-Z]", lambda match: match[0].lower(), text)
    words = re.findall("[0-9A-Za-z_\x80-\U0010ffff]+", text)
    grams = []
    for n in range(1, word_ngrams + 1):
        for start in range(len(words) - n + 1):
            grams.append((" ".join(words[start : start + n]), 1))
    if char_ngrams:
        for word in words:
            padded = f" {word} "
            for n in range(char_ngrams[0], char_ngrams[1] + 1):
                grams += [(padded[i : i + n], 2) for i in range(len(padded) - n + 1)]
    features = {}
    for gram, seed in grams:
        index = hash_bytes(gram.encode(), seed) % 2**hash_bits
        features[index] = features.get(index, 0.0) + 1.0
    if normalize:
        norm = math.sqrt(sum(value**2 for value in features.values()))
        features = {index: value / norm for index, value in features.items()}
    return unique(labels) if label_text else [], features, 1.0
