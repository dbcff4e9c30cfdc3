#!/bin/sh
# Plan 01-03, in the second wave: waits for the model, and asks the user before it ends.
PLAN=01-03
. "$(dirname "$0")/steps.sh"

seen '.type == "dependency:satisfied" and any(.requiredBy[]; . == $plan)'
started 1 "Create the API"
emit '{type: "checkpoint:reached", plan: $plan, task: 1, checkpointType: "human-verify", awaiting: "a look at the API", timestamp: $now}'
seen '.type == "checkpoint:resolved" and .plan == $plan'
completed 1
