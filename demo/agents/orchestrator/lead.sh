#!/bin/sh
# The team lead. It knows nothing about moot: it reads and writes JSON files.
# It takes the most urgent pending task of the queue, assigns it, waits for the report, and judges it in the queue.
set -eu

tasks=.claude-orchestrator/tasks
queue=$tasks/queue.json
to_developer=$tasks/messages/to-developer.json
to_lead=$tasks/messages/to-team-lead.json

now() { date -u +%Y-%m-%dT%H:%M:%S.000Z; }
pause() { sleep 0.2; }

# change FILE JQ-ARGUMENT…: write the file again, in one step, as jq makes it.
change() {
    file=$1
    shift
    jq "$@" "$file" >"$file.lead"
    mv "$file.lead" "$file"
}

# judge TASK STATUS REASON: the verdict. Then wait until the keeper of the queue has stamped it.
judge() {
    before=$(jq -r .lastUpdated "$queue")
    change "$queue" --arg id "$1" --arg status "$2" --arg why "$3" \
        '.tasks |= map(if .id == $id then .status = $status | if $why == "" then . else .rejectionReason = $why end else . end)'
    while [ "$(jq -r .lastUpdated "$queue")" = "$before" ]; do pause; done
}

while [ "$(jq '.tasks | length' "$queue")" -gt 0 ]; do
    task=$(jq -r '[.tasks[] | select(.status == "pending")]
        | sort_by({high: 0, medium: 1, low: 2}[.priority], .createdAt) | .[0].id // ""' "$queue")
    if [ -z "$task" ]; then
        pause
        continue
    fi
    entry=$(jq --arg id "$task" '.tasks[] | select(.id == $id)' "$queue")
    change "$to_developer" --argjson task "$entry" --arg now "$(now)" '.messages += [{
        type: "task_assignment", taskId: $task.id, platform: "custom", title: $task.title,
        instructions: ($task.title + ". " + ($task.rejectionReason // "")),
        filesToCreate: [$task.id + ".py"], architecture: "plain functions", timestamp: $now}]'
    until jq -e --arg id "$task" '[.messages[] | select(.taskId == $id)] | length > 0' "$to_lead" >/dev/null; do pause; done
    report=$(jq --arg id "$task" '[.messages[] | select(.taskId == $id)] | last' "$to_lead")
    change "$to_lead" --arg now "$(now)" '.lastRead = $now'
    if printf '%s' "$report" | jq -e '.buildResult.status == "success" and any(.filesCreated[]; startswith("test_"))' >/dev/null; then
        judge "$task" completed ""
    else
        judge "$task" rejected "Add a test."
        judge "$task" pending ""
    fi
done
