"""sounds resampled, filtered and split into bands, convolved by FFT, and the gradients through them"""

import julius
import torch


def run() -> dict[str, object]:
    sound = torch.randn(2, 1, 600, requires_grad=True)
    resampled = julius.resample_frac(sound, 44100, 16000)
    low = julius.lowpass_filter(sound, 0.1, fft=False)
    bands = julius.split_bands(sound[:, 0], sample_rate=16000, n_bands=4)
    convolved = julius.fft_conv1d(sound, torch.randn(3, 1, 64), stride=2, padding=8)
    loss = resampled.square().mean() + low.square().mean() + bands[1].square().mean() + convolved.square().mean()
    loss.backward()
    return {
        "resampled": resampled,
        "low": low,
        "low by fft": julius.lowpass_filter(sound, 0.1, fft=True),
        "high": julius.highpass_filter(sound, 0.2),
        "band": julius.bandpass_filter(sound, 0.1, 0.3),
        "bands": bands,
        "convolved": convolved,
        "back": julius.resample_frac(resampled, 16000, 44100, full=True),
        "loss": loss,
        "gradient": sound.grad,
    }
