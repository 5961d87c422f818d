"""vLLM's command line as this project calls it: `serve` answers over HTTP, `bench latency` writes its file.

Run as `python fake_vllm.py FAULT serve MODEL ...`. Nothing here measures anything: token times are decreed.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FIRST_S, STEP_S = 0.05, 0.01


class Handler(BaseHTTPRequestHandler):
    """OpenAI's interface for completions, streamed, with one empty part ahead of the first token."""

    protocol_version = "HTTP/1.0"

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wanted = asked["stream"] and asked["ignore_eos"] and asked["min_tokens"] == asked["max_tokens"]
        if not wanted or FAULT == "refuses":
            self.send_response(400)
            self.end_headers()
            self.wfile.write(b"no such model")
            return
        self.send_response(200)
        self.end_headers()
        self.part({"choices": [{"text": "", "token_ids": None}]})
        time.sleep(FIRST_S)
        for _ in range(asked["max_tokens"] - (FAULT == "short")):
            self.part({"choices": [{"text": "", "token_ids": [7]}]})
            time.sleep(STEP_S)
        if FAULT == "breaks":
            self.part({"error": {"message": "the engine died"}})
        self.part({"choices": [], "usage": {"completion_tokens": asked["max_tokens"]}})
        self.wfile.write(b"data: [DONE]\n\n")

    def part(self, content):
        self.wfile.write(b"data: " + json.dumps(content).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, *arguments):
        pass


def option(name):
    return next(word.partition("=")[2] for word in sys.argv if word.startswith(f"--{name}="))


def serve(model):
    assert json.loads((Path(model) / "config.json").read_text())["model_type"] == "qwen3"
    assert (Path(model) / "tokenizer.json").exists() == (option("load-format") == "dummy")
    assert "--no-enable-prefix-caching" in sys.argv
    ThreadingHTTPServer((option("host"), int(option("port"))), Handler).serve_forever()


def latency():
    tokens = int(option("output-len"))
    latencies = [FIRST_S + (tokens - 1) * (STEP_S + repeat / 1e4) for repeat in range(int(option("num-iters")))]
    told = {"avg_latency": sum(latencies) / len(latencies), "latencies": latencies, "percentiles": {"50": latencies[0]}}
    Path(option("output-json")).write_text(json.dumps(told))


if __name__ == "__main__":
    FAULT = sys.argv[1]
    if FAULT == "dies":
        sys.exit("ValueError: no room for the model")
    latency() if sys.argv[2:4] == ["bench", "latency"] else serve(sys.argv[3])
