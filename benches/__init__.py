"""The figures that the project promises, measured: ``make bench``.

Every figure is a ratio against a peer or a limit taken in the same run, since these machines differ
and drift. The map:

- `benches.__main__`: runs them all, prints the table with the machine and the versions.
- `benches.harness`: one load run in a process of its own, pinned, with its processor time and
  memory.
- `benches.redis_cpu`: processor time an operation, against ``redis-benchmark``.
- `benches.noop`: what the engine itself can do.
- `benches.recorded_latency`: a known delay, as recorded.
- `benches.thousand_users`: memory with 1,000 users.
- `benches.simulator`: how fast queueing networks are simulated.
- `benches.study_overhead`: time that a study spends on anything but load, warm-up, measuring and
  cool-down.
"""
