"""Bytes that are almost right."""

from __future__ import annotations

import random

# What readers look for, and numbers at the ends of what they can hold.
TOKENS = [
    *(b"\n", b"\r\n", b"\r", b"\t", b" ", b"  ", b":", b"::", b",", b",,", b"|", b"#", b"'", b"\0"),
    *(
        b"0",
        b"-0",
        b"+1",
        b"-1",
        b"007",
        b"1.0",
        b"1.",
        b".5",
        b"1e3",
        b"0x10",
        b"1_000",
        b"\xd9\xa1",
    ),
    *(b"255", b"65536", b"2147483647", b"2147483648", b"4294967295", b"4294967296"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808"),
    *(b"18446744073709551615", b"18446744073709551616", b"9" * 40, b"0." + b"3" * 60),
    *(b"1e38", b"3.5e38", b"1e308", b"1e309", b"1e-46", b"1e-400", b"1e99999999999"),
    *(
        b"inf",
        b"-inf",
        b"nan",
        b"NaN",
        b"Infinity",
        b"nan(1)",
        b"e",
        b"-",
        b"+",
        b".",
        b"1e",
        b"1e+",
    ),
    *(b"qid:3", b"qid:", b"# note", b"|a ", b"|a:2 ", b"|:", b"'tag|", b"2 9 9\n", b"0 0 0\n"),
    *(b"\xc3\xa9", b"\xc3", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(b"\xe2\x80\xa8", b"\xc2\x85", b"\x1a", b"\x7f", b"\x0b", b"\x0c"),
]


def mutate(content: bytes, random: random.Random, tokens: list[bytes] = TOKENS) -> bytes:
    """Return the bytes with one to eight changes."""
    text = bytearray(content)
    for _ in range(1 << random.randrange(4)):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + int(random.paretovariate(1.0)))
        match random.randrange(8):
            case 0:
                text[at:at] = random.choice(tokens)
            case 1:
                text[at:end] = random.choice(tokens)
            case 2:
                del text[at:end]
            case 3:
                text[at:end] = random.randbytes(end - at)
            case 4:
                text[at:at] = text[at:end] * random.choice((1, 1, 2, 100))
            case 5:
                other = random.randrange(len(text) + 1)
                text[at:at] = text[other : other + end - at]
            case 6 if at < len(text):
                text[at] ^= 1 << random.randrange(8)
            case _:
                if random.random() < 0.1:
                    del text[at:]
    return bytes(text[: 1 << 16])
