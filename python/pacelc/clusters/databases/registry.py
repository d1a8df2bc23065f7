"""The one list of databases. A new one is a file beside this and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.clusters.databases.cassandra import Cassandra
from pacelc.clusters.databases.hbase import HBase
from pacelc.clusters.databases.mongodb import MongoDB
from pacelc.clusters.databases.redis import Redis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.clusters.protocol import Database

DATABASES: Mapping[str, Database] = {
    database.name: database
    for database in (
        Redis("redis"),
        Redis("valkey"),
        MongoDB(),
        Cassandra(),
        HBase(),
    )
}
"""Every database that pacelc can start here."""
