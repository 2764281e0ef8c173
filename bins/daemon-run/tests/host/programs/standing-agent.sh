# A standing daemon in the place of `claude`: it checks in through the server that the host mounts, takes the step of a reset that is its
# own, and ends. `log` is a directory of the test.
said=$(cat)
config=
session=
given="$*"
while [ $# -gt 0 ]; do
  case $1 in
    --mcp-config) config=$2 ;;
    --resume) session=$2 ;;
  esac
  shift
done
case $session in
  '') name=$(printf '%s\n' "$said" | sed -n '1s/^You are `.*\/\([^`]*\)`,.*/\1/p'); wake=start ;;
  *) name=${session#s-}; wake=$(printf '%s' "$said" | sed -n 's/.*the wake `\([a-z]*\)`.*/\1/p') ;;
esac
echo $$ > "$log/pid-$name"
exec 9> "$log/lock-$name"
flock -n 9 || echo "$name" >> "$log/two"
printf '%s %s\n' "$name" "${wake:-$said}" >> "$log/wakes"
printf '%s\n' "$given" >> "$log/arguments"
[ -n "$session" ] || printf '%s' "$said" > "$log/packet-$name"
field() { sed 's/.*"daemon":{//' "$config" | grep -o "$1\"[^\"]*\"" | head -n 1 | sed 's/"$//; s/.*"//'; }
mkfifo "$HOME/in-$$" "$HOME/out-$$"
token=$(field '"DAEMON_RUN_TOKEN":')
printf '%s\n' "$token" >> "$log/tokens"
DAEMON_RUN_TOKEN=$token "$(field '"command":')" mcp --run "$(field '"--run",')" --server \
  < "$HOME/in-$$" > "$HOME/out-$$" 2>> "$log/trouble" 9>&- &
exec 3> "$HOME/in-$$" 4< "$HOME/out-$$"
ask() {
  printf '%s\n' "$1" >&3
  read -r line <&4
  printf '%s\n' "$name $line" >> "$log/answers"
}
call() { ask "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}"; }
member() { printf '%s' "$line" | grep -o "\"$1\":[^,}]*" | head -n 1 | sed 's/.*://; s/"//g'; }
ask '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-$name\"}"
if [ ! -e "$log/silent-$name" ]; then
  call daemon_checkin "{\"wake\":\"${wake:-poke}\",\"session_id\":\"s-$name\"}"
  row=$(member daemon)
  state="$(member reset_state) $(member generation)"
  case $state in
    'spawned null') step=daemon_successor_ready ;;
    'ready '*) step=daemon_reset_handoff ;;
    'handed_off '[0-9]*) step=daemon_retire_predecessor ;;
    *) step= ;;
  esac
  if [ -n "$step" ] && [ ! -e "$log/no-$step" ]; then
    call recall_reset "{\"daemon\":\"$row\"}"
    reset=$(printf '%s' "$line" | grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4)
    call "$step" "{\"reset\":\"$reset\"}"
  fi
fi
# A file says which tool it calls once, and with what.
if [ -s "$log/do-$name" ]; then
  read -r tool arguments < "$log/do-$name"
  rm "$log/do-$name"
  call "$tool" "$arguments"
  printf '%s\n' "$line" > "$log/done-$name.new"
  mv "$log/done-$name.new" "$log/done-$name"
fi
[ ! -e "$log/merge-$name" ] || call daemon_authorize '{"action":"merge"}'
while [ -e "$log/hang-$name" ]; do : > "$log/hangs-$name"; sleep 0.05; done
exec 3>&- 4<&-
echo '{"type":"result","subtype":"success","is_error":false,"result":"Checked in.","total_cost_usd":0}'
