r"""vLLM's server with this parser: one plugin file for tools and reasoning.

    vllm serve MODEL --tool-parser-plugin vllm_plugin.py --reasoning-parser-plugin vllm_plugin.py \
        --enable-auto-tool-choice --tool-call-parser mine --reasoning-parser mine

The format is derived from the model's chat template. The plugin also keeps special tokens, and
constrains forced calls by a grammar.
"""

import deltaparse as dp
from deltaparse.servers import register_vllm_parsers

register_vllm_parsers("mine", dp.analyze)
