/**
 * Describes how one submission differs from another: shown before a fork continues with other code or configuration,
 * and kept in its record.
 */
import { isJsonObject, isSameJson, type Json } from '../common/json.ts';
import { PRODUCT } from '../common/product.ts';
import {
  modulesOf,
  realToolsIn,
  type Submission,
  type SubmittedAgent,
  type SubmittedTools,
  type SubmittedWorld,
  scenariosOf,
  worldsOf,
} from './submission.ts';

/** Longer values are only described as changed. */
const MAX_VALUE_LENGTH = 60;
const MAX_LINES = 100;

/**
 * Returns a line for each difference in code or configuration, e.g. `agent.model.name: small → large`; empty if both
 * behave the same. Ignores file locations, the dataset, and how the batch is run (attempts, order, limits).
 */
export function revisionDifferences(before: Submission, after: Submission): string[] {
  const lines: string[] = [];
  compareAgents('agent', before.agent, after.agent, lines);
  compareMix(before, after, lines);
  compare('world', worldOf(before.world), worldOf(after.world), lines);
  compareTools('world', realToolsOf(before), realToolsOf(after), lines);
  compare('scorer', scorerOf(before), scorerOf(after), lines);
  compareCode(before, after, lines);
  compareScenarios(before, after, lines);
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES), `and ${lines.length - MAX_LINES} more`];
}

/** Returns a line if a submission was created by another version of the product. */
export function productDifference({ product }: Submission): string[] {
  return product === PRODUCT ? [] : [`product: ${product} → ${PRODUCT}`];
}

type Plain = Record<string, unknown>;

/** Returns an agent without its tools, which are compared by name, and without file locations. */
function agentOf(agent: SubmittedAgent): Plain {
  const { team } = agent;
  const members = team?.members.map((member) => without(member, ['agent', 'position']));
  return {
    ...without(agent, ['file', 'tools']),
    prompt: agent.prompt.text,
    ...(team === undefined ? {} : { team: { ...team, members } }),
  };
}

/** Compares the parts of mixes by name. */
function compareMix(before: Submission, after: Submission, lines: string[]): void {
  const partsOf = ({ mix }: Submission): Plain | undefined =>
    mix === undefined
      ? undefined
      : Object.fromEntries(mix.map(({ name, prompt, ...part }) => [name, { ...part, prompt: prompt?.text }]));
  compare('mix', partsOf(before), partsOf(after), lines);
}

/** Compares agents, their tools, and the members of their teams by name. */
function compareAgents(at: string, before: SubmittedAgent, after: SubmittedAgent, lines: string[]): void {
  compare(at, agentOf(before), agentOf(after), lines);
  compareTools(at, before.tools, after.tools, lines);
  for (const { name, agent } of after.team?.members ?? []) {
    const old = before.team?.members.find((member) => member.name === name);
    if (old !== undefined) compareAgents(`${at}/${name}`, old.agent, agent, lines);
  }
}

function worldOf(world: SubmittedWorld | undefined): Plain | undefined {
  if (world === undefined) return undefined;
  const { worlds } = world;
  const common = {
    ...without(world, ['file', 'position', 'worlds', 'real_tools']),
    ...Object.fromEntries(Object.entries(worlds ?? {}).map(([key, nested]) => [key, nestedOf(world, key, nested)])),
  };
  return world.kind === 'module'
    ? { ...common, module: world.module.file }
    : { ...without(common, ['scenarios', 'python']) };
}

/** Returns a world that another one contains, with the settings of the key that names it. */
function nestedOf(world: SubmittedWorld, key: string, nested: SubmittedWorld): Plain {
  return { ...(key === 'shadow' ? world.shadow : {}), ...worldOf(nested) };
}

function scorerOf({ scorer }: Submission): Plain {
  return scorer.kind === 'module' ? { ...scorer, module: scorer.module.file } : scorer;
}

function without(value: object, keys: readonly string[]): Plain {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

function realToolsOf(submission: Submission): readonly SubmittedTools[] {
  return worldsOf(submission).flatMap(realToolsIn);
}

function compareTools(
  at: string,
  before: readonly SubmittedTools[],
  after: readonly SubmittedTools[],
  lines: string[],
): void {
  const byName = (entries: readonly SubmittedTools[]): Map<string, SubmittedTools> =>
    new Map(entries.map((tools) => [toolsName(tools), tools]));
  const [old, now] = [byName(before), byName(after)];
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [a, b] = [old.get(name), now.get(name)];
    if (a === undefined || b === undefined) lines.push(`${at}.tools: ${name} ${a === undefined ? 'added' : 'removed'}`);
    else if (a.kind === 'mcp' && b.kind === 'mcp')
      compare(`${at}.tools ${name}`, { ...a, position: undefined }, { ...b, position: undefined }, lines);
  }
}

function toolsName(tools: SubmittedTools): string {
  return tools.kind === 'module' ? tools.module.file : tools.name;
}

/** Compares modules by file; a bundle includes all imports. Added and removed modules are reported with the tools. */
function compareCode(before: Submission, after: Submission, lines: string[]): void {
  const bundles = new Map(modulesOf(before).map((module) => [module.file, module.bundle]));
  const reported = new Set<string>();
  for (const { file, bundle } of modulesOf(after)) {
    const oldBundle = bundles.get(file);
    if (oldBundle === undefined || oldBundle === bundle || reported.has(file)) continue;
    reported.add(file);
    lines.push(`code of ${file} changed`);
  }
}

/** Compares the scenarios that both have: each has only those that its tasks name. */
function compareScenarios(before: Submission, after: Submission, lines: string[]): void {
  const old = scenariosOf(before);
  for (const [name, now] of Object.entries(scenariosOf(after))) {
    const was = old[name];
    if (was === undefined) continue;
    for (const [key, what] of [
      ['code', 'code'],
      ['template', 'initial state'],
      ['verifiers', 'verifiers'],
    ] as const)
      if (was[key] !== now[key]) lines.push(`${what} of scenario ${name} changed`);
  }
}

function compare(at: string, before: unknown, after: unknown, lines: string[]): void {
  if (before === undefined && after === undefined) return;
  if (isPlain(before) && isPlain(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(`${at}.${key}`, before[key], after[key], lines);
    return;
  }
  if (before === undefined) lines.push(`${at} added${suffix(after, ': ')}`);
  else if (after === undefined) lines.push(`${at} removed`);
  else if (!isSameJson(before as Json, after as Json)) {
    // submissions are plain JSON
    const [a, b] = [text(before), text(after)];
    lines.push(a === undefined || b === undefined ? `${at} changed` : `${at}: ${a} → ${b}`);
  }
}

function isPlain(value: unknown): value is Plain {
  return value !== undefined && isJsonObject(value);
}

function suffix(value: unknown, before: string): string {
  const short = text(value);
  return short === undefined ? '' : `${before}${short}`;
}

/** Returns a value as one line; undefined if it is too long. */
function text(value: unknown): string | undefined {
  const all = typeof value === 'string' ? value : JSON.stringify(value);
  return all.length > MAX_VALUE_LENGTH || all.includes('\n') ? undefined : all;
}
