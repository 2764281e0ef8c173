"""Sends one message to an agent of a running host and prints the reply while it arrives.

Usage: python3 chat_client.py HOME/run/daemon.sock AGENT SENDER MESSAGE
"""

import json
import socket
import sys


def main(path, agent, sender, content):
    host = socket.socket(socket.AF_UNIX)
    host.connect(path)
    lines = host.makefile("rw", encoding="utf-8", newline="\n")

    def send(number, method, params):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        lines.write(json.dumps(request) + "\n")
        lines.flush()

    send(1, "initialize", {"protocol_version": 1})
    send(2, "conversation/stream", {"agent": agent, "sender": sender, "content": content})
    for line in lines:
        message = json.loads(line)
        event = message.get("params", {}).get("event", {})
        if event.get("type") == "text":
            print(event["text"], end="", flush=True)
        if "error" in message:
            sys.exit(message["error"]["message"])
        if message.get("id") == 2:
            print()
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
