"""Warm start: supervised training (TRL) on the chat lines that `rollout export --to sft-trl` wrote.

    warm_start.py MODEL CHAT.jsonl OUT [--epochs 3] [--rate 1e-4] [--batch 4] [--seed 1]

Only what the assistant said counts in the loss: the chat template marks it.
"""

import argparse
import json
from pathlib import Path

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer


def main() -> None:
    args = arguments()
    rows = [json.loads(line) for line in args.chat.read_text().splitlines()]
    # The arguments of calls differ from row to row, which Arrow cannot type: so rows are tokenized here.
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype="float32")
    config = SFTConfig(
        output_dir=str(args.out / "trainer"),
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch,
        learning_rate=args.rate,
        lr_scheduler_type="cosine",
        warmup_steps=5,
        seed=args.seed,
        data_seed=args.seed,
        max_length=1024,
        logging_steps=5,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        bf16=False,  # the default, which processors without its instructions emulate: ten times slower
        gradient_checkpointing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
    )
    data = Dataset.from_list([tokenized(tokenizer, row) for row in rows])
    trainer = SFTTrainer(model=model, args=config, train_dataset=data, processing_class=tokenizer)
    result = trainer.train()
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    tokens = sum(len(row["input_ids"]) for row in data)
    print(json.dumps({"rows": len(rows), "tokens": tokens, "loss": round(result.training_loss, 4)}))


def tokenized(tokenizer, row: dict) -> dict:
    encoded = tokenizer.apply_chat_template(
        row["prompt"] + row["completion"],
        tools=json.loads(row["tools"]),
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    ids = encoded["input_ids"]
    labels = [token if own else -100 for token, own in zip(ids, encoded["assistant_masks"], strict=True)]
    return {"input_ids": ids, "labels": labels}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("chat", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
