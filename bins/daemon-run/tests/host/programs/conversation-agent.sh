said=$(tail -n 1)
echo "$*" >> calls
text="first: $said"
case "$*" in
*"--resume c-1"*|*"resume t-1"*|*"--session ses_1"*) text="again: $said";;
esac
case "$1" in
exec)
  echo '{"type":"thread.started","thread_id":"t-1"}'
  echo "{\"type\":\"item.completed\",\"item\":{\"id\":\"i1\",\"type\":\"agent_message\",\"text\":\"$text\"}}"
  echo '{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2}}';;
run)
  echo '{"type":"step_start","sessionID":"ses_1","part":{}}'
  echo "{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{\"messageID\":\"m1\",\"text\":\"$text\"}}"
  echo '{"type":"step_finish","sessionID":"ses_1","part":{"id":"p1","reason":"stop","tokens":{"input":5,"output":2,"reasoning":0,"cache":{"read":4,"write":0}}}}';;
*)
  echo '{"type":"system","subtype":"init","session_id":"c-1"}'
  echo "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"$text\"}]}}"
  echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$text\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":4,\"output_tokens\":2}}";;
esac
