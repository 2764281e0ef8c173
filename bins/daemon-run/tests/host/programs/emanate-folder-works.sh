cat > got.part
mv got.part got
while [ ! -e go ]; do sleep 0.02; done
echo '{"type":"system","subtype":"init","session_id":"s1"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Reading."}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"x","usage":{"input_tokens":9,"output_tokens":2}}'
