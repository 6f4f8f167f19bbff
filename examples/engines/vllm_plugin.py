r"""vLLM's server with this parser: a plugin for tools, and the same file for reasoning.

    vllm serve MODEL --tool-parser-plugin vllm_plugin.py --reasoning-parser-plugin vllm_plugin.py \
        --enable-auto-tool-choice --tool-call-parser mine --reasoning-parser mine

How the model writes, its own chat template says. Special tokens are kept, and forced calls are held
to a grammar, without a word here.
"""

import deltaparse as dp
from deltaparse.servers import register_vllm_parsers

register_vllm_parsers("mine", dp.analyze)
