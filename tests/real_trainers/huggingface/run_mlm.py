"""Masked language modeling with transformers' Trainer; see language_modeling.py."""
from language_modeling import train

if __name__ == "__main__":
    train(masked=True)
