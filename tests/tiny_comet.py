"""Tiny real COMET checkpoints, made with no model hub: ``python tiny_comet.py FOLDER`` under a Python with COMET.

Each kind gets a folder: ``regression`` (as wmt22-comet-da), ``referenceless``, ``unified`` (as CometKiwi), ``xcomet``.
Their weights are random, so the scores mean nothing; the code that computes them is COMET's own.
"""

import sys
from pathlib import Path
from typing import Any

import pytorch_lightning
import torch
import yaml
from comet.models import ReferencelessRegression, RegressionMetric, UnifiedMetric, XCOMETMetric
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

LINES = [
    "The cat sat here, and the dog barked at the postman.",
    "El gato se sentó aquí, y el perro ladró al cartero.",
    "Pay five dollars now. Paga cinco dólares ahora.",
    "Der Hund bellte den Briefträger an. 犬は郵便配達人に吠えた。",
    "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 ñáéíóúü ¿¡?!.,;:",
]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TOP = {"hidden_sizes": [16], "activations": "Tanh", "dropout": 0.0, "optimizer": "AdamW"}


def make_encoder(folder: Path) -> None:
    """A tokenizer and two layers of XLM-R."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(
        LINES * 20, trainers.UnigramTrainer(vocab_size=220, special_tokens=SPECIAL, unk_token="<unk>")
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    named = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "mask_token": "<mask>",
    }
    fast = XLMRobertaTokenizerFast(tokenizer_object=tokenizer, cls_token="<s>", sep_token="</s>", **named)
    fast.save_pretrained(folder)
    config = XLMRobertaConfig(
        vocab_size=len(fast), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    XLMRobertaModel(config).save_pretrained(folder)


def save(model: Any, folder: Path) -> None:
    """``model`` as COMET distributes its own."""
    trainer = pytorch_lightning.Trainer(logger=False, enable_checkpointing=False, accelerator="cpu")
    trainer.strategy.connect(model)
    (folder / "checkpoints").mkdir(parents=True)
    trainer.save_checkpoint(folder / "checkpoints" / "model.ckpt", weights_only=True)
    (folder / "hparams.yaml").write_text(yaml.dump(dict(model.hparams)), encoding="utf-8")


def main(folder: Path) -> None:
    """Make them all."""
    torch.manual_seed(1)
    make_encoder(folder / "encoder")
    encoder = {"encoder_model": "XLM-RoBERTa", "pretrained_model": str(folder / "encoder"), "local_files_only": True}
    save(RegressionMetric(layer="mix", pool="avg", **encoder, **TOP), folder / "regression")
    save(ReferencelessRegression(layer="mix", pool="avg", **encoder, **TOP), folder / "referenceless")
    save(UnifiedMetric(sent_layer="mix", input_segments=["mt", "src"], **encoder, **TOP), folder / "unified")
    xcomet = XCOMETMetric(sent_layer="mix", word_layer=2, **encoder, **TOP)
    with torch.no_grad():  # so that the four labels all come up
        xcomet.hidden2tag.weight.normal_(0, 2)
    save(xcomet, folder / "xcomet")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
