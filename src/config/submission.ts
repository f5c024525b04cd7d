/**
 * A submission: a batch as it is sent to a server. It is self-contained, so servers and workers never read the disk of
 * the machine that created it. Its ID is the SHA-256 of its canonical JSON. Tasks are streamed separately.
 *
 * `${env:NAME}` stays as written in every string. The values are sent separately as `secrets`, filled in by
 * `resolveSubmission` in the worker (and in the server, for endpoints that it queries), and never part of the hash.
 */
import { z } from 'zod';
import { hashOf } from '../common/hash.ts';
import { adaptive } from './submission/adaptive.ts';
import { everyScorer, submittedJudge } from './submission/judge.ts';
import { submittedPart } from './submission/mix.ts';
import { worldsIn } from './submission/nested.ts';
import {
  position,
  type SubmittedModel,
  type SubmittedModule,
  submittedModel,
  submittedModels,
  submittedModule,
} from './submission/parts.ts';
import { submittedPods } from './submission/pods.ts';
import { submittedSandbox } from './submission/sandbox.ts';
import { type SubmittedTools, submittedTools } from './submission/tools.ts';
import {
  type SimulationSources,
  type SubmittedCodeWorld,
  type SubmittedRecordedWorld,
  type SubmittedReplayWorld,
  type SubmittedWorld,
  submittedWorld,
} from './submission/world.ts';

export type { ForkEdit } from './submission/forkEdit.ts';
export {
  type Position,
  position,
  type SubmittedModel,
  type SubmittedModule,
  submittedModel,
} from './submission/parts.ts';
export type { SubmittedPods } from './submission/pods.ts';
export { DEFAULT_SANDBOX, type SubmittedSandbox } from './submission/sandbox.ts';
export { type SubmittedTools, submittedTools } from './submission/tools.ts';
export type {
  SimulationSources,
  SubmittedCodeWorld,
  SubmittedModuleWorld,
  SubmittedRecordedWorld,
  SubmittedReplayWorld,
  SubmittedSimulatedWorld,
  SubmittedWorld,
} from './submission/world.ts';

export const answerRule = z.union([
  z.object({ kind: z.literal('last_message') }),
  z.object({ kind: z.literal('tool'), tool: z.string() }),
  z.object({ kind: z.literal('tag'), tag: z.string() }),
  z.object({ kind: z.literal('regex'), regex: z.string() }),
]);
export type AnswerRule = z.infer<typeof answerRule>;

const submittedMember = z.object({
  name: z.string(),
  get agent(): typeof submittedAgent {
    return submittedAgent;
  },
  /** In a workflow: the members whose answers it gets; empty if it starts immediately. */
  after: z.array(z.string()).optional(),
  /** In a handoff: the members that it can hand off to. Default: all others. */
  to: z.array(z.string()).optional(),
  loop: z.object({ until: z.string(), most: z.number().int().min(1) }).optional(),
  position: position.optional(),
});
export type SubmittedMember = z.infer<typeof submittedMember>;

const submittedTeam = z.object({
  kind: z.enum(['workflow', 'handoff', 'leader']),
  /** Whether the agent itself works: as a leader, or as the first agent of a handoff. */
  itself: z.boolean(),
  members: z.array(submittedMember).min(1),
});
export type SubmittedTeam = z.infer<typeof submittedTeam>;

export const submittedAgent = z.object({
  name: z.string(),
  file: z.string(),
  /** Description that the other members of its team see. */
  description: z.string().optional(),
  /** For a team whose members do all the work, the model of the first member. */
  model: submittedModel,
  /** Contains unresolved `{{task.*}}` placeholders. */
  prompt: z.object({ text: z.string(), file: z.string().optional() }),
  tools: z.array(submittedTools),
  answer: answerRule,
  context: z.object({
    reasoning: z.enum(['keep', 'drop']),
    /** Longer tool results are shortened in the middle; the log keeps the full result. */
    tool_result_tokens: z.number().int(),
    overflow: z.enum(['fail', 'drop_oldest', 'summarize']),
  }),
  limits: z.object({
    steps: z.number().int(),
    seconds: z.number(),
    tool_seconds: z.number(),
    tokens: z.number().int(),
  }),
  get team(): z.ZodOptional<typeof submittedTeam> {
    return submittedTeam.optional();
  },
});
export type SubmittedAgent = z.infer<typeof submittedAgent>;

