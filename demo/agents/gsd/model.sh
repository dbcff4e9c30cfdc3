#!/bin/sh
# Plan 01-01: makes the model that another plan waits for.
PLAN=01-01
. "$(dirname "$0")/steps.sh"

started 1 "Create User model"
emit '{type: "file:claimed", path: "src/models/user.ts", agent: $agent, plan: $plan, timestamp: $now}'
seen '.type == "file:claimed" and .plan == $plan and .eventId'
mkdir -p src/models
echo "export interface User { name: string }" >src/models/user.ts
emit '{type: "artifact:created", path: "src/models/user.ts", provides: ["User"], createdBy: $plan, timestamp: $now}'
emit '{type: "file:released", path: "src/models/user.ts", agent: $agent, timestamp: $now}'
completed 1
