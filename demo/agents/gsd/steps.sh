# Steps of an executor in the shell. It knows nothing about moot: it reads and writes the event file of its protocol.
set -eu

board=.planning/blackboard/events.json
agent=gsd-executor

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
pause() { sleep 0.2; }

# emit JQ-ARGUMENT… OBJECT: append an event, as the protocol describes.
emit() {
    event=$(jq -n --arg agent "$agent" --arg plan "$PLAN" --arg now "$(now)" "$@")
    jq ".events += [$event] | .lastEventId += 1" "$board" >tmp.json && mv tmp.json "$board"
}

started() {
    emit --argjson task "$1" --arg name "$2" \
        '{type: "task:started", agent: $agent, plan: $plan, task: $task, taskName: $name, timestamp: $now}'
}

completed() {
    emit --argjson task "$1" --arg commit "$(git rev-parse HEAD)" \
        '{type: "task:completed", agent: $agent, plan: $plan, task: $task, commit: $commit, timestamp: $now}'
}

# seen JQ-CONDITION: wait until the file has such an event.
seen() {
    until jq -e --arg plan "$PLAN" "any(.events[]; $1)" "$board" >/dev/null 2>&1; do pause; done
}