export const submittedScorer = z.discriminatedUnion('kind', [
  z.object({ ...everyScorer, kind: z.literal('exact') }),
  z.object({ ...everyScorer, kind: z.literal('contains'), ignore_case: z.boolean() }),
  /**
   * Compares the first group, or the whole match, of `pattern` in the answer with the expected answer; without an
   * expected answer, any match passes.
   */
  z.object({ ...everyScorer, kind: z.literal('regex'), pattern: z.string(), flags: z.string() }),
  z.object({ ...everyScorer, kind: z.literal('number'), abs: z.number(), rel: z.number() }),
  z.object({ ...everyScorer, kind: z.literal('json'), ignore_order: z.boolean() }),
  z.object({
    ...everyScorer,
    kind: z.literal('module'),
    module: submittedModule,
    export: z.string(),
    models: submittedModels,
  }),
  z.object({ ...everyScorer, kind: z.literal('world') }),
  submittedJudge,
  /** Sums up the predictions of a batch that compares a world with recordings. */
  z.object({ ...everyScorer, kind: z.literal('fidelity') }),
]);
export type SubmittedScorer = z.infer<typeof submittedScorer>;

export const submission = z.object({
  version: z.literal(1),
  /** Name of the batch. Default: the name of its file without the extension. */
  name: z.string(),
  file: z.string(),
  agent: submittedAgent,
  world: submittedWorld.optional(),
  /** Whether the rules of the world do not apply: the other half of a comparison with a batch where they do. */
  no_perturb: z.literal(true).optional(),
  scorer: submittedScorer,
  /** Per task; with `adaptive`, at most. */
  attempts: z.number().int().min(1),
  /** Tasks start with `least` attempts, and get more while they need them. */
  adaptive: adaptive.optional(),
  /** Parts of the attempts of each task that sample differently, or have another prompt (`submission/mix.ts`). */
  mix: z.array(submittedPart).min(1).optional(),
  seed: z.number().int().min(0),
  stop: z.object({
    passes_per_task: z.number().int().optional(),
    /** Share of finished attempts that did not pass, from 0 to 1; checked from the 20th on. */
    failures: z.number().optional(),
    tokens: z.number().int().optional(),
    /** Of all attempts of a task: none of them begins afterwards. */
    tokens_per_task: z.number().int().optional(),
    /** Of all attempts of a task, by the prices of its models: none of them begins afterwards. */
    cost_per_task: z.number().positive().optional(),
    rollout: z.string().optional(), // CEL
  }),
  retry: z.object({ infrastructure: z.number().int() }),
  order: z.enum(['breadth', 'depth']),
  priority: z.number().int(),
  /** A queue of the server whose share it uses. */
  queue: z.string().optional(),
  concurrency: z.union([z.literal('auto'), z.number().int().min(1)]),
  hold_limit_seconds: z.number(),
  /** Absent in submissions of older versions, whose programs run in a sandbox where there is one, like all others. */
  sandbox: submittedSandbox.optional(),
  notify: z.object({ url: z.string() }).optional(),
  /** Who else sees the batch, if a user of a cluster launches it. */
  share: z.union([z.literal('everyone'), z.array(z.string())]).optional(),
  /** Settings of the pods; ignored on a target without pods. */
  pods: submittedPods.optional(),
  /** Names of environment variables used in `${env:…}`; those in `shown` are not secret (endpoints, model names). */
  env: z.object({ names: z.array(z.string()), shown: z.array(z.string()) }),
  /** Version of the user's code. `dirty`: the work tree differed from the commit. */
  git: z.object({ commit: z.string(), dirty: z.boolean() }).optional(),
  /** Version of the product that created the submission. */
  product: z.string(),
});
export type Submission = z.infer<typeof submission>;

/** Returns the ID of a submission. */
export function submissionSha(value: Submission): string {
  return hashOf(value);
}

/**
 * Returns the hash of the configuration (agent, world, scorer), without code and local paths.
 */
export function configSha(value: Submission): string {
  return hashOf({
    agent: withoutPaths(value.agent),
    ...(value.mix === undefined ? {} : { mix: value.mix }),
    world: worldConfig(value.world),
    ...(value.no_perturb === undefined ? {} : { no_perturb: value.no_perturb }),
    scorer: withoutPath(value.scorer),
  });
}

