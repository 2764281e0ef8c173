#!/bin/sh
echo "$KEY" >> "$(dirname "$0")/given"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='{"tools":[{"name":"find","description":"Finds.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"close","inputSchema":{"type":"object"}},{"name":"flood","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"find"'*) answer="{\"content\":[{\"type\":\"text\",\"text\":\"found with $KEY\"}]}" ;;
    *'"close"'*) answer='{"isError":true,"content":[{"type":"text","text":"no such ticket"}]}' ;;
    *'"flood"'*) head -c 100000000 /dev/zero | tr '\0' x ;;
    *'"die"'*) exit 3 ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
