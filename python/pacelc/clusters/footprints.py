"""What one server takes of memory, measured.

MEASURED-HERE
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BESIDE_HEAP_MIB: Mapping[str, int] = MappingProxyType({"cassandra": 400, "hbase": 200})
"""Of a JVM under load: what it has resident beside a heap that is full."""

HBASE_COORDINATION_MIB = 400
"""Of HBase's master and ZooKeeper together, their small heaps included."""

MONGODB_BESIDE_CACHE_MIB = 200
"""Of a mongod under load, beside WiredTiger's cache when that is full."""

REDIS_EMPTY_MIB = 16
"""Of a Redis without records, buffers for clients and replicas included."""

REDIS_RECORD_BYTES = 300
REDIS_FIELD_BYTES = 50
REDIS_VALUE_FACTOR = 1.26
"""Of a record, of each of its fields, and of each byte of a value (rounded up by the allocator)."""
