/**
 * Loads a file with all files that it names, and reports the problems of all of them at once. Accesses the disk only
 * through `Files`, so it also runs in the language server and in tests.
 */

import { StudioError } from '../common/errors.ts';
import { compileStop } from '../trace/query/stopCondition.ts';
import type { Files } from './files.ts';
import { type AgentParts, type LoadedAgent, readAgent, withMembers } from './load/agent.ts';
import { type DatasetLook, readDataset } from './load/dataset.ts';
import { checkGroup } from './load/group.ts';
import { readMix } from './load/mix.ts';
import { checkNeeds } from './load/needs.ts';
import { reportExpression } from './load/perturb.ts';
import { checkPlaceholders } from './load/placeholders.ts';
import { type PromptText, Reading } from './load/reading.ts';
import { checkScorer, type LoadedScorer, readScorer } from './load/scorer.ts';
import { checkWorldTexts, type LoadedWorld, partsIn, readWorld, type WorldParts } from './load/world.ts';
import { basename, dirname } from './paths.ts';
import { mostAttempts } from './schema/attemptsSection.ts';
import { type BatchFile, batchFile } from './schema/batchFile.ts';
import type { SandboxMode } from './schema/sandboxSection.ts';
import type { ParsedFile } from './source/parse.ts';
import { hasErrors, type Problem, sortProblems } from './source/problem.ts';

export interface LoadOptions {
  /** Folder that paths in submissions are relative to. Default: the folder of the loaded file. */
  readonly root?: string;
  /** Name of the batch. Default: the name of its file without the extension. */
  readonly name?: string;
  readonly attempts?: number;
  readonly seed?: number;
  readonly concurrency?: number | 'auto';
  /** Where programs run if the file does not say it. */
  readonly sandbox?: SandboxMode;
  /** Runs without the rules of the world: the other half of a comparison with a batch where they apply. */
  readonly noPerturb?: boolean;
  /** Overrides the target in the file. */
  readonly target?: string;
  /** Maximum number of tasks. */
  readonly limit?: number;
  /** Runs only the tasks with these IDs; `limit` and `offset` of the file are then ignored. */
  readonly tasks?: readonly string[];
  /** How many records of the dataset to check now; the rest are checked while they are sent. */
  readonly records?: number;
}

const DEFAULT_RECORDS = 10_000;

export interface LoadedBatch {
  readonly path: string;
  readonly root: string;
  readonly name: string;
  readonly parsed: ParsedFile;
  /** With defaults and options applied. */
  readonly file: BatchFile;
  readonly agent: LoadedAgent;
  readonly world?: LoadedWorld;
  /** Whether the rules of the world do not apply. */
  readonly noPerturb?: true;
  /** Rubric of a judge. */
  readonly rubric?: PromptText;
  readonly dataset: DatasetLook;
  /** The prompts of the parts of its mix. */
  readonly mixPrompts?: readonly (PromptText | undefined)[];
}

interface LoadResult<T> {
  /** Absent if there are errors. */
  readonly value?: T;
  readonly problems: readonly Problem[];
}

export async function loadAgent(files: Files, path: string): Promise<LoadResult<LoadedAgent>> {
  const reading = new Reading(files);
  const parts = await readAgent(reading, files.absolute(path));
  checkPrompts(reading, parts, []);
  return finish(reading, parts?.agent);
}

export async function loadWorld(files: Files, path: string): Promise<LoadResult<LoadedWorld>> {
  const reading = new Reading(files);
  const parts = await readWorld(reading, files.absolute(path));
  if (parts !== undefined) checkWorldTexts(reading, parts, []);
  return finish(reading, parts?.world);
}

/** Loads the scorer of a batch file, or of a file that has only a `scorer` section. */
export async function loadScorer(files: Files, path: string): Promise<LoadResult<LoadedScorer>> {
  const reading = new Reading(files);
  return finish(reading, await readScorer(reading, files.absolute(path)));
}

