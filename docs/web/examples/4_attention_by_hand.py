"""Attention by hand: queries, keys, values, and where each word looks"""
#| graph: viz.graph(out)
#| explain: print(viz.explain(q))
#| attention: viz.attention(weights, words)

import minigrad as mg
from minigrad import viz

mg.manual_seed(0)
words = ["the", "cat", "drank", "its", "milk"]
x = mg.randn(5, 8)  # a vector for each word

q = mg.randn(8, 8, requires_grad=True)
k = mg.randn(8, 8, requires_grad=True)
v = mg.randn(8, 8, requires_grad=True)

queries, keys, values = x @ q, x @ k, x @ v
scores = queries @ keys.T / 8**0.5
weights = scores.softmax(-1)  # each row sums to 1
out = weights @ values
out.sum().backward()

for word, row in zip(words, weights.tolist()):
    print(f"{word:6}", " ".join(f"{w:.2f}" for w in row))

# The same, fused:
again = mg.nn.functional.scaled_dot_product_attention(queries, keys, values)
print("largest difference", (out - again).abs().max().item())
