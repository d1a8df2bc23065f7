"""Clusters of somebody else: users, passwords, TLS, and loads that go on."""