/** Throws StudioError `usage` for invalid options. */
export async function loadBatch(
  files: Files,
  path: string,
  options: LoadOptions = {},
): Promise<LoadResult<LoadedBatch>> {
  checkOptions(options);
  const reading = new Reading(files);
  const absolute = files.absolute(path);
  const parsed = await reading.parse(absolute);
  if (parsed === undefined) return finish<LoadedBatch>(reading, undefined);
  const { value, complete } = reading.check(parsed, batchFile);

  const agentPath = value.agent === undefined ? undefined : await reading.locate(parsed, ['agent'], value.agent);
  const agent = agentPath === undefined ? undefined : await readAgent(reading, agentPath, { parsed, at: ['agent'] });
  const worldPath = value.world === undefined ? undefined : await reading.locate(parsed, ['world'], value.world);
  const world = worldPath === undefined ? undefined : await readWorld(reading, worldPath, { parsed, at: ['world'] });
  const code = partsIn(world).find(({ scenarios }) => scenarios !== undefined);
  const dataset =
    value.dataset === undefined
      ? undefined
      : await readDataset(reading, parsed, value.dataset, {
          records: options.records ?? DEFAULT_RECORDS,
          ...(options.limit === undefined ? {} : { limit: options.limit }),
          ...(options.tasks === undefined ? {} : { tasks: options.tasks }),
          ...(code?.scenarios === undefined
            ? {}
            : { world: { scenarios: code.scenarios, scenario: code.scenario, setAside: code.setAside } }),
        });
  const hasTruth = partsIn(world).some((part) => part.parsed.has(['facts', 'truth']));
  const answers = dataset === undefined || !hasTruth ? dataset : { ...dataset, answers: true };
  const rubric = value.scorer === undefined ? undefined : await checkScorer(reading, parsed, value.scorer, answers);

  checkPrompts(reading, agent, dataset?.head ?? []);
  const { mix } = value;
  const mixPrompts = mix === undefined ? [] : await readMix(reading, parsed, mix, agent, dataset?.head ?? []);
  if (world !== undefined) checkWorldTexts(reading, world, dataset?.head ?? []);
  checkTogether(reading, parsed, value, options);
  checkPriced(reading, parsed, value, agent);
  if (value.scorer?.kind === 'world' && world !== undefined) checkVerifier(reading, parsed, world);
  await checkSandbox(reading, parsed, value.sandbox);
  if (value.group !== undefined) checkGroup(reading, parsed, value.group);
  checkNeeds(reading, options.target === undefined ? value : { ...value, target: options.target }, agent, world);
  if (
    world?.hasUser === true &&
    agent !== undefined &&
    (agent.value.team?.kind === 'workflow' || agent.value.team?.kind === 'handoff')
  ) {
    reading.report(parsed, ['agent'], {
      code: 'conflict',
      message:
        `the world has a user, but in a team of kind \`${agent.value.team.kind}\` no single agent can talk to the ` +
        'user',
      hint: 'Use a single agent, or a team with a leader.',
    });
  }
  if (
    agent !== undefined &&
    typeof agent.value.answer === 'object' &&
    agent.value.answer.tool !== undefined &&
    agent.value.tools?.length === 0 &&
    !parsed.has(['world'])
  ) {
    reading.report(agent.parsed, ['answer', 'tool'], {
      code: 'conflict',
      message: `the answer is a call to \`${agent.value.answer.tool}\`, but the agent has no tools`,
      hint: 'Add a tool with that name to `tools:`, or write `answer: last_message`.',
    });
  }

  const worldReady = complete?.world === undefined || world?.world !== undefined;
  const scorer = complete?.scorer;
  const rubricReady = scorer?.kind !== 'judge' || scorer.rubric === undefined || rubric !== undefined;
  const ready = worldReady && rubricReady && mixPrompts !== undefined;
  if (complete === undefined || agent?.agent === undefined || dataset === undefined || !ready)
    return finish<LoadedBatch>(reading, undefined);
  const { attempts, seed, concurrency } = options;
  const sandbox = parsed.has(['sandbox']) ? undefined : options.sandbox;
  return finish<LoadedBatch>(reading, {
    path: absolute,
    root: options.root === undefined ? dirname(absolute) : files.absolute(options.root),
    name: options.name ?? basename(absolute).replace(/\.batch\.\w+$/i, ''),
    parsed,
    file: {
      ...complete,
      ...(attempts === undefined ? {} : { attempts }),
      ...(seed === undefined ? {} : { seed }),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(sandbox === undefined ? {} : { sandbox }),
    },
    agent: agent.agent,
    dataset,
    ...(world?.world === undefined ? {} : { world: world.world }),
    ...(rubric === undefined ? {} : { rubric }),
    ...(mix === undefined ? {} : { mixPrompts }),
    ...(options.noPerturb === true ? { noPerturb: true } : {}),
  });
}

/** Checks the placeholders in the prompts of an agent and its team. Duplicates are removed by `sortProblems`. */
function checkPrompts(reading: Reading, agent: AgentParts | undefined, tasks: DatasetLook['head']): void {
  for (const { parsed, prompt } of agent === undefined ? [] : withMembers(agent)) {
    if (prompt !== undefined) checkPlaceholders(reading, parsed, ['prompt'], prompt, tasks, { mayKnowAnswer: false });
  }
}

