# Starts each server of its configuration as the agent of that name does, calls a tool of it, and writes the responses to `answers`.
# While a server runs, it writes everything that a shell inside of the run can find of it to `seen`.
cat > /dev/null
trap '' PIPE
here=$PWD
given="$*"
config=$DAEMON_MCP
while [ $# -gt 0 ]; do
  case $1 in
    --mcp-config) config=$2 ;;
    mcp_servers.*.args=*) name=${1#mcp_servers.}; printf '%s\n' "${1#*.args=}" > "$HOME/script-${name%%.*}" ;;
  esac
  shift
done
[ -n "$OPENCODE_CONFIG_CONTENT" ] && config=$HOME/config && printf '%s' "$OPENCODE_CONFIG_CONTENT" > "$config"

# Prints the command with which the configuration starts a server.
start() {
  if [ -f "$HOME/script-$1" ]; then
    sed 's/^\["-c", "//; s/"\]$//; s/\\"/"/g' "$HOME/script-$1"
    return
  fi
  part=$(sed "s/.*\"$1\":{//" "$config")
  field() { printf '%s' "$part" | grep -o "$1\"[^\"]*\"" | head -n 1 | sed 's/"$//; s/.*"//'; }
  printf "DAEMON_RUN_TOKEN=%s '%s' mcp --run '%s' --server" \
    "$(field '"DAEMON_RUN_TOKEN":')" "$(field '"command":\[*')" "$(field '"--run",')"
}
ask() { printf '%s\n' "$1" >&3; read -r line <&4; printf '%s\n' "$line" >> "$here/$2"; }
look() {
  printf '%s\n' "$given"
  env
  [ -z "$config" ] || cat "$config"
  for process in /proc/self $LOOKED; do tr '\0' '\n' < "$process/environ"; done
  for process in /proc/self $LISTED; do tr '\0' '\n' < "$process/cmdline"; done
  way=$(start "$1" | sed "s/.*--run' *'\([^']*\)'.*/\1/")
  [ -z "$LOOKED" ] || find "$way" "$(dirname "$way")" "$(dirname "$(dirname "$way")")" -type f -exec cat {} +
}
begin() {
  mkfifo "$HOME/said-$1" "$HOME/told-$1"
  sh -c "$(start "$1")" < "$HOME/said-$1" > "$HOME/told-$1" 2>> "$here/trouble" &
  exec 3> "$HOME/said-$1" 4< "$HOME/told-$1"
  ask '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' hello
  ask '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}' answers
}
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":{"n":7}}}' "$1" "$2"; }
use() {
  begin "$1"
  ask "$(call 3 "$2")" answers
  look "$1" >> "$here/seen" 2> /dev/null
  exec 3>&- 4<&-
}
# Gives up a call that is never answered, and makes another one.
give_up() {
  begin "$1"
  printf '%s\n{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}\n' "$(call 3 "$2")" >&3
  printf '%s\n' "$(call 4 "$3")" >&3
  until printf '%s' "$line" | grep -q '"id":4,'; do read -r line <&4 || exit 1; done
  exec 3>&- 4<&-
}
