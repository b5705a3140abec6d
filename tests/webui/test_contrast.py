"""Texts have enough contrast (WCAG 2.2, 1.4.3) on each background, in light and in dark colours."""

import re
from itertools import product

import pytest

from deploy.stack.home import PROJECT

TEXTS = ("ink", "soft", "brand", "good", "warn", "bad", "info")
GROUNDS = (
    *("paper", "card", "rail", "hover", "fresh"),
    *("brand-soft", "warn-soft", "bad-soft", "good-soft", "info-soft"),
)
LEAST = 4.5


def colours(*, dark: bool) -> dict[str, str]:
    css = (PROJECT / "webui/static/css/app.css").read_text("utf-8")
    light, _, rest = css.partition("@media (prefers-color-scheme: dark)")
    part = rest.partition("@layer")[0] if dark else light
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})\b", part))


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_have_enough_contrast_on_each_background(dark: bool) -> None:  # noqa: FBT001 -- a case
    found = colours(dark=dark)
    weak = {
        (text, ground): round(contrast(found[text], found[ground]), 2)
        for text, ground in product(TEXTS, GROUNDS)
        if contrast(found[text], found[ground]) < LEAST
    }
    assert weak == {}
