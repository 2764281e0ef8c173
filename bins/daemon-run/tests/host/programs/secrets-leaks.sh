cat > /dev/null
while [ $# -gt 0 ]; do [ "$1" = --mcp-config ] && config=$2; given="$given $1"; shift; done
{ env; printf '%s\n' "$given"; [ -n "$config" ] && cat "$config"; } > seen
begin
cat seen canaries escaped; cat seen canaries escaped >&2
while IFS= read -r canary; do
  printf '%s' "$canary" | base64 -w0; echo
  printf 'user:%s' "$canary" | base64 -w0; echo
  printf '%s' "$canary" | od -An -v -tx1 | tr -d ' \n' | sed 's/../%&/g'; echo
done < canaries
told=$(tr '\n' ' ' < escaped)
