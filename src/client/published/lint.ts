/** Lints scenarios of published worlds. Results are kept by the hash of all that they depend on. */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { errorText, StudioError } from '../../common/errors.ts';
import { hashOf } from '../../common/hash.ts';
import { PRODUCT } from '../../common/product.ts';
import { type FindingKind, type ScenarioHealth, scenarioHealth } from '../../common/worldHealth.ts';
import { PYTHONS } from '../../tools/processes/processTree.ts';
import { analysisScript } from '../../worlds/lint/analysis.ts';
import type { LintSource } from '../../worlds/lint/source.ts';
import { lintStatically, type StaticPart } from '../../worlds/lint/staticPart.ts';
import { AgentWorldFolder } from './agentWorldFolder.ts';
import { agentWorldLintSource } from './agentWorldLint.ts';
import { AwmFolder } from './awmFolder.ts';
import { awmLintSource, type VerifierMode } from './awmLint.ts';
import { ContentCache } from './cache.ts';
import type { PublishedWorlds } from './worlds.ts';

export interface LintOptions {
  /** The interpreter that analyzes; by default, the machine's: it needs no packages, and is not the world's own. */
  readonly python?: string | undefined;
  /** Folder in which results are kept. */
  readonly cache: string;
  /** Verifiers that tasks should have; by default, those of which there is a file. */
  readonly modes?: readonly VerifierMode[] | undefined;
  /** What follows for a scenario whose code can be parsed. `key`: what its result depends on. */
  readonly next?: { readonly key: (scenario: string) => string; readonly run: NextPart } | undefined;
  readonly signal: AbortSignal;
}

/** Continues the lint of a scenario. */
export type NextPart = (source: LintSource, part: StaticPart, signal: AbortSignal) => Promise<ScenarioHealth>;

/** Findings after which the scenario cannot be started. */
const FATAL: readonly FindingKind[] = ['missing_part', 'unreadable'];

/** Yields the health of scenarios in their order, several at once. Runs none of their code. */
export async function* lintScenarios(
  worlds: PublishedWorlds,
  scenarios: readonly string[],
  options: LintOptions,
): AsyncGenerator<ScenarioHealth> {
  const cache = await ContentCache.open(options.cache);
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const waiting: Promise<ScenarioHealth>[] = [];
  const left = scenarios[Symbol.iterator]();
  const start = (): void => {
    const { value, done } = left.next();
    if (done === true) return;
    const health = lintScenario(worlds, value, { ...options, signal }, cache);
    health.catch(() => undefined); // awaited below
    waiting.push(health);
  };
  for (let count = Math.max(1, os.availableParallelism()); count > 0; count--) start();
  try {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      yield await next;
      start();
    }
  } finally {
    stop.abort();
    await Promise.allSettled(waiting);
  }
}

async function lintScenario(
  worlds: PublishedWorlds,
  scenario: string,
  options: LintOptions,
  cache: ContentCache,
): Promise<ScenarioHealth> {
  const { python = PYTHONS[0] ?? '', next, signal } = options;
  const source = await lintSource(worlds, scenario, options);
  const script = readFileSync(analysisScript(), 'utf8');
  const name = `${hashOf([PRODUCT, script, source.hash, next?.key(scenario) ?? ''])}.json`;
  const kept = await recalled(cache, name);
  if (kept !== undefined) return kept;
  try {
    const part = await lintStatically(source, python, signal);
    const health =
      next === undefined ? part.health : canStart(part) ? await next.run(source, part, signal) : notStarted(part);
    if (isLasting(health)) await cache.remember(name, JSON.stringify(health));
    return health;
  } catch (error) {
    if (!StudioError.is(error, 'internal')) throw error;
    return { scenario, ran: [], stopped: errorText(error), findings: [...source.findings], strength: [] };
  }
}

/** Whether the result depends on nothing but the files: packages may be installed at any time. */
function isLasting({ stopped, findings }: ScenarioHealth): boolean {
  return stopped === undefined && findings.every(({ kind }) => kind !== 'missing_package');
}

function canStart({ analysis: { pure }, health: { findings } }: StaticPart): boolean {
  return pure !== undefined && !findings.some(({ kind, severity }) => severity === 'error' && FATAL.includes(kind));
}

function notStarted({ health }: StaticPart): ScenarioHealth {
  return { ...health, stopped: 'It was not started: correct the errors above first.' };
}

function lintSource(worlds: PublishedWorlds, scenario: string, { modes, signal }: LintOptions): Promise<LintSource> {
  if (worlds instanceof AwmFolder) return awmLintSource(worlds, scenario, signal, modes);
  if (worlds instanceof AgentWorldFolder) return agentWorldLintSource(worlds, scenario);
  throw new StudioError('unsupported', `Worlds in the format of ${worlds.format} cannot be linted.`);
}

async function recalled(cache: ContentCache, name: string): Promise<ScenarioHealth | undefined> {
  const text = await cache.recall(name);
  return text === undefined ? undefined : scenarioHealth.parse(JSON.parse(text));
}
