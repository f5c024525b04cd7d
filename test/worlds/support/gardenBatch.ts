/** A batch over the garden as published, from its files to what its databases hold. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readBatch } from '../../../src/client/submitFile.ts';
import type { JsonObject } from '../../../src/common/json.ts';
import type { Api } from '../../../src/protocol/api.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import type { TestServer } from '../../support/rolloutServer.ts';
import { contentsOf } from './databases.ts';
import { type Garden, garden, writeGardens } from './gardenFolder.ts';
import { testPython } from './python.ts';

interface GardenBatch {
  /** What the agent is asked to do, by task: calls for the demo model. */
  readonly questions: Readonly<Record<string, string>>;
  readonly published?: Garden;
  /** Endpoint of the agent's model. */
  readonly agent?: string;
  /** Endpoint of the judge; absent: only the published function judges. */
  readonly judge?: string;
  /** Members of the batch file. */
  readonly batch?: JsonObject;
}

/** Writes the files of a batch whose tasks all have the first verifier of the garden. Returns their folder. */
export async function writeGardenBatch({
  questions,
  published = garden(),
  agent = 'demo:',
  judge,
  batch = {},
}: GardenBatch): Promise<string> {
  const python = await testPython();
  const folder = mkdtempSync(path.join(os.tmpdir(), 'world-run-'));
  for (const name of ['agents', 'batches', 'data', 'worlds']) mkdirSync(path.join(folder, name));
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
  writeGardens(path.join(folder, 'worlds', 'published'), { garden: published });
  const judged =
    judge === undefined
      ? ''
      : `verifier: both\nmodels: { judge: { endpoint: ${JSON.stringify(judge)}, name: judge } }\n`;
  write(
    'worlds/garden.world.yaml',
    `version: 1\nname: garden\nkind: code\nformat: awm\nfrom: published\npython: ${JSON.stringify(python)}\n${judged}`,
  );
  write(
    'agents/gardener.agent.yaml',
    `version: 1\nname: gardener\nmodel: { endpoint: ${JSON.stringify(agent)}, name: demo }\nprompt: You help.\n` +
      'limits: { steps: 60 }\n',
  );
  write(
    'data/tasks.jsonl',
    Object.entries(questions)
      .map(([id, question]) => `${JSON.stringify({ id, question, world: { scenario: 'garden' }, task_idx: 0 })}\n`)
      .join(''),
  );
  write(
    'batches/garden.batch.yaml',
    'version: 1\nagent: ../agents/gardener.agent.yaml\nworld: ../worlds/garden.world.yaml\n' +
      'dataset: { file: ../data/tasks.jsonl }\nscorer: { kind: world }\n' +
      Object.entries(batch)
        .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
        .join(''),
  );
  return folder;
}

/** Submits the batch of a folder. Returns its ID. */
export async function submitGardens(folder: string, server: TestServer): Promise<string> {
  const env = { ...process.env, XDG_CACHE_HOME: path.join(folder, 'cache') };
  const { built, warnings } = await readBatch('batches/garden.batch.yaml', { cwd: folder }, env);
  if (warnings.length > 0) throw new Error(`The batch has warnings: ${JSON.stringify(warnings)}`);
  for await (const blob of built.blobs)
    await server.api.putBlob(blob.sha, 'bytes' in blob ? blob.bytes : readFileSync(blob.path));
  return server.submit(built.submission, await Array.fromAsync(built.tasks));
}

/** Returns the last saved database of a rollout: its template with the pages of its snapshot. */
export async function savedDatabase(
  server: { readonly api: Pick<Api, 'getBlob'> },
  events: readonly TraceEvent[],
): Promise<Buffer> {
  const saved = events.findLast((event) => event.kind === 'world.snapshot');
  const opened = events.find((event) => event.kind === 'world.open');
  if (saved?.kind !== 'world.snapshot' || opened?.kind !== 'world.open' || opened.data.template === undefined)
    throw new Error('The rollout has no saved state.');
  const [template, snapshot] = await Promise.all(
    [opened.data.template, saved.data.snapshot].map((sha) => server.api.getBlob(sha)),
  );
  if (template === undefined || snapshot === undefined) throw new Error('A part of the saved state is missing.');
  return contentsOf(template, snapshot);
}
