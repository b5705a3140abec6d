"""A read-only table of the admin: a list with search, filters and pages."""

from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib.admin import ModelAdmin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import URLPattern, path
from typing_extensions import override

from webui.accounts.roles import View
from webui.desks.reference.rows import ListedRows
from webui.desks.reference.site import READ, ReferenceSite

if TYPE_CHECKING:  # Django's class takes no parameter at run time
    _Admin = ModelAdmin[Model]
else:
    _Admin = ModelAdmin

Context = dict[str, Any] | None
# The comparisons that links of Django's filters use. "" compares for equality.
_COMPARISONS: Final = ("", "exact", "isnull")


class ReadTable(_Admin):
    """A list with search and filters. The access rules of the site apply."""

    admin_site: ReferenceSite
    plural: ClassVar[str]
    note: ClassVar[str] = ""
    actions = None
    list_per_page = 50
    show_full_result_count = False

    @override
    def get_urls(self) -> list[URLPattern]:
        return [self.address("", self.changelist_view, "changelist")]

    def address(
        self, route: str, view: View, name: str, methods: tuple[str, ...] = READ
    ) -> URLPattern:
        """Return a route of this table with the site's access rule.

        HTTP methods that aren't in `methods` get 405. The route is named `APP_MODEL_NAME`, for
        example `ledger_product_changelist`.
        """
        opts = self.opts
        name = f"{opts.app_label}_{opts.model_name}_{name}"
        return path(route, self.admin_site.guarded(view, methods), name=name)

    @override
    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    @override
    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.admin_site.has_permission(request)

    @override
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @override
    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @override
    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @override
    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Return True only for the list's filters, and for the comparisons in their links.

        By other lookups, a person could find out the values of a hidden column. Other comparisons,
        such as `department__regex=(`, could be errors in Postgres.
        """
        column, _, comparison = lookup.partition("__")
        return column in self.list_filter and comparison in _COMPARISONS

    @override
    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ListedRows]:
        return ListedRows

    @override
    def changelist_view(self, request: HttpRequest, extra_context: Context = None) -> Any:
        """List the rows of a table, with search and filters."""
        shown = {"title": self.plural, "note": self.note, **(extra_context or {})}
        return super().changelist_view(request, shown)
