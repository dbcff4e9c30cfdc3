// Emits events of tool calls to the blackboard of this project. Written by `moot gsd emitter`.
//
//   import hook, { emitEvent } from './hooks/gsd-event-emitter.js';
//   await hook({ tool, result, session });           // after a tool call
//   await emitEvent({ type: 'build:passed' });       // any event
//
// moot stores the event and keeps .planning/blackboard/events.json up to date, so that no event is lost when several
// agents emit at once. Nothing is passed through a shell. A problem never fails or blocks the tool call: it is reported
// on standard error, and `emitEvent` resolves to null.
//
// MOOT_COMMAND names the program if `moot` is not in PATH.

import { execFile } from 'node:child_process';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));  // the project: this file is in its folder hooks/
const LIMIT = 10_000;  // milliseconds
const TYPES = { Write: 'artifact:created', Edit: 'artifact:modified' };

export default async function({ tool, result, session } = {}) {
  const type = Object.hasOwn(TYPES, tool ?? '') ? TYPES[tool] : null;
  const path = type && result?.success ? inside(result.path) : null;
  if (path === null) {
    return;
  }
  await emitEvent({ type, path, timestamp: new Date().toISOString() });
}

// Resolves to the number of the event, or to null if it could not be recorded. Never rejects.
export async function emitEvent(event) {
  try {
    const answer = JSON.parse(await moot(['gsd', 'emit', '-', '--json'], JSON.stringify(event)));
    return answer.result?.number ?? answer.number ?? null;
  } catch (error) {
    console.error(`gsd-event-emitter: ${event?.type ?? 'the event'} was not recorded: ${error.message}`);
    return null;
  }
}

// The path relative to the project; null for paths outside it, and for the files of the protocol itself.
function inside(path) {
  if (typeof path !== 'string' || path === '') {
    return null;
  }
  const found = relative(ROOT, resolve(ROOT, path));
  const outside = found === '' || found === '..' || found.startsWith(`..${sep}`) || isAbsolute(found);
  return outside || found === '.planning' || found.startsWith(`.planning${sep}`) ? null : found.split(sep).join('/');
}

function moot(words, input) {
  return new Promise((done, failed) => {
    const program = process.env.MOOT_COMMAND || 'moot';
    const child = execFile(program, words, { cwd: ROOT, timeout: LIMIT }, (error, stdout, stderr) => {
      if (error) {
        failed(new Error(reason(error, stdout, stderr)));
      } else {
        done(stdout);
      }
    });
    child.stdin?.on('error', () => {});  // moot may end before it has read everything
    child.stdin?.end(input);
  });
}

function reason(error, stdout, stderr) {
  if (error.code === 'ENOENT') {
    return `${error.path} was not found`;
  }
  if (error.killed) {
    return `moot did not answer within ${LIMIT / 1000} s`;
  }
  try {
    return JSON.parse(stdout).message ?? stderr.trim();
  } catch {
    return stderr.trim() || error.message;
  }
}
