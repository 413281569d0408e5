"""Slow, obvious versions of the text parsers: a line in, (labels, {index: value}, weight) out.

And of what becomes of text: its words, and the features that they are.
"""

import math
import re
import struct
import unicodedata
from collections import Counter

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


def tsv(line, label_separator=None):
    """Parse `label<TAB>text`; the features are the text."""
    label_text, _, text = line.partition("\t")
    labels = label_text.split(label_separator) if label_separator else [label_text]
    return unique(labels) if label_text else [], text, 1.0


def fasttext(line, prefix="__label__"):
    """Parse `__label__a __label__b some text`; spaces are as they were."""
    labels, text = [], ""
    for token in re.findall("[ \t]+|[^ \t]+", line):
        if token.startswith(prefix):
            labels.append(token.removeprefix(prefix))
        else:
            text += token
    return unique(labels), text, 1.0


def annif(line):
    """Parse `text<TAB><uri> <uri>`."""
    text, _, uris = line.partition("\t")
    return unique(uri[1:-1] for uri in uris.split()), text, 1.0


UNSPACED = (  # how the names of characters begin that are written without spaces between words
    *("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA"),
    *("HALFWIDTH KATAKANA", "HENTAIGANA", "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC NUMBER"),
    *("THAI ", "LAO ", "KHMER ", "MYANMAR "),
)
SEQUENCE = 0.5  # what a sequence of words counts
WORDS, CHARACTERS = 1, 2  # the seeds of hashes
PLACES = 2**22  # of counts, which features share


def words(text, lowercase=True):
    """Return the words of a text, and whether each is of a script without spaces."""
    found, previous = [], None
    for character in text:
        category = unicodedata.category(character)
        if category[0] not in "LNM":
            previous = None
            continue
        unspaced = unicodedata.name(character, "").startswith(UNSPACED)
        begins = (
            previous is None
            or (unspaced != found[-1][1] and category[0] != "M")
            or (previous == "Ll" and category in ("Lu", "Lt"))
        )
        if begins:
            found.append(("", unspaced))
        word, is_unspaced = found[-1]
        found[-1] = (word + (character.casefold() if lowercase else character), is_unspaced)
        previous = category
    return found


def sequences(word, low, high):
    """Return the sequences of so many characters."""
    return [word[i : i + n] for n in range(low, high + 1) for i in range(len(word) - n + 1)]


def grams(text, word_ngrams=2, char_ngrams=None, lowercase=True):
    """Return (what is hashed, the seed, whether it is a sequence of words) of each feature."""
    found = words(text, lowercase)
    all_grams = []
    for n in range(1, word_ngrams + 1):
        for start in range(len(found) - n + 1):
            part = found[start : start + n]
            if not any(unspaced for _, unspaced in part):
                all_grams.append((" ".join(word for word, _ in part), WORDS, n > 1))
    for word, unspaced in found:
        if unspaced:
            characters = sequences(word, 2, 2) or [word]
        elif char_ngrams:
            characters = sequences(f" {word} ", *char_ngrams)
        else:
            characters = []
        all_grams += [(gram, CHARACTERS, False) for gram in characters]
    return all_grams


class TextFeatures:
    """Texts to rows of weighted features, one text at a time."""

    def __init__(self, hash_bits=24, idf=True, **options):
        self.hash_bits = hash_bits
        self.idf = idf
        self.options = options
        self.documents = 0
        self.counts = Counter()

    def features(self, text):
        """Return (feature, whether it is a sequence of words) as often as it is in the text."""
        return [
            (hash_bytes(gram.encode(), seed) % 2**self.hash_bits, sequence)
            for gram, seed, sequence in grams(text, **self.options)
        ]

    def count(self, feature):
        return self.counts[feature % PLACES]

    def is_left_out(self, feature, sequence, counted):
        """Tell whether it is a sequence of words that no two texts had, with one counted now."""
        return self.idf and sequence and self.count(feature) + counted < 2

    def row(self, text, counted=False):
        """Return the row of a text; then count it, if asked to."""
        found = self.features(text)
        row = Counter()
        for feature, sequence in found:
            if not self.is_left_out(feature, sequence, counted):
                row[feature] += SEQUENCE if sequence else 1.0
        if self.idf:
            row = {feature: self.weight(feature, times) for feature, times in row.items()}
        if counted:
            self.documents += 1
            self.counts.update(feature % PLACES for feature in {f for f, _ in found})
        norm = math.sqrt(sum(value**2 for value in row.values()))
        return {feature: value / norm for feature, value in row.items()}

    def weight(self, feature, times):
        tf = 1 + math.log(times) if times > 1 else times
        return tf * max(1.0, math.log((1 + self.documents) / (1 + self.count(feature))) + 1)
