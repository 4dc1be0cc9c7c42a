"""Generation with any model of this package: key-value caches, decoders, prompt continuation."""
