/** The sample workspace on disk and its stored batches, for tests that start from it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { connect } from '../../../src/client/connect.ts';
import type { Api } from '../../../src/protocol/api.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { root } from '../../support/cli.ts';

export const SAMPLE_TASKS = 12;
export const SAMPLE_ATTEMPTS = 8;

/** An empty folder with a short name, because it appears in titles. */
export function emptyFolder(): string {
  return mkdtempSync(path.join(os.tmpdir(), 'rollout-e2e-'));
}

/**
 * A folder with the sample, as `rollout init` creates it. `pace`: settings of its demo model; default: the sample's.
 */
export function sampleFolder(pace?: string): string {
  const folder = emptyFolder();
  const { status, stderr } = spawnSync(process.execPath, [path.join(root, 'dist/cli.mjs'), 'init', folder], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  if (pace !== undefined) {
    const agent = path.join(folder, 'agents', 'desk.agent.yaml');
    writeFileSync(agent, readFileSync(agent, 'utf8').replace(/endpoint: .*/, `endpoint: 'demo:?${pace}'`));
  }
  return folder;
}

/** The API of a store's server; attaches without starting one. */
export async function apiOf(store: string): Promise<Api> {
  return (await connect({ store, start: false })).api;
}

/** The newest row of every attempt of a batch. */
export async function attemptsOf(api: Api, batch: string): Promise<RolloutRow[]> {
  const rows: RolloutRow[] = [];
  for await (const row of api.allRollouts(batch)) rows.push(row);
  return rows;
}
