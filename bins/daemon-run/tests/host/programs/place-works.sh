cat > /dev/null
git log --format=%s > "$HOME/log" 2>&1
git status --porcelain > "$HOME/status" 2>&1
git for-each-ref '--format=%(refname)' > "$HOME/refs" 2>&1
git merge-base main HEAD > "$HOME/base" 2>&1
git rev-parse HEAD > "$HOME/head" 2>&1
git blame docs/a.md > /dev/null 2>> "$HOME/status"
git diff HEAD~1 > /dev/null 2>> "$HOME/status"
echo more >> docs/a.md
git commit --quiet --all --message 'by the run' > "$HOME/commit" 2>&1
git log -1 '--format=%an <%ae> %s' > "$HOME/own" 2>&1
echo more >> docs/b.md
git status --porcelain > "$HOME/left" 2>&1
watched=WATCHED
: > "$HOME/read"
for name in HEAD config index packed-refs refs hooks logs objects; do
    if ls "$watched/$name" > /dev/null 2>&1 && { [ -d "$watched/$name" ] || cat "$watched/$name" > /dev/null 2>&1; }; then
        echo "$name" >> "$HOME/read"
    fi
done
for name in HEAD config index.lock refs/heads/new hooks/new objects/new objects/info/new; do
    { echo >> "$watched/$name"; } 2> /dev/null && echo "$name" >> "$HOME/read"
done
echo '{"daemon":"result","ok":true,"text":"worked"}'
