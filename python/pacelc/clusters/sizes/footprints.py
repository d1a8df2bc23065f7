"""What one server takes of memory, measured.

On 2026-11-22, x86-64, Linux 6.18, Java 17, ``VmRSS`` in MiB: idle, three seconds after it served;
and after 200,000 records of ten fields of 100 bytes were loaded and 64 users had read and updated
them at full speed for 20 to 30 s (Redis: 8 s).

================================  ====  ===========
server                            idle  after load
================================  ====  ===========
Cassandra 5.0.8, heap of 256 MiB  664   743
Cassandra, one of three, 768      1221  1295
HBase 2.5.12, region server, 384  236   533
HBase's master, heap of 256       217   224
ZooKeeper, heap of 64             78    78
mongod 6.0.5, cache of 256        127   459
Redis 6.2.5                       5     358
================================  ====  ===========

Two HBase region servers with heaps of 824 MiB took 974 and 977 once loaded; with heaps of 128 and
of 256 they ended while they were loaded. In rings of 6 and of 12 Cassandras with heaps of 256 MiB a
node took 666 to 696 when idle. What the constants hold beside heap or cache is the difference,
rounded up; where a heap wasn't full yet (HBase) some more.

Redis 6.2.5 and Valkey 8.1.8, bytes a record, loaded only: 376 and 368 (one field of 100 bytes), 550
and 531 (ten of 32), 1,320 and 1,298 (one of 1,000), 1,848 and 1,586 (ten of 100), 10,620 and 8,499
(one of 8,192), 16,601 and 14,473 (a hundred of 100). The constants give at least that.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BESIDE_HEAP_MIB: Mapping[str, int] = MappingProxyType({"cassandra": 530, "hbase": 200})
"""Of a JVM under load: what it has resident beside a heap that is full."""

HBASE_COORDINATION_MIB = 440
"""Of HBase's master and ZooKeeper together, with heaps that are full."""

MONGODB_BESIDE_CACHE_MIB = 210
"""Of a mongod under load, beside WiredTiger's cache."""

REDIS_EMPTY_MIB = 16
"""Of a Redis without records, with room for the buffers of clients and replicas."""

REDIS_RECORD_BYTES = 300
REDIS_FIELD_BYTES = 50
REDIS_VALUE_FACTOR = 1.26
"""Of a record, of each of its fields, and of each byte of a value (rounded up by the allocator)."""
