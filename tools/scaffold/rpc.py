"""./dev new rpc: request, response and the service's line in the contract."""
import re

CONTRACT = "proto/keiko/v1/cluster.proto"


def scaffold(draft, name):
    text = draft.text(CONTRACT)
    service = re.search(r"^service ClusterService \{\n(.*?)^\}", text, re.S | re.M)
    if service is None:
        draft.replace(CONTRACT, r"^service ClusterService \{", "", "service ClusterService")
        return
    if re.search(rf"\brpc {name}\(", text):
        draft.new_file(CONTRACT, "")  # says that it exists already
    draft.replace(CONTRACT, r"^(service ClusterService \{\n.*?)^\}",
                  lambda m: f"{m[1]}  rpc {name}({name}Request) returns ({name}Response);\n}}",
                  f"rpc {name}")
    draft.texts[CONTRACT] = draft.text(CONTRACT).rstrip("\n") + f"""

// Say what {name} does, and which errors it answers with.
message {name}Request {{
  string name = 1;
}}
message {name}Response {{
  string text = 1;         // a sentence
}}
"""
    draft.box(
        f"give {name}Request and {name}Response their fields; a tag never changes its meaning")
    draft.box("src/wire: a method of the client, and its conversion to the model")
    draft.box("src/server: the handler (until then callers get 'unimplemented'), and its test")
    draft.box("HTTP: the route in src/server and its path in docs/openapi.yaml")
    draft.box("a verb? ./dev new verb NAME")
