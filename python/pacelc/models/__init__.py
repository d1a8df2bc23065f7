"""Models that predict: queueing networks, what they say, and laws of scalability."""
