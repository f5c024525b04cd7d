"""Asks vLLM itself: parses command lines as `vllm serve` does, and sizes caches as its engine does.

Reads {"lines": [[argument, …], …], "caches": [{heads, kv_heads, head_size, gpus, dtype}, …]} and prints
{"lines": [{flag: value} or {"error": text}, …], "caches": [bytes of one layer for one token, …], "utilization": …}.
"""

import contextlib
import io
import json
import sys

import torch
from vllm.config import CacheConfig
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.v1.kv_cache_interface import FullAttentionSpec

PARSER = make_arg_parser(FlexibleArgumentParser(exit_on_error=False))


def parse(line):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            args = PARSER.parse_args(line)
        validate_parsed_serve_args(args)
        # Names of parsers are checked when the server starts.
        if args.tool_call_parser:
            ToolParserManager.get_tool_parser(args.tool_call_parser)
        reasoning = getattr(args, "reasoning_parser", None)
        if reasoning:
            ReasoningParserManager.get_reasoning_parser(reasoning)
    except (Exception, SystemExit) as error:
        last = said.getvalue().strip().splitlines()[-1:]
        return {"error": f"{error} {' '.join(last)}"}
    return {
        "model": args.model_tag or args.model,
        "gpus": args.tensor_parallel_size,
        "max_model_len": args.max_model_len,
        "max_num_seqs": args.max_num_seqs,
        "utilization": args.gpu_memory_utilization,
        "prefix_caching": args.enable_prefix_caching,
        "tool_parser": args.tool_call_parser,
        "reasoning_parser": reasoning or None,
        "tokenizer_mode": args.tokenizer_mode,
    }


def cache_bytes(wanted):
    spec = FullAttentionSpec(
        block_size=16,
        # As ModelConfig.get_num_kv_heads divides them.
        num_kv_heads=max(1, wanted["kv_heads"] // wanted["gpus"]),
        head_size=wanted["head_size"],
        dtype=getattr(torch, wanted["dtype"]),
    )
    return spec.page_size_bytes / spec.block_size


asked = json.load(sys.stdin)
json.dump(
    {
        "lines": [parse(line) for line in asked["lines"]],
        "caches": [cache_bytes(wanted) for wanted in asked["caches"]],
        "utilization": CacheConfig().gpu_memory_utilization,
    },
    sys.stdout,
)
