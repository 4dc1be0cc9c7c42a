"""The training loop of the examples, which ``run.py`` provides as the module ``training``."""


def train(optimizer, loss_of, steps):
    """The losses of some steps; ``loss_of`` computes one."""
    losses = []
    for _ in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
