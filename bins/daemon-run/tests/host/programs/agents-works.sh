cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Writing."},{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"NOTES.md"}}]}}'
echo noted > NOTES.md
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Noted.","total_cost_usd":0.02,"usage":{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":2}}'
