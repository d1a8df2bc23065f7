"""Redis and Valkey: one primary, which replicas follow; a client may wait for some (``WAIT n``)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pacelc.databases.facts import OWN_CLUSTER, Facts

if TYPE_CHECKING:
    from pacelc.databases.facts import Copies

__all__ = ["REDIS", "VALKEY"]

_WAIT: Final = re.compile(r"WAIT (\d+)")


def _copies_of_level(level: str) -> Copies | None:
    if match := _WAIT.match(level):
        return 1 + int(match[1])
    return 1 if level.partition(",")[0] in {"primary", "primary only"} else None


REDIS: Final = Facts(
    name="redis",
    display_name="Redis",
    replication="one leader",
    copies_of_level=_copies_of_level,
    levels_of="redis",
    levels_are_copies=True,
    waits_for_disk=lambda _: False,
    answers_alone=("primary", "replica"),
    example_levels=tuple({"read": "replica", "write": {"wait": wait}} for wait in range(3)),
    has_shards=False,
    scans_need_index=True,
    ycsb_bindings=("redis", "site.ycsb.db.RedisClient"),
    ycsb_levels={},
    # site.ycsb.db.RedisClient connects to one server, and sends no WAIT.
    ycsb_default_levels={"read": "primary", "write": {"wait": 0}},
    ycsb_timeout="redis.timeout",
    ycsb_accepted={},
    ycsb_refused={
        **dict.fromkeys(
            (
                *("redis.host", "redis.port", "redis.url", "redis.password", "redis.cluster"),
                *("redis.cusername", "redis.cpassword"),
            ),
            OWN_CLUSTER,
        ),
        "redis.database": "records are in database 0",
    },
    ycsb_harmless={"redis.cluster": "false", "redis.database": "0"},
    connections_of_user=lambda levels: 2 if "replica" in levels else 1,
    start_s=2.0,
    # Not as an option, which everybody on the machine could read.
    login="REDISCLI_AUTH=$(cat {password_file}) redis-cli --user {user} -h {host} -p {port}",
    hedging_advice="",
    failover="none: pacelc starts no Sentinel, so no replica takes over",
    partition_note="",
)
VALKEY: Final = replace(REDIS, name="valkey", display_name="Valkey", ycsb_bindings=())
