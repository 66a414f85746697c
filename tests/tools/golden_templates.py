#!/usr/bin/env python3
"""Makes the expected texts of tests/data/templates/ with Jinja2, set up as Hugging Face's transformers sets it up.

Needs jinja2 3.1 (Debian: python3-jinja2). Run it after changing templates or cases; it rewrites
  language.json   cases of the template language: "template" -> "text", or "error" where Jinja2 refuses it
  styles.json     styles/*.jinja with every conversation of the file
  starter.json    random conversations (fixed seed) with the starter's template
"""
import datetime
import json
import pathlib
import random

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/templates"


class Generation(jinja2.ext.Extension):
    """{% generation %} marks what the model wrote; here it only prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_print"), [], [], body).set_lineno(line)

    def _print(self, caller):
        return caller()


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return made


ENVIRONMENT = environment()


def judge(template, variables):
    """{"text": ...} or {"error": true}; the variables are copied, as a template may change them."""
    try:
        copied = json.loads(json.dumps(variables))
        return {"text": ENVIRONMENT.from_string(template).render(**copied)}
    except Exception:
        return {"error": True}


def rows(values):
    return "[\n" + ",\n".join(json.dumps(value, ensure_ascii=False) for value in values) + "\n]"


def write(path, value):
    """One entry of a list a line."""
    if isinstance(value, dict):
        parts = [json.dumps(key) + ": " + (rows(v) if isinstance(v, list) else json.dumps(v, ensure_ascii=False))
                 for key, v in value.items()]
        text = "{\n" + ",\n".join(parts) + "\n}"
    else:
        text = rows(value)
    path.write_text(text + "\n", encoding="utf-8")


def language():
    path = DATA / "language.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["cases"] = [
        {"template": case["template"]} | judge(case["template"], data["context"]) for case in data["cases"]
    ]
    write(path, data)


def styles():
    path = DATA / "styles.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["results"] = {
        template.stem: [judge(template.read_text(encoding="utf-8"), c) for c in data["conversations"]]
        for template in sorted((DATA / "styles").glob("*.jinja"))
    }
    write(path, data)


WORDS = ["hello", "weather", "Oslo", "naïve", "日本語", "🐧", "\n", "\n\n", "  ", "a<b", "\"q\"", "\\n", "<|im_end|>",
         "</think>", "<think>", "<tool_response>", "</tool_response>", "{{ x }}", "{% if %}", "1e-5", "e\u0301", "\u00a0", "\t"]
SCALARS = ["text", "你好\n", "<b>&'\"", "", 0, -7, 2**70, 1.0, 1e16, 1e-05, 0.1, True, False, None]


def words(rng, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(most)))


def tree(rng, depth):
    kind = rng.randrange(4) if depth else 3
    if kind == 0:
        return [tree(rng, depth - 1) for _ in range(rng.randrange(3))]
    if kind == 1:
        return {rng.choice(["b", "a", "é", "k k", "z"]): tree(rng, depth - 1) for _ in range(rng.randrange(4))}
    return rng.choice(SCALARS)


def conversation(rng):
    """Messages in the words of engine/chat/conversation.h."""
    messages, calls = [], []
    if rng.random() < 0.5:
        messages += [{"role": rng.choice(["system", "developer"]), "content": words(rng, 5)} for _ in range(rng.randrange(1, 3))]
    for _ in range(rng.randrange(1, 7)):
        role = rng.choice(["user", "user", "assistant", "assistant", "tool", "system"])
        message = {"role": role, "content": words(rng, 6)}
        if role == "assistant":
            if rng.random() < 0.4:
                message["reasoning"] = words(rng, 5)
            if rng.random() < 0.4:
                message["calls"] = [
                    {"id": f"call_{len(calls)}{i}", "name": rng.choice(["get_weather", "run"]),
                     "arguments": rng.choice(["", json.dumps({rng.choice("abcd"): tree(rng, 2) for _ in range(rng.randrange(4))}, ensure_ascii=False)])}
                    for i in range(rng.randrange(1, 3))]
                calls += message["calls"]
        if role == "tool" and calls:
            message["call_id"] = rng.choice(calls)["id"]
        messages.append(message)
    made = {"messages": messages, "tools": []}
    if rng.random() < 0.4:
        made["tools"] = [
            {"type": "function", "function": {"name": name, "description": words(rng, 5), "parameters": tree(rng, 3)}}
            for name in ["get_weather", "run"][: rng.randrange(1, 3)]]
    if rng.random() < 0.6:
        made["thinking"] = rng.random() < 0.5
    return made


def variables(made):
    """What the template gets, by the rules of conversation.h."""
    instructs = ("system", "developer")
    messages, first = [], 0
    while first < len(made["messages"]) and made["messages"][first]["role"] in instructs:
        first += 1
    if first:
        parts = [m["content"] for m in made["messages"][:first] if m["content"]]
        messages.append({"role": "system", "content": "\n\n".join(parts)})
    names = {}
    for message in made["messages"][first:]:
        role = "user" if message["role"] in instructs else message["role"]
        entry = {"role": role, "content": message["content"]}
        if "reasoning" in message:
            entry["reasoning_content"] = message["reasoning"]
        if "calls" in message:
            entry["tool_calls"] = []
            for call in message["calls"]:
                names[call["id"]] = call["name"]
                arguments = json.loads(call["arguments"] or "{}")
                entry["tool_calls"].append(
                    {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}})
        if "call_id" in message:
            entry |= {"tool_call_id": message["call_id"], "name": names[message["call_id"]]}
        messages.append(entry)
    result = {"messages": messages, "tools": made["tools"] or None, "documents": None, "add_generation_prompt": True}
    if "thinking" in made:
        result["enable_thinking"] = made["thinking"]
    return result


def special_tokens():
    tokens = json.loads((ROOT / "packaging/starter/tokenizer_config.json").read_text(encoding="utf-8"))
    return {name: tokens[name] for name in ("bos_token", "eos_token", "pad_token") if tokens.get(name)}


def starter():
    rng = random.Random(20)
    template = (ROOT / "packaging/starter/chat_template.jinja").read_text(encoding="utf-8")
    special = special_tokens()
    made = [conversation(rng) for _ in range(200)]
    write(DATA / "starter.json", [c | judge(template, special | variables(c)) for c in made])


if __name__ == "__main__":
    language()
    styles()
    starter()
