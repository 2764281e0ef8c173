#!/bin/sh
# Carries out `spelling` without a model: corrects one word in the pull request and proposes what a model would propose.
# A model reads the context here.
cat > /dev/null
n=$(grep -rho --include='*.md' Lantren . | wc -l)
if [ "$n" -eq 0 ]; then
  echo '{"daemon":"output","output":{"v":1,"verb":"no_op","reason":"no word is misspelled"}}'
  echo '{"daemon":"result","ok":true,"text":"No word is misspelled."}'
  exit 0
fi
grep -rl --include='*.md' Lantren . | while read -r file; do
  sed 's/Lantren/Lantern/g' "$file" > "$file.new" && mv "$file.new" "$file"
done
# The branch of the author, from the payload. Only plain names are used.
base=$(tr ',{' '\n\n' < "$DAEMON_CONTEXT/event.json" | sed -n '/^"head"/,/^"ref"/s/^"ref":"\([A-Za-z0-9_-]*\)".*/\1/p' | head -n 1)
cat >> "$DAEMON_OUTPUTS" <<END
{"v":1,"verb":"open_pull_request","title":"Spell Lantern correctly","base":"${base:-main}","body":"Corrects $n words. Merge it into your branch if you agree."}
{"v":1,"verb":"comment","slot":"spelling","body":"Found $n misspelled words and opened a pull request that corrects them."}
END
echo '{"daemon":"result","ok":true,"text":"'"Corrected $n words."'"}'
