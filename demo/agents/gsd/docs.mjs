// Plan 01-02: two tasks. The first fails once and is tried again. It knows only the event file.
import { execFileSync } from "node:child_process";
import { promises as fs } from "node:fs";

const board = ".planning/blackboard/events.json";
const common = { agent: "gsd-executor", plan: "01-02" };
const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf-8" }).trim();

async function emit(event) {
  const data = JSON.parse(await fs.readFile(board, "utf-8"));
  data.events.push({ ...event, ...common, timestamp: new Date().toISOString(), id: ++data.lastEventId });
  await fs.writeFile(board, JSON.stringify(data, null, 2));
  await new Promise((done) => setTimeout(done, 700));
}

await emit({ type: "task:started", task: 1, taskName: "Write the guide" });
await emit({ type: "task:failed", task: 1, error: "The link check failed" });
await emit({ type: "task:started", task: 1, taskName: "Write the guide" });
await emit({ type: "decision:made", decision: "Relative links only", rationale: "They survive a move", madeBy: "01-02", affects: ["01-*"] });
await emit({ type: "task:completed", task: 1, commit });
await emit({ type: "task:started", task: 2, taskName: "Write the index" });
await emit({ type: "task:completed", task: 2, commit });
