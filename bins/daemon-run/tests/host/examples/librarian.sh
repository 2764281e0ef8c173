# The model of the librarian, as a script: one pull request, whose body lists the changes.
prompt=$(cat)
case $prompt in *'Every claim in a doc update must be supported by the current codebase.'*) ;; *) exit 9 ;; esac
propose() { printf '%s\n' "$1" >> "$DAEMON_OUTPUTS"; }
own=$(printf '%s\n' "$prompt" | sed -n 's|.*\(github:o/r#[0-9]*\) by open_pull_request.*|\1|p' | head -n 1)
list=$(sed -n 's/.*"list":"\([^"]*\)".*/\1/p' "$DAEMON_CONTEXT/state.json")
line="- $(git rev-parse --short HEAD)"
if [ -z "$own" ]; then
  echo 'The lamp has one wick.' > docs/lamp.md
  line="$line: documents src/lamp.rs, which no page described"
  propose '{"v":1,"verb":"open_pull_request","title":"Keep the docs current","body":"'"$line"'"}'
else
  line="$list\\n$line: the merged change needs no new docs"
  propose '{"v":1,"verb":"edit_pull_request","target":"'"$own"'","body":"'"$line"'"}'
fi
propose '{"v":1,"verb":"state","set":{"list":"'"$line"'"}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
