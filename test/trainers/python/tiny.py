"""A tokenizer of bytes and a random model: as large as it takes for a trainer to run."""
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY = 300
END = 256
END_TEXT = "<|im_end|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] or '' }}"
    "{% for call in message['tool_calls'] or [] %}<call>{{ call['function']['name'] }} "
    "{{ call['function']['arguments'] | tojson }}</call>{% endfor %}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: index for index, piece in enumerate(alphabet)}
    vocabulary[END_TEXT] = END
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END_TEXT, pad_token=END_TEXT, chat_template=CHAT_TEMPLATE, model_max_length=4096
    )


def model():
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=4096, eos_token_id=END, pad_token_id=END, bos_token_id=None,
    )
    return LlamaForCausalLM(config)
