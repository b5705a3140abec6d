"""`python -m bench.web.person NAME`: create a buyer of every store.

The password comes from standard input.
"""

import sys

import django


def main() -> None:
    """Create the person."""
    django.setup()
    from django.contrib.auth.models import User  # noqa: PLC0415 -- needs Django's setup

    from ledger import people  # noqa: PLC0415 -- needs it too

    person, _ = User.objects.get_or_create(username=sys.argv[1])
    person.set_password(sys.stdin.readline().strip())
    person.save()
    person.groups.set([people.create_roles()["buyer"]])
    people.write_memberships(person, everywhere=True)


if __name__ == "__main__":
    main()
