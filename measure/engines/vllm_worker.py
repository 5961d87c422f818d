"""What vLLM's worker processes are asked besides serving: what they loaded, which kernels serve it, what those do.

vLLM adds the methods of `Worker` to its own worker class, by the name that `worker_extension_cls` gives, and calls them
in the process that uses the card. What they return is plain, so that it passes between processes.
"""

from __future__ import annotations

from typing import Any

from measure import kernels

NAME = "measure.engines.vllm_worker.Worker"
"""For `worker_extension_cls`."""


class Worker:
    """Methods for `LLM.collective_rpc`; their names must not be among those of vLLM's worker."""

    model_runner: Any

    def told_of_model(self) -> dict[str, float]:
        """Bytes that loading took, and numbers of this worker's part: all, of the embedding, and of 1-D tensors.

        `again` are its share of those that it holds as others do: with fewer heads of keys and values than cards, each
        head's projection stands on several.
        """
        module = self.model_runner.get_model()
        tensors = {name: tensor for name, tensor in module.named_parameters() if "scale" not in name.rsplit(".", 1)[-1]}
        outer = sum(tensor.numel() for name, tensor in tensors.items() if "embed_tokens" in name or "lm_head" in name)
        return {
            "loaded_bytes": float(self.model_runner.model_memory_usage),
            "parameters": float(sum(tensor.numel() for tensor in tensors.values())),
            "embedding": float(outer),
            "norms": float(sum(tensor.numel() for tensor in tensors.values() if tensor.dim() == 1)),
            "again": float(sum(_held_again(part) for part in module.modules())),
        }

    def told_of_kernels(self) -> dict[str, str]:
        """Classes that vLLM chose for matrix products and for attention, by their own names."""
        products, attention = set[str](), set[str]()
        for part in self.model_runner.get_model().modules():
            method = getattr(part, "quant_method", None)
            if "Linear" in type(method).__name__:
                chosen = getattr(method, "fp8_linear", None)
                products.add(type(chosen if chosen is not None else method).__name__)
            if getattr(part, "impl", None) is not None and hasattr(part, "kv_cache_dtype"):
                attention.add(type(part.impl).__name__)
        return {"matmul_path": ", ".join(sorted(products)), "attention_path": ", ".join(sorted(attention))}

    def told_of_sums(self) -> dict[str, str]:
        """Ways that vLLM has for adding up over the cards, by its own names, the first that takes a size being used."""
        from vllm.distributed import get_tp_group

        made = get_tp_group().device_communicator
        names = ("fi_ar_comm", "ca_comm", "symm_mem_comm", "pynccl_comm")
        ways = {name: getattr(made, name, None) for name in names}
        return {"all_reduce_path": ", ".join(type(way).__name__ for way in ways.values() if _is_on(way))}

    def start_tracing(self) -> None:
        """Begin to trace this process's kernels."""
        self._tracing = kernels.start()

    def stop_tracing(self) -> dict[str, Any]:
        """End the trace; a `kernels.Trace` as a dictionary."""
        return kernels.stop(self._tracing)._asdict()


def _held_again(part: Any) -> float:  # noqa: ANN401  # vLLM's QKVParallelLinear, or any other layer
    """Numbers of a projection of keys and values that this worker holds beyond its even share."""
    copies = getattr(part, "num_kv_head_replicas", 1)
    heads = getattr(part, "num_heads", 0) + 2 * getattr(part, "num_kv_heads", 0)
    return part.weight.numel() * 2 * part.num_kv_heads / heads * (1 - 1 / copies) if copies > 1 else 0.0


def _is_on(way: Any) -> bool:  # noqa: ANN401  # one of vLLM's communicators, or None
    return way is not None and not getattr(way, "disabled", True)
