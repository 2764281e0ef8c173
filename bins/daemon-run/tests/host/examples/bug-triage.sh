# The model of the bug triage, as a script: fills in what is missing, and analyses an issue once.
prompt=$(cat)
case $prompt in *'Post exactly one RCA comment per issue'*) ;; *) exit 9 ;; esac
propose() { printf '%s\n' "$1" >> "$DAEMON_OUTPUTS"; }
event=$DAEMON_CONTEXT/event.json
if grep -q '"analysed":"yes"' "$DAEMON_CONTEXT/state.json"; then
  propose '{"v":1,"verb":"no_op","reason":"the issue was analysed before"}'
else
  place=$(sed -n 's/.*at \(src\/[a-z]*\.rs\):\([0-9]*\).*/\1/p' "$event")
  owner=$(sed -n "s|^/$place @||p" CODEOWNERS)
  code=$(grep -n unwrap "$place" | head -n 1)
  propose '{"v":1,"verb":"edit_issue","priority":2,"assignee":"'"$owner"'","append":"Seen in `'"$place"'`. Sentry: 312 events, 40 users."}'
  propose '{"v":1,"verb":"comment","slot":"rca","body":"Root cause: `'"$place:$code"'`.\nEvidence: the stack trace names it.\nConfidence: high."}'
  propose '{"v":1,"verb":"state","set":{"analysed":"yes"}}'
fi
echo '{"daemon":"result","ok":true,"text":"done"}'
