cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'
while [ $# -gt 0 ]; do [ "$1" = --mcp-config ] && config=$2; shift; done
field() { sed -n "s|.*\"$1\":\"\([^\"]*\)\".*|\1|p" "$config"; }
token=$(field DAEMON_RUN_TOKEN); program=$(field command); way=$(sed -n 's|.*"--run","\([^"]*\)".*|\1|p' "$config")
cd "$HOME"
ask() {
  hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
  call="{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"$2\",\"arguments\":$3}}"
  mkfifo "said-$1"
  DAEMON_RUN_TOKEN=$4 "$program" mcp --run "$way" < "said-$1" > "answer-$1" 2> "trouble-$1" &
  exec 3> "said-$1"; printf '%s\n%s\n' "$hello" "$call" >&3
  n=0; while [ "$(wc -l < "answer-$1")" -lt 2 ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done
  exec 3>&-; wait
}
ask set state_set '{"key":"seen","value":{"n":1}}' "$token"
(ask one state_get '{"key":"seen"}' "$token") & (ask two state_get '{"key":"seen"}' "$token") & wait
ask three propose_output '{"output":{"v":1,"verb":"no_op","reason":"clean"}}' "$token"
ask stranger state_get '{"key":"seen"}' 0000
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new($ARGV[0]) or die "$!\n"' HOME_OF_HOST/run/daemon.sock 2> socket && echo connected > socket
DAEMON_HOME=HOME_OF_HOST "$program" hold --json > hold 2>&1; echo $? > held
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{}}'
