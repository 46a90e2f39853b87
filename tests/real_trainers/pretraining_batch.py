"""What the trainers of BERT's pre-training on PyTorch train on: random words."""
import torch


def random_batch(config, sequences, a):
    """Of the words only the masked have a label."""
    words = torch.randint(5, config.vocab_size, (sequences, a.max_seq_length))
    labels = torch.full_like(words, -100)
    masked = torch.randint(0, a.max_seq_length, (sequences, a.max_predictions_per_seq))
    labels.scatter_(1, masked, words.gather(1, masked))
    return {"input_ids": words, "labels": labels,
            "next_sentence_label": torch.randint(0, 2, (sequences,))}
