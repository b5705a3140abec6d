"""Tables of the admin: three that operators change, and people and roles to look up."""

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from typing_extensions import override

from ledger.access.roles import ROLES
from ledger.items.reference import DescribeLocation, DescribeProduct, DescribeSupplier
from ledger.kernel.refusal_text import moment_text
from ledger.messages import gettext_noop
from ledger.models import Location, Product, Supplier
from webui.accounts.roles import GROUPS_OF
from webui.desks.reference.forms import LocationForm
from webui.desks.reference.site import site
from webui.desks.reference.tables import ReadTable
from webui.desks.reference.written import WrittenTable

_LABELS = {role.code: role.label for role in ROLES}


@admin.register(Product, site=site)
class ProductAdmin(WrittenTable):
    """The admin's table of products."""

    plural = gettext_noop("Products")
    note = gettext_noop(
        "Buyers can range an item that is listed here: on the desk “Range”, they add it to a "
        "location."
    )
    kind = DescribeProduct
    fields = ("code", "name", "department")
    list_display = ("code", "name", "department")
    list_filter = ("department",)
    search_fields = ("code", "name")

    @override
    def command(self, row: Product) -> DescribeProduct:
        return DescribeProduct(row.code, row.name, row.department)


@admin.register(Location, site=site)
class LocationAdmin(WrittenTable):
    """The admin's table of locations: stores and warehouses."""

    plural = gettext_noop("Locations")
    note = gettext_noop("To give a person access to a store, use the desk “People”.")
    form = LocationForm
    kind = DescribeLocation
    fields = ("code", "name", "kind", "address")
    list_display = ("code", "name", "kind", "address")
    list_filter = ("kind",)
    search_fields = ("code", "name", "address")

    @override
    def command(self, row: Location) -> DescribeLocation:
        return DescribeLocation(row.code, row.name, row.kind, row.address)


@admin.register(Supplier, site=site)
class SupplierAdmin(WrittenTable):
    """The admin's table of suppliers, with codes and names.

    Buyers change the terms of a supplier on the suppliers desk.
    """

    plural = gettext_noop("Suppliers")
    note = gettext_noop(
        "On the desk “Suppliers”, buyers set the terms of a supplier: status, order days, "
        "addresses."
    )
    kind = DescribeSupplier
    fields = ("code", "name")
    list_display = ("code", "name", "state")
    list_filter = ("is_active",)
    search_fields = ("code", "name")

    @override
    def command(self, row: Supplier) -> DescribeSupplier:
        return DescribeSupplier(row.code, row.name)

    @admin.display(description=gettext_noop("state"), ordering="is_active")
    def state(self, row: Supplier) -> str:
        """Return "active" if orders may be sent to the supplier, else "inactive"."""
        return gettext("active") if row.is_active else gettext("inactive")


@admin.register(User, site=site)
class PersonAdmin(ReadTable):
    """Accounts with their roles; the desk People changes them."""

    plural = gettext_noop("People")
    note = gettext_noop("To add a person, or to change roles and stores, open the desk “People”.")
    list_display = ("username", "roles", "state", "seen")
    list_display_links = None
    list_filter = ("is_active",)
    search_fields = ("username", "groups__name")
    ordering = ("username",)

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return User.objects.order_by("username").prefetch_related("groups")

    @admin.display(description=gettext_noop("roles"))
    def roles(self, row: User) -> str:
        """Return the roles of the person, sorted and separated by commas."""
        return ", ".join(sorted(group.name for group in row.groups.all())) or gettext("no role")

    @admin.display(description=gettext_noop("state"), ordering="is_active")
    def state(self, row: User) -> str:
        """Return "active" if the person may log in, else "disabled"."""
        return gettext("active") if row.is_active else gettext("disabled")

    @admin.display(description=gettext_noop("last login"), ordering="last_login")
    def seen(self, row: User) -> str:
        """Return the time of the last login."""
        return gettext("never") if row.last_login is None else moment_text(row.last_login)


@admin.register(Group, site=site)
class RoleAdmin(ReadTable):
    """The list of roles with their rights. `webui.accounts.roles` defines the rights."""

    plural = gettext_noop("Roles")
    note = gettext_noop(
        "The rights of a role are the same everywhere. To give a role to a person, use the desk "
        "“People”."
    )
    list_display = ("name", "label", "rights", "active_people")
    list_display_links = None
    ordering = ("name",)

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        active = Count("user", filter=Q(user__is_active=True))
        return Group.objects.order_by("name").annotate(active=active)

    @admin.display(description=gettext_noop("label"))
    def label(self, row: Group) -> str:
        """Return the label of the role: `Purchasing lead` for `lead`."""
        return gettext(_LABELS[row.name]) if row.name in _LABELS else row.name

    @admin.display(description=gettext_noop("rights"))
    def rights(self, row: Group) -> str:
        """Return the rights of the role, without the rights that every person has."""
        held = sorted(right for right, roles in GROUPS_OF.items() if row.name in roles)
        return ", ".join(gettext(right.replace("_", " ")) for right in held)

    @admin.display(description=gettext_noop("active people"), ordering="active")
    def active_people(self, row: Group) -> str:
        """Return the number of people who have the role and may log in."""
        return str(vars(row)["active"])
