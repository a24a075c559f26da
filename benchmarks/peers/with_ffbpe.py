"""ffbpe's adapter: its bounded word counter over documents, then its trainer."""

from __future__ import annotations

import ffbpe
from protocol import GPT2_PATTERN, Job, Result, documents, peak_bytes, serve, timed, write_tokens


def train(job: Job) -> Result:
    """Documents of a file to a vocabulary."""

    def call() -> ffbpe.BpeTrainer:
        counter = ffbpe.PreTokenizer([], pat_str=GPT2_PATTERN).word_counter()
        counter.add_source(iter(documents(job["path"], job.get("limit"))))
        trainer = ffbpe.BpeTrainer([], initial_alphabet="byte_level", tie_break="smallest_pair_id")
        trainer.add_word_counter(counter)
        trainer.train(job["vocab_size"])
        return trainer

    seconds, trainer = timed(call)
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": trainer.vocab_size}
    ranks = sorted(trainer.vocab.items(), key=lambda item: item[1])[256:]
    write_tokens(job, (bytes(token) for token, _ in ranks))
    return result


if __name__ == "__main__":
    serve({"train": train})
