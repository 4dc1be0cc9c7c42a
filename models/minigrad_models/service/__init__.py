"""HTTP services on this machine: what they share, batches of requests, and OpenAI's API for BERT and GPT."""
