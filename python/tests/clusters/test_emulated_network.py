"""The emulated network's own tests, in Rust, where namespaces can be made."""

from __future__ import annotations

from real_servers import needs_namespaces
from rust_tests import pass_in_rust


def test_hosts_in_namespaces_have_the_network_that_was_asked_for() -> None:
    needs_namespaces()
    pass_in_rust("real", "--ignored", passed=6)
