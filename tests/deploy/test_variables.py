import pytest

from deploy.errors import StackError
from deploy.variables import KNOWN, refuse_unknown
from tests.deploy.test_settings import known


def test_known_variables_include_every_variable_of_a_settings_class() -> None:
    assert known() <= KNOWN


def test_a_misspelt_variable_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(StackError, match=r"INVENTORY_PARTITION .*mean INVENTORY_PARTITIONS"):
        refuse_unknown({"INVENTORY_PARTITION": "12", "PATH": "/bin"})


def test_known_and_foreign_variables_pass() -> None:
    refuse_unknown({"INVENTORY_HOME": ".", "INVENTORYLIKE": "x", "HOME": "/"})
