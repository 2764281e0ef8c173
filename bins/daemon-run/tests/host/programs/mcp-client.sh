# Asks the server of the configuration file `$config`, and writes every response to a file in `$here`.
field() { sed -n "s|.*\"$1\":\"\([^\"]*\)\".*|\1|p" "$config"; }
token=$(field DAEMON_RUN_TOKEN); program=$(field command); socket=$(sed -n 's|.*"--run","\([^"]*\)".*|\1|p' "$config")
mkfifo "$HOME/said" "$HOME/told"
DAEMON_RUN_TOKEN=$token "$program" mcp --run "$socket" < "$HOME/said" > "$HOME/told" 2> "$here/trouble" &
exec 3> "$HOME/said" 4< "$HOME/told"
ask() { printf '%s\n' "$1" >&3; read -r line <&4; printf '%s\n' "$line" >> "$here/answers"; }
ask '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
ask '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}'