function finish<T>(reading: Reading, value: T | undefined): LoadResult<T> {
  const problems = sortProblems(reading.problems);
  return value === undefined || hasErrors(problems) ? { problems } : { value, problems };
}

/** Checks that what programs may see exists. */
async function checkSandbox(
  reading: Reading,
  parsed: ParsedFile,
  sandbox: BatchFile['sandbox'] | undefined,
): Promise<void> {
  if (typeof sandbox !== 'object') return;
  for (const key of ['read', 'write'] as const)
    for (const [index, written] of sandbox[key].entries())
      await reading.locate(parsed, ['sandbox', key, index], written, undefined, 'any');
}

/** Reports that a model plays what the verifier would judge. */
function checkVerifier(reading: Reading, parsed: ParsedFile, { kind, name, nested, parsed: world }: WorldParts): void {
  if (kind !== 'simulated') return;
  const real = world.has(['real', 'world']) ? nested[0] : undefined;
  reading.report(parsed, ['scorer', 'kind'], {
    code: 'conflict',
    ...(real === undefined
      ? {
          message: `the world ${name} is played by a model and has no final state to verify`,
          hint: 'Choose a scorer that judges the answer or the conversation, such as exact, module, or judge.',
        }
      : {
          severity: 'warning',
          message:
            `the verifier of ${real.name} sees only its real state, so attempts that change something by a simulated ` +
            'tool get no score',
          hint: 'Route all tools that write to `real`, or choose another scorer, such as judge.',
        }),
  });
}

/** Reports settings of the batch that contradict each other. */
function checkTogether(reading: Reading, parsed: ParsedFile, value: Partial<BatchFile>, options: LoadOptions): void {
  const { stop, notify } = value;
  const attempts = value.attempts === undefined ? undefined : mostAttempts(value.attempts);
  const passes = stop?.passes_per_task;
  if (passes !== undefined && typeof value.attempts === 'object' && options.attempts === undefined)
    reading.report(parsed, ['stop', 'passes_per_task'], {
      code: 'conflict',
      message: '`attempts.until` already says when a task gets no more attempts',
      hint: 'Remove `passes_per_task`, or write `attempts` as a number.',
      fixes: [{ do: 'remove', path: ['stop', 'passes_per_task'] }],
    });
  if (passes !== undefined && attempts !== undefined && options.attempts === undefined && passes > attempts) {
    reading.report(parsed, ['stop', 'passes_per_task'], {
      code: 'conflict',
      message: `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} can never reach ${passes} passes`,
      hint: 'Increase `attempts` or decrease `passes_per_task`.',
      fixes: [{ do: 'replace', text: String(attempts) }],
    });
  }
  if (stop?.rollout !== undefined) checkStop(reading, parsed, stop.rollout);
  if (notify !== undefined && !notify.url.includes('${env:') && !/^https?:\/\/[^\s/]+/.test(notify.url)) {
    reading.report(parsed, ['notify', 'url'], {
      code: 'value',
      message: '`notify.url` must be an http or https URL',
      hint: 'For example, write `https://example.org/hook`.',
    });
  }
}

/** Reports a limit of what nothing has: a cost. */
function checkPriced(
  reading: Reading,
  parsed: ParsedFile,
  { stop }: Partial<BatchFile>,
  agent: AgentParts | undefined,
): void {
  if (stop?.cost_per_task === undefined || agent === undefined) return;
  if (withMembers(agent).some(({ value: { model } }) => model?.price !== undefined)) return;
  reading.report(parsed, ['stop', 'cost_per_task'], {
    code: 'conflict',
    severity: 'warning',
    message: 'the model of the agent has no `price`, so its attempts have no cost',
    hint: 'Add `price` to `model` in the agent file, or write `tokens_per_task`.',
  });
}

/** Reports a condition that does not compile, where its error is. */
function checkStop(reading: Reading, parsed: ParsedFile, condition: string): void {
  try {
    compileStop(condition);
  } catch (error) {
    if (!StudioError.is(error)) throw error;
    reportExpression(reading, parsed, ['stop', 'rollout'], condition, error);
  }
}

function checkOptions(options: LoadOptions): void {
  const checkInteger = (name: string, value: number | undefined, min: number): void => {
    if (value === undefined || (Number.isSafeInteger(value) && value >= min)) return;
    throw new StudioError('usage', `${name} must be a whole number, ${min} or more, not ${String(value)}.`, {
      hint: `For example, use ${min + 1}.`,
    });
  };
  checkInteger('attempts', options.attempts, 1);
  checkInteger('seed', options.seed, 0);
  checkInteger('limit', options.limit, 1);
  if (options.concurrency !== 'auto') checkInteger('concurrency', options.concurrency, 1);
}
