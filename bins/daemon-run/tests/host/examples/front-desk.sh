# Answers a report in Slack, and adds it to the issue that it names.
cat > /dev/null
issue=$(sed -n 's/.*"text":"[^"]*\(ENG-[0-9]*\).*/\1/p' "$DAEMON_CONTEXT/event.json")
{
  echo '{"v":1,"verb":"reply","slot":"answer","body":"Thank you. I added this to '"$issue"'."}'
  echo '{"v":1,"verb":"comment","target":"linear:'"$issue"'","body":"Reported again in Slack."}'
} >> "$DAEMON_OUTPUTS"
echo '{"daemon":"result","ok":true,"text":"done"}'
