"""Writes the C++ tables of what is known of each character, from Python's own unicodedata.

Run by the build: python unicode_tables.py OUTPUT
"""

import sys
import unicodedata

BLOCK = 128
WORD, LOWER, UPPER, MARK, ALONE, FOLDS = 1, 2, 4, 8, 16, 32
# Scripts that are written without spaces between words, as the names of their characters begin.
UNSPACED = (
    *("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA"),
    *("HALFWIDTH KATAKANA", "HENTAIGANA", "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC NUMBER"),
    *("THAI ", "LAO ", "KHMER ", "MYANMAR "),
)


def kind(point):
    """Return the bits of a code point."""
    character = chr(point)
    category = unicodedata.category(character)
    if category[0] not in "LNM":
        return 0
    bits = WORD
    bits |= LOWER if category == "Ll" else 0
    bits |= UPPER if category in ("Lu", "Lt") else 0
    bits |= MARK if category[0] == "M" else 0
    bits |= ALONE if unicodedata.name(character, "").startswith(UNSPACED) else 0
    bits |= FOLDS if character.casefold() != character else 0
    return bits


def rows(entries):
    """Return the entries of a table as lines of C++."""
    texts = [f"{entry}," for entry in entries]
    return "\n".join("  " + " ".join(texts[i : i + 24]) for i in range(0, len(texts), 24))


def main(output):
    """Write the tables."""
    kinds = [kind(point) for point in range(0x110000)]
    blocks, numbers = [], {}
    for start in range(0, len(kinds), BLOCK):
        block = tuple(kinds[start : start + BLOCK])
        blocks.append(numbers.setdefault(block, len(numbers)))
    assert len(numbers) < 2**16
    folding = [point for point, bits in enumerate(kinds) if bits & FOLDS]
    folded = [[ord(c) for c in chr(point).casefold()] for point in folding]
    assert max(map(len, folded)) <= 3
    with open(output, "w", encoding="ascii") as file:
        file.write(f"// Unicode {unicodedata.unidata_version}, made by unicode_tables.py.\n")
        file.write(f"constexpr std::size_t kBlock = {BLOCK};\n")
        file.write(f"constexpr std::uint16_t kBlocks[] = {{\n{rows(blocks)}\n}};\n")
        flat = [bits for block in numbers for bits in block]
        file.write(f"constexpr std::uint8_t kKinds[] = {{\n{rows(flat)}\n}};\n")
        file.write(f"constexpr char32_t kFolding[] = {{\n{rows(folding)}\n}};\n")
        entries = [f"{{{', '.join(map(str, points))}}}" for points in folded]
        file.write(f"constexpr char32_t kFolded[][3] = {{\n{rows(entries)}\n}};\n")


if __name__ == "__main__":
    main(sys.argv[1])
