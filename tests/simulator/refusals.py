"""The 4xx answers of OpenAI-compatible servers, in their wording."""

from __future__ import annotations

from typing import Any

from tests.simulator.settings import Body

Error = dict[str, Any]


def error(message: str, *, kind: str = "invalid_request_error", param: str | None = None, code: Any = None) -> Error:
    """The body of an error reply."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


MESSAGES = {
    400: ("Invalid request.", "invalid_request_error", None),
    401: ("Incorrect API key provided: {key}.", "invalid_request_error", "invalid_api_key"),
    403: ("Your project does not have access to this model.", "invalid_request_error", "model_not_found"),
    404: ("The model `{model}` does not exist or is not yours.", "invalid_request_error", "model_not_found"),
    408: ("Request timed out.", "timeout", None),
    409: ("Another request is being processed.", "conflict", None),
    422: ("Unprocessable request.", "invalid_request_error", None),
    429: ("Rate limit reached for requests", "requests", "rate_limit_exceeded"),
    500: ("The server had an error while processing your request. Sorry about that!", "server_error", None),
    503: ("The engine is currently overloaded, please try again later", "server_error", None),
}  # fmt: skip

AZURE_FILTER: Error = {
    "error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
        "Please modify your prompt and retry.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
        },
    }
}


def status_error(status: int, body: Body, key: str, message: str | None, code: str | None, param: str | None) -> Error:
    """The error body that goes with ``status``. A 401 repeats the key, as some gateways do."""
    text, kind, default_code = MESSAGES.get(status, (f"Error {status}", "server_error", None))
    text = (message or text).replace("{key}", key).replace("{model}", str(body.get("model")))
    return error(text, kind=kind, param=param, code=code or default_code)


def unsupported(body: Body, names: frozenset[str]) -> Error | None:
    """The 400 for the first parameter of ``body`` that is among ``names``, or for its system message."""
    if "system" in names and any(message["role"] == "system" for message in body["messages"]):
        return error("System role not supported", kind="BadRequestError")
    for name in names & {"temperature", "top_p"} & body.keys():
        text = f"Unsupported value: '{name}' does not support {body[name]} with this model."
        text += " Only the default (1) value is supported."
        return error(text, param=name, code="unsupported_value")
    for name, other in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
        if name in names & body.keys():
            text = f"Unsupported parameter: '{name}' is not supported with this model. Use '{other}' instead."
            return error(text, param=name, code="unsupported_parameter")
    if "logprobs" in names and body.get("logprobs"):
        return error("You are not allowed to request logprobs from this model.", param="logprobs")
    if "seed" in names and "seed" in body:
        return error("Unrecognized request argument supplied: seed")
    if "reasoning_effort" in names and "reasoning_effort" in body:
        text = "Unsupported parameter: 'reasoning_effort' is not supported with this model."
        return error(text, param="reasoning_effort", code="unsupported_parameter")
    if "tools" in names and "tools" in body:
        text = "Unsupported parameter: 'tools' is not supported with this model."
        return error(text, param="tools", code="unsupported_parameter")
    if "tools" in names and any(m["role"] == "tool" or "tool_calls" in m for m in body["messages"]):
        return error("This model does not support tool calling: no message may have tool_calls or the role tool.")
    return _unsupported_format(body, names)


def _unsupported_format(body: Body, names: frozenset[str]) -> Error | None:
    kind = (body.get("response_format") or {}).get("type")
    if kind is None or not {"response_format", kind} & names:
        return None
    if "response_format" in names:
        return error("Unknown parameter: 'response_format'.", param="response_format", code="unknown_parameter")
    text = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
    return error(text, param="response_format")
