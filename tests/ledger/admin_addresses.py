"""Every address of the admin, for operators who work in every store: pages and forms."""

from typing import Any

from tests.ledger.planted import GTIN, NUMBER, SUPPLIER

SUPPLIER_CODE = f"{SUPPLIER}%7C{NUMBER}"
PAGES: dict[str, str] = {
    "index": "/admin/",
    "app_list": "/admin/ledger/",
    "auth_user_changelist": "/admin/auth/user/",
    "auth_group_changelist": "/admin/auth/group/",
    "ledger_product_changelist": "/admin/ledger/product/",
    "ledger_location_changelist": "/admin/ledger/location/",
    "ledger_supplier_changelist": "/admin/ledger/supplier/",
    "ledger_gtin_changelist": "/admin/ledger/gtin/",
    "ledger_suppliercode_changelist": "/admin/ledger/suppliercode/",
    "ledger_gtin_history": f"/admin/ledger/gtin/{GTIN}/history/",
    "ledger_suppliercode_history": f"/admin/ledger/suppliercode/{SUPPLIER_CODE}/history/",
    "ledger_product_history": "/admin/ledger/product/MINEPRODUCT/history/",
    "ledger_location_history": "/admin/ledger/location/MINE-1/history/",
    "ledger_supplier_history": f"/admin/ledger/supplier/{SUPPLIER}/history/",
}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "ledger_product_add": ("/admin/ledger/product/add/", {"code": "NEW", "name": "New"}),
    "ledger_product_change": (
        "/admin/ledger/product/MINEPRODUCT/change/",
        {"name": "Other", "department": "", "shown": "{}"},
    ),
    "ledger_location_add": (
        "/admin/ledger/location/add/",
        {"code": "NEW-1", "name": "New", "kind": "store", "address": ""},
    ),
    "ledger_location_change": (
        "/admin/ledger/location/MINE-1/change/",
        {"name": "Other", "kind": "store", "address": "", "shown": "{}"},
    ),
    "ledger_gtin_add": (
        "/admin/ledger/gtin/add/",
        {"code": "96385074", "sku": "MINEPRODUCT", "pack_units": 1, "is_active": "on"},
    ),
    "ledger_gtin_change": (
        f"/admin/ledger/gtin/{GTIN}/change/",
        {"sku": "MINEPRODUCT", "pack_units": 2, "shown": "{}"},
    ),
    "ledger_suppliercode_add": (
        "/admin/ledger/suppliercode/add/",
        {"supplier": SUPPLIER, "number": "N-2", "sku": "MINEPRODUCT", "is_active": "on"},
    ),
    "ledger_suppliercode_change": (
        f"/admin/ledger/suppliercode/{SUPPLIER_CODE}/change/",
        {"sku": "MINEPRODUCT", "shown": "{}"},
    ),
    "ledger_supplier_add": ("/admin/ledger/supplier/add/", {"code": "NEW", "name": "New"}),
    "ledger_supplier_change": (
        f"/admin/ledger/supplier/{SUPPLIER}/change/",
        {"name": "Other", "shown": "{}"},
    ),
}
