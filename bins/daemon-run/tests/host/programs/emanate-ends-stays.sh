cat > /dev/null
echo '{"daemon":"usage","input":5,"output":2}'
echo '{"daemon":"result","ok":true,"text":"fixed"}'
echo reported
while [ ! -e go ]; do sleep 0.02; done
