"""Generation with any model of this package: caches of keys and values, decoders, continued prompts."""