/** What its scenarios are belongs to the code; where Python is, and what definitions were read from, to the machine. */
function worldConfig(world: SubmittedWorld | undefined): object | undefined {
  if (world === undefined) return undefined;
  const { perturb, worlds, ...own } = world;
  const common = {
    perturb: perturb.map(withoutPath),
    ...(worlds === undefined
      ? {}
      : { worlds: Object.fromEntries(Object.entries(worlds).map(([key, nested]) => [key, worldConfig(nested)])) }),
  };
  if (own.kind === 'recorded') {
    const { calls: _, blobs: __, attempts: ___, ...config } = own;
    return { ...config, ...common };
  }
  if (own.kind === 'simulated') {
    const { sources: _, context: __, facts: ___, real_tools: tools, ...config } = own;
    return { ...config, ...(tools === undefined ? {} : { real_tools: tools.map(withoutPath) }), ...common };
  }
  if (own.kind !== 'code') return { ...withoutPath(own), ...common };
  const { scenarios: _, python: __, ...config } = own;
  return { ...config, ...common };
}

/**
 * Returns a short hash of the scorer: its configuration and code, and the world's if that is the verifier. Two scores
 * with the same one come from the same scorer.
 */
export function scorerVersion({ scorer, world }: Pick<Submission, 'scorer' | 'world'>): string {
  return hashOf({
    scorer: withoutPath(scorer),
    ...(scorer.kind === 'world' ? { world: worldConfig(world), scenarios: scenariosOf({ world }) } : {}),
  }).slice(0, VERSION_DIGITS);
}

const VERSION_DIGITS = 12;

function withoutPaths(agent: SubmittedAgent): object {
  const { team, ...rest } = agent;
  const members = team?.members.map(({ name, after, to, loop, agent: member }) => ({
    name,
    after,
    to,
    loop,
    agent: withoutPaths(member),
  }));
  return {
    ...rest,
    tools: agent.tools.map(withoutPath),
    ...(team === undefined ? {} : { team: { ...team, members } }),
  };
}

function withoutPath(entry: object | undefined): object | undefined {
  if (entry === undefined || !('module' in entry)) return entry;
  const { file, bundle, map } = entry.module as SubmittedModule; // the only kind of `module`
  return { ...entry, module: { file, bundle, map } };
}

/** Returns all agents of a submission: the one its batch names, then the members of teams. */
export function agentsOf({ agent }: Pick<Submission, 'agent'>): SubmittedAgent[] {
  return [agent, ...(agent.team?.members ?? []).flatMap((member) => agentsOf(member))];
}

