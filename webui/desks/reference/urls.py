"""Routes of the admin. The imports of `admin` and `codes` register the tables of the admin."""

from django.urls import path

from webui.desks.reference import admin, code_import, codes  # noqa: F401 -- registers the tables
from webui.desks.reference.site import site

urlpatterns = [
    path("codes/import", code_import.codes_import, name="codes-import"),
    path("admin/", site.urls),
]
