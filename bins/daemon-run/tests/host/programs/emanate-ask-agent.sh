message=$(cat)
wait_for() { while [ ! -e "$1" ]; do sleep 0.02; done; }
case "$*" in
*"--resume s-1"*)
  echo "$*" > resumed
  case "$message" in *hang*) sleep 1000;; esac
  text="re: $message";;
*) wait_for say; echo '{"type":"system","subtype":"init","session_id":"s-1"}'; wait_for go; text=first;;
esac
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Working."}]}}'
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$text\"}"
