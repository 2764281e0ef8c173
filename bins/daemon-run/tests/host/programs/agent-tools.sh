# Calls the tool that its message names on the host's server, and ends as each agent does.
session() {
  case "$given" in
  exec*) echo '{"type":"thread.started","thread_id":"t-1"}' ;;
  run*) echo '{"type":"step_start","sessionID":"ses_1","part":{}}' ;;
  *) echo '{"type":"system","subtype":"init","session_id":"c-1"}' ;;
  esac
}
say() {
  case "$given" in
  exec*)
    echo "{\"type\":\"item.completed\",\"item\":{\"id\":\"i1\",\"type\":\"agent_message\",\"text\":\"$1\"}}"
    echo '{"type":"turn.completed","usage":{}}' ;;
  run*)
    echo "{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{\"messageID\":\"m1\",\"text\":\"$1\"}}"
    echo '{"type":"step_finish","sessionID":"ses_1","part":{"id":"p1","reason":"stop"}}' ;;
  *) echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$1\",\"usage\":{}}" ;;
  esac
}
# Says that it uses a tool, in the words of each agent.
uses() {
  case "$given" in
  exec*) echo '{"type":"item.started","item":{"id":"i0","type":"mcp_tool_call","server":"daemon","tool":"ask_user"}}' ;;
  run*) echo '{"type":"tool_use","sessionID":"ses_1","part":{"tool":"daemon_ask_user","callID":"i0","state":{"status":"completed"}}}' ;;
  *) echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"i0","name":"mcp__daemon__ask_user","input":{}}]}}' ;;
  esac
}
session
case "$said" in
'{'*)
  begin daemon
  uses
  ask "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":$said}" answers
  exec 3>&- 4<&-
  say Called. ;;
*)
  case "$given" in
  *"--resume c-1"*|*"resume t-1"*|*"--session ses_1"*) say "Continued with: $said" ;;
  esac ;;
esac
