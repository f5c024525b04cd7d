/** The same calls through a plain HTTP server of the same application and through the runner. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import type { JsonObject } from '../../src/common/json.ts';
import type { WorldSession } from '../../src/rollout/ports.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { freePort } from '../support/freePort.ts';
import { callTool, GARDEN, gardenTemplate, startWorlds, TASK, type Worlds } from './support/garden.ts';
import { testPython } from './support/python.ts';

let worlds: Worlds;
let session: WorldSession;
let server: ChildProcess;
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
  for await (const chunk of server.stderr ?? []) if (String(chunk).includes('running on')) break;
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

/** Times and IDs are those of the moment. */
function comparable(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?/g, 'TIME').replaceAll(/H-[0-9a-f]{8}/g, 'H-ID');
}

test('answers, errors, and the final database equal those of a plain server', async () => {
  for (const { tool, args = {}, request } of CALLS) {
    const [method, at, body] = request;
    const reply = await fetch(`${base}${at}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
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
  const restored = codeWorld(worlds.world({ set: { clock: 'real' } }), worlds.environment, false);
  const again = await restored.open({ task: TASK, seed: 7, from: saved }, AbortSignal.timeout(60_000));
  const ours = await rowsThroughTools(again);
  await again.close();
  assert.deepEqual(ours, rowsOf(path.join(folder, 'world.db')));
});

const planting = z.object({ id: z.number(), plot_id: z.number(), crop: z.string(), notes: z.string().nullable() });
const plot = z.object({ id: z.number(), code: z.string(), gardener_id: z.number().nullable() });
const total = z.object({ crop: z.string(), kilograms: z.number() });
const TOTALS =
  'SELECT p.crop, SUM(h.kilograms) AS kilograms FROM harvests h JOIN plantings p ON p.id = h.planting_id ' +
  'GROUP BY p.crop ORDER BY p.crop';

async function rowsThroughTools(of: WorldSession): Promise<object> {
  const all = async <T>(tool: string, schema: z.ZodType<T>): Promise<T[]> =>
    z.array(schema).parse((await callTool(of, tool)).response);
  return {
    plantings: await all('list_plantings', planting),
    plots: await all('list_plots', plot),
    totals: await all('total_harvests', total),
  };
}

function rowsOf(file: string): object {
  const database = new DatabaseSync(file, { readOnly: true });
  const all = <T>(sql: string, schema: z.ZodType<T>): T[] => z.array(schema).parse(database.prepare(sql).all());
  const rows = {
    plantings: all('SELECT * FROM plantings ORDER BY id', planting),
    plots: all('SELECT * FROM plots ORDER BY id', plot),
    totals: all(TOTALS, total),
  };
  database.close();
  return rows;
}

test('tools are those that fastapi-mcp 0.4.0 lists', () => {
  const listed: unknown = JSON.parse(readFileSync(path.join(GARDEN, 'tools.json'), 'utf8'));
  assert.deepEqual(
    session.specs.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })),
    listed,
  );
});