/** Returns the agent at an instance path such as `desk/searcher#2`; undefined if the submission does not contain it. */
export function agentAt(value: Pick<Submission, 'agent'>, path: string): SubmittedAgent | undefined {
  const [first, ...rest] = path.split('/');
  let agent: SubmittedAgent | undefined = first === value.agent.name ? value.agent : undefined;
  for (const step of rest) {
    const name = step.replace(/#\d+$/, '');
    const own = agent?.team?.itself === true && agent.name === name ? agent : undefined;
    agent = own ?? agent?.team?.members.find((member) => member.name === name)?.agent;
  }
  return agent;
}

/** Returns the name of the tool that hands off to a member. */
export function handoffToolName(member: string): string {
  return `hand_off_to_${member}`;
}

/** Returns the world of a submission and all worlds that it contains; none for a batch without one. */
export function worldsOf({ world }: Pick<Submission, 'world'>): SubmittedWorld[] {
  return worldsIn(world);
}

/** Returns what the submitting machine opens and runs to learn the tools and the state of simulated worlds. */
export function sourcesOf(value: Pick<Submission, 'world'>): SimulationSources[] {
  return worldsOf(value).flatMap((world) => (world.kind === 'simulated' ? (world.sources ?? []) : []));
}

/** Tools as a file of a submission names them. */
interface ToolEntry {
  readonly entry: SubmittedTools;
  /** The file. */
  readonly file: string;
}

/** Returns everything that workers open to get tools, with the files that name it. */
export function toolEntriesOf(value: Pick<Submission, 'agent' | 'world'>): ToolEntry[] {
  const named = [
    ...agentsOf(value),
    ...worldsOf(value).map((world) => ({ file: world.file, tools: realToolsIn(world) })),
  ];
  return named.flatMap(({ tools, file }) => tools.map((entry) => ({ entry, file })));
}

/** Returns what workers open to get the real tools of a world whose other tools a model simulates. */
export function realToolsIn(world: SubmittedWorld): readonly SubmittedTools[] {
  return world.kind === 'simulated' ? (world.real_tools ?? []) : [];
}

/** Returns everything that workers open to get tools. */
export function toolsOf(value: Pick<Submission, 'agent' | 'world'>): SubmittedTools[] {
  return toolEntriesOf(value).map(({ entry }) => entry);
}

/** A model other than the agents', and the name under which its calls are recorded. */
export interface NamedModel {
  readonly side: string;
  readonly model: SubmittedModel;
}

/** Worlds that predict, by their key, under which their calls of models are recorded. */
const PREDICTING = ['shadow', 'lookahead'] as const;

/** Returns the side models of a submission. Several may have the same name. */
export function sideModelsOf({ agent, world, scorer }: Pick<Submission, 'agent' | 'world' | 'scorer'>): NamedModel[] {
  const worlds = worldsOf({ world });
  const asked = [
    ...worlds.map(({ models }) => models),
    ...toolsOf({ agent, world }).map((entry) => (entry.kind === 'module' ? entry.models : undefined)),
    scorer.kind === 'module' ? scorer.models : undefined,
  ];
  return [
    ...(world?.user === undefined ? [] : [{ side: 'user', model: world.user.model }]),
    ...worlds.flatMap((each) => {
      const side = PREDICTING.find((key) => worldsIn(world?.worlds?.[key]).includes(each)) ?? 'world';
      return each.kind === 'simulated' ? [{ side, model: each.model }] : [];
    }),
    ...(world?.shadow?.judge === undefined ? [] : [{ side: 'judge', model: world.shadow.judge }]),
    ...(scorer.kind === 'judge' ? [{ side: 'judge', model: scorer.model }] : []),
    ...asked.flatMap((models) => Object.entries(models ?? {}).map(([side, model]) => ({ side, model }))),
  ];
}

/** Returns all user modules of a submission. */
export function modulesOf(value: Submission): SubmittedModule[] {
  const modules = toolsOf(value).flatMap((entry) => (entry.kind === 'module' ? [entry.module] : []));
  for (const world of worldsOf(value)) if (world.kind === 'module') modules.push(world.module);
  for (const rule of value.world?.perturb ?? []) if (rule.effect === 'function') modules.push(rule.module);
  if (value.scorer.kind === 'module') modules.push(value.scorer.module);
  return modules;
}

/** Returns the scenarios of a submission's code world, by name. It has at most one, which another world may contain. */
export function scenariosOf({ world }: Pick<Submission, 'world'>): SubmittedCodeWorld['scenarios'] {
  return worldsOf({ world }).find((each) => each.kind === 'code')?.scenarios ?? {};
}

/** Returns the worlds of a submission that answer from recorded calls. */
export function recordedWorldsOf({ world }: Pick<Submission, 'world'>): SubmittedRecordedWorld[] {
  return worldsOf({ world }).filter((each) => each.kind === 'recorded');
}

/** Returns the blobs with the pages of a submission's search worlds. */
export function factsOf({ world }: Pick<Submission, 'world'>): string[] {
  return worldsOf({ world }).flatMap((each) => (each.kind === 'simulated' ? (each.facts ?? []) : []));
}

/** Returns the recorded rollouts that a batch replays, by task; none for other batches. */
export function replaysOf({ world }: Pick<Submission, 'world'>): SubmittedReplayWorld['recordings'] {
  return world?.kind === 'replay' ? world.recordings : {};
}

/** Returns the hash of the user's code: bundles of modules, scenarios, recorded calls, and pages. */
export function codeSha(value: Submission): string {
  return hashOf(
    [
      ...modulesOf(value).map((module) => [module.file, module.bundle]),
      ...Object.entries(scenariosOf(value)).map(([name, { code, template }]) => [name, code, template]),
      ...recordedWorldsOf(value).map(({ name, calls }) => [name, calls]),
      ...factsOf(value).map((pages) => [pages]),
    ].sort(),
  );
}
