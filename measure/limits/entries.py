"""The entries of a sample's configuration, or of its key, that rules read; whoever records or imports one names it so.

An entry that is absent makes the rules that need it not apply. Other entries are for readers, and no rule sees them.
"""

ENTRIES = {
    "buffer_bytes": "bytes of one array that a bandwidth was measured on",
    "cached_tokens": "prompt tokens that a cache answered",
    "cards": "accelerators that worked on the sample together; without it, one",
    "clock_mhz_end": "clock of the card's multiprocessors right after the last repeat, in MHz",
    "clock_mhz_max": "the highest clock the card has, in MHz",
    "clock_mhz_start": "that clock ahead of the last warm-up, in MHz",
    "decoder_parameters": "of `parameters`: those of the part that runs in each step, where others run once a text",
    "device": "cpu, cuda or mps: what ran the work",
    "device_name": "name of the card that ran the work, or that a datasheet's figure is of",
    "distinct_prompts": "whether no prompt was sent twice, the warm-up's included",
    "dtype": "type of the weights that ran, where the subject's name does not end with it",
    "empty_outputs": "recordings for which nothing was recognised; they count as deletions",
    "first_s": "seconds to the first token, mean over the requests",
    "gap_s": "seconds between two tokens that follow each other, mean over the requests",
    "gaps": "such gaps in one request",
    "observations": "requests or steps that a percentile was taken over; without it, the repeats",
    "output": "tokens asked for by each request of a batch",
    "output_tokens": "tokens asked for by each request, where one length was asked for",
    "output_tokens_long": "tokens asked for by each request in the longer of two generations",
    "output_tokens_short": "the same in the shorter one",
    "patches": "patches of sound in an utterance",
    "percentile": "which percentile the value is, 0 to 100",
    "produced_tokens": "tokens that all requests together produced, counted",
    "profiler_loaded": "whether the process had started a profiler of kernels before",
    "prompt_tokens": "tokens of each prompt",
    "recordings": "recordings that were to be recognised",
    "requests": "requests at once",
    "scored_recordings": "recordings that the error rate was computed over",
    "slots": "requests that the engine serves at once; the others wait",
    "throttle_reasons": "why the driver held the clock back, in NVML's words joined by commas; none if it did not",
    "tokens": "tokens of the prompt that a prefill processed",
    "tokens_per_step": "tokens that a request gains in one step, above one with speculative decoding",
    "warmups": "passes made before the first that counts",
    "whole_s": "seconds from a request to its last token, mean over the requests",
}
"""Name and meaning."""
