"""Databases: one file each, what only it needs beside it, and the one list of them."""
