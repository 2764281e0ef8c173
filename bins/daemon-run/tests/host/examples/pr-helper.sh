# The model of the pull-request helper, as a script. It stops if the daemon's file did not reach it.
prompt=$(cat)
case $prompt in *'Apply code changes only on the PR branch.'*) ;; *) exit 9 ;; esac
event=$DAEMON_CONTEXT/event.json
sha=$(git rev-parse --short HEAD)
propose() { printf '%s\n' "$1" >> "$DAEMON_OUTPUTS"; }
run=$(sed -n 's|.*"details_url":"[^"]*/actions/runs/\([0-9]*\)/job/.*|\1|p' "$event")
if [ -n "$run" ]; then
  propose '{"v":1,"verb":"retry_check","run":'"$run"'}'
elif grep -q '"action":"opened"' "$event"; then
  title=$(git log -1 --format=%s)
  propose '{"v":1,"verb":"edit_pull_request","title":"'"$title"'","body":"Lights the wick at dusk. Changes `docs/a.md`."}'
  propose '{"v":1,"verb":"comment","slot":"summary","body":"Wrote a title and a description for '"$sha"'."}'
else
  propose '{"v":1,"verb":"comment","slot":"summary","body":"Read '"$sha"': title and description are accurate."}'
fi
echo '{"daemon":"result","ok":true,"text":"done"}'
