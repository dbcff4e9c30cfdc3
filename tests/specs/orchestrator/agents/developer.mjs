// A developer that knows only the files of the protocol. It builds what it is assigned, and reports.
// Usage: node developer.mjs FOLDER, the directory `.claude-orchestrator`. It runs until it is stopped.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const folder = process.argv[2];
const toDeveloper = join(folder, "tasks/messages/to-developer.json");
const toLead = join(folder, "tasks/messages/to-team-lead.json");
const reported = new Set();

function read(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { messages: [], lastRead: null };
  }
}

function write(file, content) {
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(content, null, 2));
  renameSync(`${file}.${process.pid}`, file);
}

function build(assignment) {
  for (const file of assignment.filesToCreate) {
    writeFileSync(join(dirname(folder), file), assignment.instructions);
  }
  return { status: "success", command: "true", errors: 0 };
}

for (;;) {
  const mailbox = read(toDeveloper);
  for (const assignment of mailbox.messages) {
    const name = `${assignment.taskId} ${assignment.timestamp}`;
    if (reported.has(name)) continue;
    reported.add(name);
    const buildResult = build(assignment);
    write(toDeveloper, { ...read(toDeveloper), lastRead: new Date().toISOString() });
    const box = read(toLead);
    box.messages.push({
      type: "completion_report",
      taskId: assignment.taskId,
      platform: assignment.platform,
      status: "awaiting_review",
      summary: `Built ${assignment.title}`,
      filesCreated: assignment.filesToCreate,
      filesModified: [],
      buildResult,
      timestamp: new Date().toISOString(),
    });
    write(toLead, box);
  }
  await pause(30);
}
