# The shell step of the protocol, unchanged. PLAN, TASK_NUM and TASK_NAME are set; the current directory is the project.

# Emit event to blackboard
EVENT=$(cat <<EOF
{
  "type": "task:started",
  "agent": "gsd-executor",
  "plan": "${PLAN}",
  "task": ${TASK_NUM},
  "taskName": "${TASK_NAME}",
  "timestamp": "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
}
EOF
)

# Append to events file
jq ".events += [$EVENT] | .lastEventId += 1" \
  .planning/blackboard/events.json > tmp.json && mv tmp.json .planning/blackboard/events.json
