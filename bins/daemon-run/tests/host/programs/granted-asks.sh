ask '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"tickets__find","arguments":{"q":"x"}}}'
ask '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"pages__close","arguments":{}}}'
exec 3>&-
env > "$here/environment"; cat "$config" > "$here/config"
