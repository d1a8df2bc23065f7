"""The figures that the project promises, measured: ``make bench``.

Every figure is a ratio against a peer or a limit taken in the same run, since these machines differ
and drift; those of ``accuracy`` are of runs that are kept in ``runs``.

Map
---
__main__            runs them all, prints the table with the machine and the versions
harness             one load run in a process of its own, pinned, with its processor time and memory
peers               other load generators, built for the comparison
noop, key_choosers  what the engine itself can do; how fast it chooses records
client_cpu, memory  what an operation and a user cost the client
recorded_latency, open_loop     a known delay, as recorded; a schedule, as kept
network             the emulated network
history             how fast the checkers of histories are
queueing, simulator, plan       networks of queues solved and simulated; a plan
accuracy            how far off models are on real runs that weren't fitted
study_overhead      time that a study spends on anything but load, warm-up, measuring and cool-down
"""
