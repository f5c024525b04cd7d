/** The world of a submission. A worker reads all of it as blobs: nothing else of the user's folder is sent. */
import { z } from 'zod';
import { WORLD_EXPOSE, WORLD_FORMATS, WORLD_VERIFIERS } from '../schema/codeWorld.ts';
import { NESTED_WORLDS, type NestedWorldKey } from '../schema/nestedWorld.ts';
import { WORLD_MATCHES } from '../schema/recordedWorld.ts';
import { ROUTES, SIMULATION_PARTS, WORLD_DOMAINS } from '../schema/simulatedWorld.ts';
import { jsonObject, needs, position, sha, submittedModel, submittedModels, submittedModule } from './parts.ts';
import { replayKeys } from './replay.ts';
import { submittedRule } from './rule.ts';
import { submittedTools } from './tools.ts';

const submittedUser = z.object({ model: submittedModel, prompt: z.string() });

const submittedShadow = z.object({
  /** A CEL expression: the calls that it predicts; absent: every call. */
  when: z.string().optional(),
  /** The model that gives marks. */
  judge: submittedModel.optional(),
  /** In a batch that replays recordings: whether it continues from what it answered itself, or from what was seen. */
  how: z.enum(['forced', 'free']).optional(),
});

/** Worlds that a world contains, by the key that names them. They have no rules, user, or shadow of their own. */
type NestedWorlds = { [Key in NestedWorldKey]?: SubmittedWorld };

const nestedWorlds: z.ZodType<NestedWorlds> = z.lazy(() => z.partialRecord(z.enum(NESTED_WORLDS), submittedWorld));

const common = {
  name: z.string(),
  file: z.string(),
  /** `position` is where the file declares them. */
  needs,
  position: position.optional(),
  user: submittedUser.optional(),
  /** What its code may ask, by name. */
  models: submittedModels,
  perturb: z.array(submittedRule),
  /** How the world `worlds.shadow` predicts tool calls. */
  shadow: submittedShadow.optional(),
  worlds: nestedWorlds.optional(),
} as const;

const moduleWorld = z.object({ ...common, kind: z.literal('module'), module: submittedModule });
export type SubmittedModuleWorld = z.infer<typeof moduleWorld>;

/** The time at which templates are built, unless `clock` has a start: `datetime('now')` in their rows is this time. */
export const TEMPLATE_TIME = '2026-03-16T09:00:00Z';

/** One scenario of a code world. */
const submittedScenario = z.object({
  /**
   * Its Python file as text: an application (`awm`), or a function for each tool and `TOOL_SCHEMAS`, a list of their
   * names, descriptions, and parameters (`agent-world`).
   */
  code: sha,
  /** Initial state: a SQLite database (`awm`), or a JSON object of its collections by file name (`agent-world`). */
  template: sha,
  /** Where its code is published, for errors and links. */
  place: z.object({ file: z.string(), line: z.number().int().min(1) }),
  /** Tools that never write, as far as their code says. Absent: unknown. */
  pure: z.array(z.string()).readonly().optional(),
  /** See `scenarioVerifiers`. Workers can read this blob only while they score. */
  verifiers: sha,
});
export type SubmittedScenario = z.infer<typeof submittedScenario>;

/**
 * Returns the file that errors name for a scenario's code. Published code is one line of a file of many scenarios:
 * below that file, it has the name of its scenario.
 */
export function scenarioCodeFile(name: string, { place }: Pick<SubmittedScenario, 'place'>): string {
  return place.file.endsWith('.py') ? place.file : `${place.file}/${name}.py`;
}

const pythonFunction = z.object({ python: z.string(), function: z.string() });

/** Verifiers of a scenario, by `task.meta.task_idx`. Only the scoring side gets them. */
export const scenarioVerifiers = z.record(
  z.string(),
  z.object({
    /** Judges the final state by itself. */
    code: pythonFunction.optional(),
    /** Collects evidence from the final state for a judge. */
    sql: pythonFunction
      .extend({
        success_criteria: z.string().optional(),
        failure_criteria: z.string().optional(),
        reasoning: z.string().optional(),
      })
      .optional(),
    /** Criteria for a judge. */
    rubric: z.array(z.string()).readonly().optional(),
  }),
);
export type ScenarioVerifiers = z.infer<typeof scenarioVerifiers>;

