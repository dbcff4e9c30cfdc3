#!/bin/sh
# A team lead that knows only the files of the protocol. It puts ten tasks into the queue and sees them through:
# it assigns each pending one, waits for its report, and gives its verdict in the queue. It rejects the first report on
# the third and the seventh task. Usage: lead.sh FOLDER, the directory `.claude-orchestrator`.
set -eu

queue=$1/tasks/queue.json
to_developer=$1/tasks/messages/to-developer.json
to_lead=$1/tasks/messages/to-team-lead.json
count=10
written=0

now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
pause() { sleep 0.05; }

# change FILE ARGUMENTS-OF-JQ…: read, change, and replace the file in one step.
change() {
    file=$1
    shift
    if jq "$@" "$file" >"$file.$$"; then mv "$file.$$" "$file"; else rm -f "$file.$$"; fi
}

# entry TASK: the task as the queue shows it.
entry() { jq -c --arg id "$1" '(.tasks + .completed)[] | select(.id == $id)' "$queue"; }

# judge TASK STATUS REASON: the verdict, with the time of it.
judge() {
    change "$queue" --arg id "$1" --arg status "$2" --arg why "$3" --arg now "$(now)" '.tasks |= map(
        if .id == $id
        then .status = $status | .updatedAt = $now | if $why == "" then . else .rejectionReason = $why end
        else . end)'
}

change "$queue" '.tasks += [range(10) | {title: "Part \(. + 1)", platform: "web", priority: "medium"}]'
until [ "$(jq '[.tasks[] | select(.id)] | length' "$queue")" -ge $count ]; do pause; done

while [ "$(jq '.completed | length' "$queue")" -lt $count ]; do
    for task in $(jq -r '.tasks[].id' "$queue"); do
        status=$(entry "$task" | jq -r .status)
        rejected=$(entry "$task" | jq -r '.rejectionReason // ""')
        case $status in
        pending)
            if jq -e --arg id "$task" 'all(.messages[]; .taskId != $id)' "$to_developer" >/dev/null; then
                written=$((written + 1))
                change "$to_developer" --argjson task "$(entry "$task")" --arg now "$(now)" '.messages += [{
                    type: "task_assignment", taskId: $task.id, platform: $task.platform, title: $task.title,
                    instructions: "Build \($task.title). \($task.rejectionReason // "")", filesToCreate: ["\($task.id).txt"],
                    architecture: "one file", timestamp: $now}]'
            fi
            ;;
        awaiting_review)
            change "$to_lead" --arg now "$(now)" '.lastRead = $now'
            case $task$rejected in
            task-003 | task-007) judge "$task" rejected "There are no tests in $task." ;;
            *) judge "$task" completed "" ;;
            esac
            ;;
        rejected) judge "$task" pending "" ;;
        esac
    done
    pause
done
