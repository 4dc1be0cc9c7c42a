"""Stable-Baselines3: PPO, A2C and DQN on CartPole from one seed; a policy saved and read."""

import tempfile

import torch
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy


def run() -> dict[str, object]:
    torch.manual_seed(0)
    results: dict[str, object] = {}
    quiet = {"seed": 0, "device": "cpu", "verbose": 0}
    ppo = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, **quiet).learn(192)
    a2c = A2C("MlpPolicy", "CartPole-v1", n_steps=8, **quiet).learn(80)
    dqn = DQN("MlpPolicy", "CartPole-v1", learning_starts=32, batch_size=16, **quiet).learn(120)
    for name, agent in {"ppo": ppo, "a2c": a2c, "dqn": dqn}.items():
        logged = agent.logger.name_to_value
        results[name] = {key: float(value) for key, value in logged.items() if key.startswith("train/")}
        results[f"{name} weights"] = [p.detach().sum().item() for p in agent.policy.parameters()]
    with tempfile.TemporaryDirectory() as folder:
        ppo.save(f"{folder}/ppo")
        read = PPO.load(f"{folder}/ppo", device="cpu")
        observation = ppo.get_env().reset()
        actions = [agent.predict(observation, deterministic=True)[0].tolist() for agent in (ppo, read)]
        results["chosen"] = actions
    rewards, _ = evaluate_policy(ppo, ppo.get_env(), n_eval_episodes=2, return_episode_rewards=True)
    results["rewards"] = [float(reward) for reward in rewards]
    return results
