"""SGLang's server with this parser, registered before the server starts.

    python sglang_plugin.py MODEL [OPTIONS OF SGLANG]

MODEL is a folder. The format is derived from its chat template. The plugin also keeps special
tokens, and constrains forced calls by a grammar.
"""

import sys

from sglang.launch_server import run_server
from sglang.srt.server_args import prepare_server_args

import deltaparse as dp
from deltaparse.servers import register_sglang_detector

if not sys.argv[1:]:
    sys.exit(__doc__)
register_sglang_detector("mine", dp.analyze(dp.ChatTemplate.load(sys.argv[1])))

if __name__ == "__main__":  # SGLang's child processes import this file again
    names = ["--tool-call-parser", "mine", "--reasoning-parser", "mine"]
    run_server(prepare_server_args(["--model-path", sys.argv[1], *names, *sys.argv[2:]]))
