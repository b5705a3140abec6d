"""Headings and icons of the navigation, and the desks in the bar at the bottom of a phone."""

from typing import Final

from ledger.messages import gettext_noop

# Headings of the navigation: each begins at a desk and lasts until the next one.
GROUPS: Final = {
    "stock": gettext_noop("Store"),
    "reorders": gettext_noop("Buying and prices"),
    "history": gettext_noop("Company"),
}
# Icons of `static/vendor/lucide/lucide.svg`.
ICONS: Final = {
    "stock": "boxes",
    "tasks": "list-checks",
    "counts": "clipboard-check",
    "receiving": "package-check",
    "transfers": "repeat",
    "reorders": "shopping-cart",
    "orders": "file-text",
    "suppliers": "truck",
    "ranging": "layers",
    "prices": "tag",
    "system": "activity",
    "people": "users",
    "admin:index": "settings",
    "home": "house",
    "find": "search",
    "scan": "scan-barcode",
    "labels": "barcode",
    "history": "history",
    "audit": "shield-check",
}
OTHER_ICON: Final = "package"
# A page that the bar shows to people who count, although it is no desk: Find leads to it.
SCAN: Final = "scan"
SCAN_PAGE: Final = "find/scan.html"
# The bar of a phone: a person gets the first four of these that they may open. The second text is
# the label there.
BAR: Final = (
    ("find", gettext_noop("Find")),
    (SCAN, gettext_noop("Scan")),
    ("counts", gettext_noop("Count")),
    ("receiving", gettext_noop("Receive")),
    ("tasks", gettext_noop("Tasks")),
    ("reorders", gettext_noop("Reorders")),
    ("prices", gettext_noop("Prices")),
    ("orders", gettext_noop("Orders")),
    ("system", gettext_noop("System")),
)
BAR_LENGTH: Final = 4
