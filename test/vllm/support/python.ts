/** The environment of the kit, which it makes when it first starts an engine. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Returns the folder in which the kit keeps environments and models. */
export function kitCache(): string {
  const { ROLLOUT_VLLM_CACHE: named, XDG_CACHE_HOME: caches = path.join(os.homedir(), '.cache') } = process.env;
  return named ?? path.join(caches, 'rollout-vllm');
}

export function pythonOfKit(): string {
  const cache = kitCache();
  const environment = readdirSync(cache).find((name) => name.startsWith('venv-'));
  assert.ok(environment !== undefined, `no environment of vLLM in ${cache}`);
  return path.join(cache, environment, 'bin', 'python');
}
