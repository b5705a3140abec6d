"""The admin site: Django's classes with the access rules and the layout of the other pages.

Django's own login, password pages, action log, scripts and styles are left out. The application has
its own logins and audit log, and `webui/templates/admin` has the templates of the admin.
"""

from typing import Any, Final, cast

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.http import require_http_methods
from typing_extensions import override

from ledger.messages import gettext_noop
from webui.accounts.roles import MANAGE_REFERENCE, View, abilities, requires
from webui.shell.page import frame_of

READ: Final = ("GET", "HEAD")
WRITE: Final = (*READ, "POST")
# Headings of the index, by label of the Django application.
HEADINGS: Final = {
    "ledger": gettext_noop("Reference data"),
    "auth": gettext_noop("People and roles"),
}


class ReferenceSite(AdminSite):
    """The admin of operators who work in every store."""

    site_title = "Inventory"
    index_title = gettext_noop("Admin")
    enable_nav_sidebar = False
    final_catch_all_view = False

    @override
    def has_permission(self, request: HttpRequest) -> bool:
        return MANAGE_REFERENCE in abilities(request.user)

    @override
    def get_urls(self) -> list[URLResolver | URLPattern]:
        tables = [
            path(
                f"{model._meta.app_label}/{model._meta.model_name}/",  # noqa: SLF001 -- Django documents `_meta`
                include(table.urls),
            )
            for model, table in self._registry.items()
        ]
        return [
            path("", self.guarded(self.index), name="index"),
            path("<slug:app_label>/", self.guarded(self.app_index), name="app_list"),
            *tables,
        ]

    def guarded(self, view: View, methods: tuple[str, ...] = READ) -> View:
        """Return the view with the admin's access rule; other methods than `methods` get 405."""
        rule = requires(MANAGE_REFERENCE, company=True)
        return require_http_methods(list(methods))(rule(self.admin_view(view)))

    @override
    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), **frame_of(request, "admin")}

    @override
    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        for app in apps:
            app["name"] = HEADINGS[app["app_label"]]
            for table in app["models"]:
                table["name"] = cast("Any", self._registry[table["model"]]).plural
            app["models"].sort(key=lambda table: table["name"])
        return sorted(apps, key=lambda app: list(HEADINGS).index(app["app_label"]))

    @override
    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the tables of the admin."""
        return super().index(request, extra_context)

    @override
    def app_index(
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Show the tables of one application."""
        return super().app_index(request, app_label, extra_context)


site: Final = ReferenceSite()
