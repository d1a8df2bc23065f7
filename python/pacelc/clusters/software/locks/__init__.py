"""Lock files: the jars of a server, in the order of its class path, each with its SHA-256.

One line a jar: ``group:artifact:version[:classifier] sha256``.
``python -m pacelc.clusters.software.locks`` makes them.
"""
