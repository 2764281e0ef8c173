name=$(tail -n 1)
case "$name" in
quick) echo '{"daemon":"result","ok":true,"text":"q"}'; exit 0;;
stubborn) trap '' TERM; (trap '' TERM; while :; do sleep 1000; done) & while :; do sleep 1000; done;;
silent) exec sleep 1000;;
esac
echo begun
while [ ! -e "go-$name" ]; do sleep 0.02; done
echo '{"daemon":"result","ok":true,"text":"went"}'
