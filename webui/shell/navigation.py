"""Headings and icons of the navigation, and the desks in the bar at the bottom of a phone."""

from typing import Final

from ledger.messages import gettext_noop

# Headings of the navigation, by the first desk below each heading.
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
# The page Scan is no desk, because people open it from Find. The bar shows it to people who count.
SCAN: Final = "scan"
SCAN_PAGE: Final = "find/scan.html"
# The bar of a phone shows the first four of these pages that a person may open. The second text is
# the label of the page in the bar.
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
