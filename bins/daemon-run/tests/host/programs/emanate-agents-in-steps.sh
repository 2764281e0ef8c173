cat > /dev/null
wait_for() { while [ ! -e "$1" ]; do sleep 0.02; done; }
echo '{"type":"system","subtype":"init","session_id":"s1"}'
wait_for say
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Reading."},{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}'
wait_for read
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}'
wait_for end
echo '{"type":"result","subtype":"success","is_error":false,"result":"Fixed."}'
