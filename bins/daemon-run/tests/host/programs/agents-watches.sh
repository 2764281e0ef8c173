cat > /dev/null
shows() { until grep -q "$1" "$HOME/../daemon.json"; do sleep 0.05; done; }
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'
shows '"claude_session_id": "11111111-2222-4333-8444-555555555555"'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Writing."},{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"NOTES.md"}}]}}'
shows '"current_tool": "Write"'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}'
shows '"current_tool": null'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Noted.","usage":{"input_tokens":9}}'
