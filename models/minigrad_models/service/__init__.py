"""HTTP services on this machine: the server, batches of requests, and OpenAI's API."""
