"""A cluster that the user has: where it is, and how to get in.

A study holds no secret. It names the environment variable or the file that holds one; the engine
follows the reference when it connects. A password written where none belongs is refused, and the
refusal does not repeat it.

Map
---
External        ``external:`` of a study's settings
ExternalTls     its ``tls:``
as_sent         an address, as the engine is told
"""

from __future__ import annotations

import contextlib
import re
import socket
from ipaddress import IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import (
    AfterValidator,
    Field,
    PositiveInt,
    field_validator,
    model_validator,
)

from pacelc.errors import InputError
from pacelc.numerals import HIGHEST_PORT, parse_port
from pacelc.study.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["External", "ExternalTls", "as_sent"]

_ADDRESS = re.compile(
    r"(?:[A-Za-z0-9_.-]+|\[(?P<ipv6>[^][%]+)(?:%(?P<zone>[^][%]+))?\]):(?P<port>[0-9]{1,5})"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _address(text: str) -> str:
    # The text is not repeated: it may be a URL, and those may hold a password.
    if "://" in text or "@" in text:
        msg = "an address is host:port, not a URL: users and passwords have fields of their own"
        raise ValueError(msg)
    address = _ADDRESS.fullmatch(text)
    if address is None or not _is_ipv6(address["ipv6"]):
        msg = "should be host:port, or [host]:port for an IPv6 address"
        raise ValueError(msg)
    if parse_port(address["port"]) is None:
        msg = f"a port is 1 to {HIGHEST_PORT}"
        raise ValueError(msg)
    return text


def _is_ipv6(text: str | None) -> bool:
    with contextlib.suppress(ValueError):
        return text is None or bool(IPv6Address(text))
    return False


def as_sent(endpoint: str) -> str:
    """Return an address with its zone as a number, the one name that the engine knows.

    Raises
    ------
    InputError
        This machine has no such interface.
    """
    address = _ADDRESS.fullmatch(endpoint)
    if address is None or address["zone"] is None or address["zone"].isdecimal():
        return endpoint
    try:
        number = socket.if_nametoindex(address["zone"])
    except OSError:
        raise InputError(
            f"external: {endpoint}: this machine has no network interface {address['zone']}",
            "a zone is an interface's name, such as eth0: `ip link` lists them",
        ) from None
    return f"[{address['ipv6']}%{number}]:{address['port']}"


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        msg = "should be the name of an environment variable, not what it holds"
        raise ValueError(msg)
    return text


def _path(text: str) -> str:
    return str(Path(text).expanduser())


Address = Annotated[str, AfterValidator(_address)]
Variable = Annotated[str, AfterValidator(_variable)]
FilePath = Annotated[str, Field(min_length=1), AfterValidator(_path)]


class ExternalTls(Frozen):
    """How to speak TLS; empty: by the public authorities' certificates."""

    ca_file: FilePath | None = None
    """PEM: the authorities that may have signed the servers' certificates."""
    cert_file: FilePath | None = None
    """PEM: the client's certificate, and its chain."""
    key_file: FilePath | None = None
    """PEM: the client's key, unencrypted; by default in cert_file."""
    server_name: str | None = None
    """The name that the servers' certificates are for, if not the host in the endpoint."""


class External(Frozen):
    """A cluster that the user has; nothing is started or stopped."""

    endpoints: Annotated[list[Address], Field(min_length=1)]
    """``host:port`` of nodes to connect to; HBase: of its masters."""
    primary: Address | None = None
    """Redis: the primary; by default the first endpoint."""
    replicas: list[Address] = Field(default_factory=list[str])
    """Redis: the replicas, for reads from them."""
    replica_set: str | None = None
    """MongoDB: the replica set's name."""
    local_datacenter: str | None = None
    """Cassandra: the data centre that is local to the client."""
    region_servers: list[Address] = Field(default_factory=list[str])
    """HBase: the region servers, one region of the table for each."""
    region_replicas: PositiveInt | None = None
    """HBase: replicas of each region; by default as many as ``replication``."""
    user: Annotated[str, Field(min_length=1)] | None = None
    """The user to be."""
    password_env: Variable | None = None
    """Name of the environment variable that holds the password."""
    password_file: FilePath | None = None
    """File that holds the password, and nothing else."""
    auth_source: str | None = None
    """MongoDB: the database that knows the user; by default admin."""
    tls: ExternalTls | None = None
    """Whether, and how, to speak TLS."""
    replace_table: bool = False
    """Whether what has the table's name and wasn't made by this study may be dropped."""

    @model_validator(mode="before")
    @classmethod
    def _holds_no_secret(cls, given: object) -> object:
        if isinstance(given, str):
            msg = "should be a mapping with endpoints: [host:port]"
            raise ValueError(msg)  # noqa: TRY004 - pydantic gives a ValueError its place
        if isinstance(given, dict) and "password" in given:
            msg = (
                "a password isn't written into a study: name the variable (password_env) or "
                "the file (password_file) that holds it"
            )
            raise ValueError(msg)
        return cast("object", given)

    @field_validator("tls", mode="before")
    @classmethod
    def _tls_is_a_mapping(cls, given: object) -> object:
        return {} if given is True else given

    @model_validator(mode="after")
    def _one_password(self) -> External:
        if self.password_env is not None and self.password_file is not None:
            msg = "the password is in password_env or in password_file, not in both"
            raise ValueError(msg)
        return self

    def target(self) -> dict[str, Any]:
        """Return what the engine is told of it: references to secrets, never secrets."""
        password: Mapping[str, str] | None = None
        if self.password_env is not None:
            password = {"env": self.password_env}
        elif self.password_file is not None:
            password = {"file": self.password_file}
        tls = None if self.tls is None else self.tls.model_dump(exclude_none=True)
        parts = {
            "user": self.user,
            "password": password,
            "auth_source": self.auth_source,
            "tls": tls,
        }
        security = {name: part for name, part in parts.items() if part is not None}
        return {
            "endpoints": list(self.endpoints),
            "primary": self.primary,
            "replicas": list(self.replicas),
            "replica_set": self.replica_set,
            "local_datacenter": self.local_datacenter,
            "region_servers": list(self.region_servers),
            "region_replicas": self.region_replicas,
            "security": security or None,
            "owner": {"replace": self.replace_table},
        }
