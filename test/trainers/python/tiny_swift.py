"""A template of ms-swift over the tokenizer of bytes."""
import tempfile

from swift.model import get_processor
from swift.template import get_template
from tiny import model, tokenizer


def template():
    with tempfile.TemporaryDirectory() as folder:
        model().config.save_pretrained(folder)
        tokenizer().save_pretrained(folder)
        processor = get_processor(folder, model_type="llama", download_model=False)
    made = get_template(processor, template_type="chatml", agent_template="hermes")
    made.set_mode("train")
    return made
