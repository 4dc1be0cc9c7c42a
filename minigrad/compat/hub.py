"""``torch.hub``, which is absent: its functions say so when they are called."""

from __future__ import annotations

from .refused import Refused

__all__ = ["download_url_to_file", "load", "load_state_dict_from_url"]

load = Refused("torch.hub.load", "it runs code from the network; copy the model's code and load its weights")
_ADVICE = "download the file yourself, and give minigrad.load its path"
load_state_dict_from_url = Refused("torch.hub.load_state_dict_from_url", _ADVICE)
download_url_to_file = Refused("torch.hub.download_url_to_file", "use urllib.request.urlretrieve")
