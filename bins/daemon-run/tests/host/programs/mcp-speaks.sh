call() { ask "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}"; }
call state_set '{"key":"seen","value":{"n":1}}'
call state_get '{"key":"seen"}'
call propose_output '{"output":{"v":1,"verb":"no_op","reason":"clean"}}'
call propose_output '{"output":{"v":1,"verb":"merge","target":"github:o/r#1"}}'
exec 3>&-
printf '%s\n%s\n%s\n' "$program" "$socket" "$token" > "$here/way"
echo "the token is $token"
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{}}'