const reward = z.number().nullable();

const codeWorld = z.object({
  ...common,
  kind: z.literal('code'),
  format: z.enum(WORLD_FORMATS),
  expose: z.enum(WORLD_EXPOSE),
  verifier: z.enum(WORLD_VERIFIERS),
  rewards: z.object({
    complete: reward,
    partial: reward,
    agent_error: reward,
    format: reward,
    environment_error: reward,
  }),
  /** The interpreter: a name, or an absolute path. */
  python: z.string().optional(),
  session: z.object({ memory_mb: z.number().int(), network: z.literal('none') }),
  /** Now, for the world's code: an ISO 8601 start, and seconds that pass at each call. Absent: the template's time. */
  clock: z.union([z.literal('real'), z.object({ start: z.string(), step: z.number() })]).optional(),
  /** Tools that are offered. Absent: all. */
  tools: z.array(z.string()).optional(),
  /** Those that tasks of the batch name. Every task names its own in `task.world.scenario`. */
  scenarios: z.record(z.string(), submittedScenario),
});
export type SubmittedCodeWorld = z.infer<typeof codeWorld>;

/** A tool of a simulated world: nothing but its definition exists. */
export const toolDefinition = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON schemas of the arguments and, if known, of the result. */
  parameters: jsonObject,
  output: jsonObject.optional(),
});
export type ToolDefinition = z.infer<typeof toolDefinition>;

/** What the submitting machine opened and ran to get definitions and the initial state. Workers do neither. */
const simulationSources = z.object({
  tools: z.array(submittedTools).optional(),
  command: z.array(z.string()).optional(),
  /** Folder of the command: an absolute path. */
  cwd: z.string().optional(),
});
export type SimulationSources = z.infer<typeof simulationSources>;

const simulatedWorld = z.object({
  ...common,
  kind: z.literal('simulated'),
  domain: z.enum(WORLD_DOMAINS),
  /** The model that plays the world. */
  model: submittedModel,
  /** Tokens of its model's context, if the file says it. */
  context: z.number().int().optional(),
  definitions: z.array(toolDefinition),
  /** Parts of its system prompt, with unresolved `{{task.*}}` placeholders. */
  texts: z.partialRecord(z.enum(SIMULATION_PARTS), z.string()),
  /** Those that are data, such as recorded calls: what looks like a placeholder in them is none. */
  literal: z.array(z.enum(SIMULATION_PARTS)).optional(),
  sources: simulationSources.optional(),
  /** The blob with the pages of a search world: see `config/facts/pages.ts`. */
  facts: sha.optional(),
  /** What workers open to get real tools, if no world `worlds.real` has them. */
  real_tools: z.array(submittedTools).optional(),
  /** Who answers the calls of which real tools: patterns of names, the first that matches. */
  route: z.array(z.object({ tools: z.array(z.string()), by: z.enum(ROUTES) })).optional(),
});
export type SubmittedSimulatedWorld = z.infer<typeof simulatedWorld>;

const recordedWorld = z.object({
  ...common,
  kind: z.literal('recorded'),
  match: z.enum(WORLD_MATCHES),
  /** A file with recorded calls (see `trace/recordedCalls/schema.ts`), and the long answers in it. */
  calls: sha,
  blobs: z.array(sha),
  /** How many attempts it has. */
  attempts: z.number().int(),
  /** Tools that are offered. Absent: all that were recorded. */
  tools: z.array(z.string()).optional(),
});
export type SubmittedRecordedWorld = z.infer<typeof recordedWorld>;

/** The world of a batch that replays recorded rollouts, each of them as a task of its own. */
const replayWorld = z.object({ ...common, kind: z.literal('replay'), ...replayKeys });
export type SubmittedReplayWorld = z.infer<typeof replayWorld>;

export const submittedWorld = z.discriminatedUnion('kind', [
  moduleWorld,
  codeWorld,
  simulatedWorld,
  recordedWorld,
  replayWorld,
]);
export type SubmittedWorld = z.infer<typeof submittedWorld>;
