import pytest

from orchestrator.host.public_addresses import is_public

PUBLIC = ("93.184.215.14", "2606:2800:21f:cb07::1", "::ffff:1.1.1.1", "64:ff9b::101:101")


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "2606:2800:21f:cb07::1", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_global_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.1.2.3",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%lo",
        "fd00::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "::7f00:1",
    ],
)
def test_all_others_are_private(address: str) -> None:
    assert not is_public(address)
