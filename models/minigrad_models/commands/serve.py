"""``minigrad serve``: a translator's page, or OpenAI's API for a model, on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minigrad.backend.extras import how_to_install

from ..programs.command_line import add_run
from ..translation.translation_command import DEFAULT_RUN

MINILM, CONFIG = "minilm", "config.json"


def add(p: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(p, DEFAULT_RUN)
    model = "serve OpenAI's API instead: a folder of BERT or GPT-2, a run of minigrad gpt, or minilm"
    p.add_argument("--model", metavar="MODEL", help=model)
    dtypes = "float32", "bfloat16", "int8"
    p.add_argument(
        "--weights", default="float32", choices=dtypes, help="the model's weights in memory (default: float32)"
    )
    p.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)")
    p.add_argument("--port", type=int, default=8000, help="port to listen on; 0: any free port (default: 8000)")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Returns the exit status."""
    try:
        if options.model is not None:
            from ..service.openai import Server

            service, name = load(options.model, options.device, options.weights), Path(options.model).name
            return Server(service, name, options.port, options.host).run(f"{name} ({service.path})")
        from ..translation.serve import server
        from ..translation.translator import Translator
    except ModuleNotFoundError as error:
        install = how_to_install("prometheus-client", "starlette", "tokenizers", "uvicorn")
        raise ImportError(f"serving needs {error.name}: {install}") from None

    translator = Translator.load(options.run, options.device)
    return server.Server(translator, options.port, options.host).run("The translator")


def load(name: str, device: str = "cpu", weights: str = "float32") -> Any:
    """The service for a model: "minilm", a folder of BERT or GPT-2 in transformers' format, or a run of ``minigrad
    gpt``. Raises the errors of ``from_pretrained``, and of ``gpt_run.load``."""
    from ..bert.train_bert import minilm

    path = minilm() if name == MINILM else Path(name)
    config = path / CONFIG
    if config.is_file() and b'"bert"' in config.read_bytes():
        from ..bert.bert import Bert
        from ..bert.serve import Embeddings
        from ..bert.train_bert import pretrained

        return Embeddings(pretrained(Bert, path, weights=weights).to(device))
    from ..gpt import gpt_run
    from ..gpt.serve import Completions

    return Completions(gpt_run.load(path, device, weights))
