/** The same calls through a plain HTTP server of the same application and through the runner. */
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import type { WorldSession } from '../../src/rollout/ports.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { freePort } from '../support/freePort.ts';
import { contentsOf, countRows, rowsOf } from './support/databases.ts';
import { callTool, GARDEN, gardenTemplate, startWorlds, TASK, type Worlds } from './support/garden.ts';
import { testPython } from './support/python.ts';

let worlds: Worlds;
let session: WorldSession;
let server: ChildProcessByStdio<null, null, Readable>;
let base = '';
const folder = mkdtempSync(path.join(os.tmpdir(), 'plain-'));

before(async () => {
  const python = await testPython();
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  writeFileSync(path.join(folder, 'world.db'), gardenTemplate());
  server = spawn(python, [path.join(GARDEN, 'code.py')], {
    cwd: folder,
    env: { PATH: process.env['PATH'], DATABASE_PATH: 'sqlite:///world.db', HOST: '127.0.0.1', PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const chunk of server.stderr.iterator({ destroyOnReturn: false }))
    if (String(chunk).includes('running on')) break;
  server.stderr.resume();
  worlds = startWorlds(python);
  const world = codeWorld(worlds.world({ set: { clock: 'real' } }), worlds.environment, false);
  session = await world.open({ task: TASK, seed: 7 }, AbortSignal.timeout(60_000));
});

after(async () => {
  const ended = once(server, 'close');
  server.kill('SIGKILL');
  await ended;
  await session.close();
  await worlds.close();
  rmSync(folder, { recursive: true });
});

interface Sent {
  readonly tool: string;
  readonly args?: JsonObject;
  /** The same as a request: method, path with query, and body. */
  readonly request: readonly [string, string, JsonObject?];
}

const CALLS: readonly Sent[] = [
  { tool: 'list_gardeners', request: ['GET', '/gardeners'] },
  { tool: 'list_gardeners', args: { name: 'Ines' }, request: ['GET', '/gardeners?name=Ines'] },
  { tool: 'list_plots', args: { free: true, limit: 1 }, request: ['GET', '/plots?free=true&limit=1'] },
  { tool: 'list_plots', args: { limit: 0 }, request: ['GET', '/plots?limit=0'] },
  { tool: 'get_plot', args: { plot_id: 1 }, request: ['GET', '/plots/1'] },
  { tool: 'get_plot', args: { plot_id: 9 }, request: ['GET', '/plots/9'] },
  { tool: 'get_gardener', args: { gardener_id: 9 }, request: ['GET', '/gardeners/9'] },
  { tool: 'assign_plot', args: { plot_id: 3, gardener_id: 3 }, request: ['PUT', '/plots/3/gardener/3'] },
  { tool: 'assign_plot', args: { plot_id: 3, gardener_id: 77 }, request: ['PUT', '/plots/3/gardener/77'] },
  {
    tool: 'plant_crop',
    args: { plot_id: 3, crop: 'peas “early”' },
    request: ['POST', '/plots/3/plantings', { crop: 'peas “early”' }],
  },
  { tool: 'plant_crop', args: { plot_id: 3 }, request: ['POST', '/plots/3/plantings', {}] },
  {
    tool: 'update_planting',
    args: { planting_id: 1, notes: 'tied up' },
    request: ['PATCH', '/plantings/1', { notes: 'tied up' }],
  },
  { tool: 'remove_planting', args: { planting_id: 3 }, request: ['DELETE', '/plantings/3'] },
  { tool: 'remove_planting', args: { planting_id: 3 }, request: ['DELETE', '/plantings/3'] },
  {
    tool: 'record_harvest',
    args: { planting_id: 2, kilograms: 1.5 },
    request: ['POST', '/harvests', { planting_id: 2, kilograms: 1.5 }],
  },
  {
    tool: 'record_harvest',
    args: { planting_id: 2, kilograms: -1 },
    request: ['POST', '/harvests', { planting_id: 2, kilograms: -1 }],
  },
  {
    tool: 'list_plantings',
    args: { crops: ['basil', 'tomatoes'] },
    request: ['GET', '/plantings?crops=basil&crops=tomatoes'],
  },
  { tool: 'total_harvests', request: ['GET', '/harvests/totals'] },
];

const MOMENTS = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?|H-[0-9a-f]{8}/g;

/** Times and IDs are those of the moment. */
function comparable(text: string): string {
  return text.replaceAll(MOMENTS, (found) => (found.startsWith('H-') ? 'H-ID' : 'TIME'));
}

test('answers, errors, and the final database equal those of a plain server', async (t) => {
  for (const { tool, args = {}, request } of CALLS) {
    const [method, at, body] = request;
    const reply = await fetch(`${base}${at}`, {
      method,
      // A connection of its own: the server may close one that was used just when the next request is sent.
      headers: { connection: 'close', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    const called = await callTool(session, tool, args).then(
      ({ response }) => comparable(JSON.stringify(response)),
      (error: unknown) => {
        assert.ok(error instanceof ClassedError);
        assert.equal(error.class, reply.status === 422 ? 'invalid_arguments' : 'tool_error');
        return comparable(error.message);
      },
    );
    const expected =
      reply.status < 400
        ? JSON.stringify(JSON.parse(text))
        : `Error calling ${tool}. Status code: ${reply.status}. Response: ${text}`;
    assert.equal(called, comparable(expected), JSON.stringify(request));
  }
  const saved = await session.snapshot?.(AbortSignal.timeout(5_000));
  assert.ok(saved !== undefined);
  // The server does not end with its requests: what it has committed is in its files.
  const [ours, theirs] = [contentsOf(gardenTemplate(), saved), path.join(folder, 'world.db')].map(comparableRows);
  assert.deepEqual(ours, theirs);
  const rows = rowsOf(path.join(folder, 'world.db'));
  t.diagnostic(`${countRows(rows)} rows of ${Object.keys(rows).length} tables equal`);
});

/** Returns all rows of a database. Times and IDs are those of the moment, so new ones only count as such. */
function comparableRows(database: string | Uint8Array): unknown {
  const known = new Set(JSON.stringify(rowsOf(gardenTemplate())).match(MOMENTS));
  const text = JSON.stringify(rowsOf(database));
  return JSON.parse(text.replaceAll(MOMENTS, (found) => (known.has(found) ? found : 'NEW')));
}

test('tools are those that fastapi-mcp 0.4.0 lists', () => {
  const listed: unknown = JSON.parse(readFileSync(path.join(GARDEN, 'tools.json'), 'utf8'));
  assert.deepEqual(
    session.specs.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })),
    listed,
  );
});
