"""Software: servers from package registries, the Java they need, and which program is meant."""
