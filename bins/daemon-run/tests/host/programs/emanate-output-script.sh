name=$(tail -n 1)
case "$name" in
strange)
  echo 'Welcome to the program!'; echo '[1,2]'; printf 'bad \377\376 bytes\n'; echo; echo '   '
  head -c 5000000 /dev/zero | tr '\0' x; echo
  echo '{"daemon":"result","ok":true,"text":"survived"}';;
flood)
  head -c 10000000 /dev/zero | tr '\0' x | fold -w 3900 >&2; echo >&2
  seq 101 130 >&2; exit 1;;
asks) if read -r line; then echo "got $line"; else echo 'end of file'; fi;;
complains) seq -f 'line %03g' 1 100 >&2; yes é | head -n 480 | tr -d '\n' >&2; echo >&2; echo said; exit 1;;
silent) exit 3;;
esac
