// The emitter of the protocol's hook, unchanged, with the import that it lacks. It emits one event: the first argument.
import fs from 'node:fs/promises';

async function emitEvent(event) {
  const eventsFile = '.planning/blackboard/events.json';
  const data = JSON.parse(await fs.readFile(eventsFile, 'utf-8'));
  data.events.push({ ...event, id: ++data.lastEventId });
  await fs.writeFile(eventsFile, JSON.stringify(data, null, 2));
}

await emitEvent(JSON.parse(process.argv[2]));
