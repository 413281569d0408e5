"""Draw the README's table of libraries, which is where the figures are.

    python -m bench.readme

writes docs/assets/readme.svg: precision@1 against the rows that are predicted in a second.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "assets" / "readme.svg"
ROW = re.compile(
    r"^\| (?P<name>[^|]+) \| (?P<precision>[^|]+) % "
    r"\| (?P<training>[^|]+) s \| (?P<rows>[^|]+) \|$",
    re.MULTILINE,
)
WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 40, 52
FONTS = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
STYLE = f"""
text {{ font: 14px {FONTS}; fill: #3d4a49 }}
.back {{ fill: #ffffff }} .grid {{ stroke: #d9e0df; fill: none }} .dot {{ fill: #8a9695 }}
.small {{ font-size: 12px; fill: #6b7777 }}
.ours .dot {{ fill: #00796b }} .ours text {{ font-weight: 700; fill: #00695c }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #cfd8d7 }} .back {{ fill: #15191d }} .grid {{ stroke: #333c40 }}
  .dot {{ fill: #7f8c8d }} .small {{ fill: #9aa7a6 }}
  .ours .dot {{ fill: #4db6ac }} .ours text {{ fill: #80cbc4 }}
}}
"""


class Library(NamedTuple):
    """A row of the table."""

    name: str
    precision: float
    training: str
    rows: float


def libraries(text: str) -> list[Library]:
    """Return the rows of the table in a text."""
    return [
        Library(
            re.sub(r"[*`]| [\d.]+,.*", "", found["name"]),
            float(found["precision"].strip("* ")),
            found["training"],
            float(re.sub(r"[^\d.]", "", found["rows"])),
        )
        for found in ROW.finditer(text)
    ]


def draw(rows: list[Library]) -> str:
    """Return the picture as SVG; it follows the reader's choice of light or dark."""
    least = math.floor(math.log10(min(row.rows for row in rows)))
    most = math.log10(max(row.rows for row in rows)) + 0.7  # room for names
    highest = 10 * math.ceil(max(row.precision for row in rows) / 10 + 0.2)

    def x(value: float) -> float:
        share = (math.log10(value) - least) / (most - least)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Precision@1 against rows predicted in a second">',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        f'<text x="{LEFT - 40}" y="24">precision@1, %</text>',
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 12}" text-anchor="end">'
        "rows predicted in a second</text>",
    ]
    for value in range(0, highest + 1, 10):
        parts.append(f'<path class="grid" d="M{LEFT} {y(value)}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="small" x="{LEFT - 8}" y="{y(value) + 4}" text-anchor="end">'
            f"{value}</text>"
        )
    for power in range(least, math.floor(most) + 1):
        parts.append(
            f'<text class="small" x="{x(10**power)}" y="{HEIGHT - BOTTOM + 18}" '
            f'text-anchor="middle">{10**power:,}</text>'
        )
    for row in rows:
        left, top = x(row.rows), y(row.precision)
        ours = row.name.startswith("labeltree")
        mark = ' class="ours"' if ours else ""
        parts += [
            f'<g{mark}><circle class="dot" cx="{left}" cy="{top}" r="{8 if ours else 6}"/>',
            f'<text x="{left + 13:.1f}" y="{top - 3:.1f}">{row.name}</text>',
            f'<text class="small" x="{left + 13:.1f}" y="{top + 13:.1f}">'
            f"trained in {row.training} s</text></g>",
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    table = (ROOT / "README.md").read_text(encoding="utf-8")
    PICTURE.write_text(draw(libraries(table)), encoding="utf-8")
