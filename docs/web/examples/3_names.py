"""A tiny GPT learns to write names"""
#| graph: viz.graph(loss)
#| attention: viz.attention(model, tokens[:1], tokens=lambda i: letters[i])
#| explain: print(viz.explain(model.head.weight, depth=2))

import minigrad as mg
from minigrad import nn, viz

mg.manual_seed(1)
names = """anna maria luca paolo elena marco sofia giulia carlo pietro chiara laura mario bruno silvia andrea lucia
carla sara marta dario fabio elisa nina gina rosa dora mira clara flora livia bianca alba ada ida irene serena
lorena milena nora petra greta rita anita carmela angela stella isabella gabriella daniela manuela emanuela""".split()
letters = "." + "".join(sorted(set("".join(names))))
longest = max(map(len, names)) + 1
tokens = mg.tensor([[letters.index(c) for c in f".{name}".ljust(longest, ".")] for name in names])
targets = mg.tensor([[letters.index(c) for c in f"{name}.".ljust(longest, ".")] for name in names])


class NameGPT(nn.Module):
    def __init__(self, width=32, heads=4, layers=2):
        super().__init__()
        self.letters = nn.Embedding(len(letters), width)
        self.places = nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, len(letters))

    def forward(self, ids):
        length = ids.shape[1]
        x = self.letters(ids) + self.places(mg.arange(length))
        return self.head(self.blocks(x, mask=nn.Transformer.generate_square_subsequent_mask(length), is_causal=True))


model = NameGPT()
adam = mg.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    adam.zero_grad()
    loss.backward()
    adam.step()
    if step % 30 == 29:
        print(f"step {step + 1}: loss {loss.item():.3f}")

model.eval()
for _ in range(8):
    ids = [0]
    while len(ids) < longest:
        with mg.no_grad():
            next_letter = model(mg.tensor([ids]))[0, -1].softmax(-1)
        ids.append(mg.multinomial(next_letter, 1).item())
        if ids[-1] == 0:
            break
    name = "".join(letters[i] for i in ids).strip(".")
    print(name, "" if name not in names else "(it knows that one)")
