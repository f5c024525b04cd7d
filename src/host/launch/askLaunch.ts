/** Asks the questions of Launch Batch…: file, tasks, attempts, and, if there is a choice, target. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { TaskList } from '../files/taskList.ts';
import { type Answer, BACK, type Choice } from '../window/questions/answer.ts';
import { input, pickMany, pickOne, type StepPlace } from '../window/questions/dialogue.ts';
import { runSteps, SKIPPED } from '../window/questions/steps.ts';
import type { ContextMeters } from '../worlds/contextMeters.ts';
import { meterChoices } from '../worlds/meterTexts.ts';
import { fileFacts } from './fileFacts.ts';
import type { LaunchMemory } from './memory.ts';
import {
  attemptChoices,
  attemptsProblem,
  type ChosenTasks,
  type FileFacts,
  faultChoices,
  type LaunchAnswers,
  taskChoices,
} from './plan.ts';
import { askReview, reviewOf, type TargetRoom } from './review.ts';
import type { ReviewedLaunch } from './reviewChoices.ts';
import { askTarget, targetNames } from './target.ts';

interface LaunchChoice {
  readonly file: vscode.Uri;
  readonly answers: LaunchAnswers;
  readonly facts: FileFacts;
  /** Defaults to the current target. */
  readonly target?: string;
  /** Whether the user saw how much there is to launch, and what it gets. */
  readonly reviewed: boolean;
}

interface LaunchOptions {
  /** Batch files to choose from, most likely first. */
  readonly files: readonly vscode.Uri[];
  /** Answers that are already determined. */
  readonly file?: vscode.Uri;
  readonly tasks?: ChosenTasks;
  /** The current target of the window. */
  readonly target: string;
  /** How many calls fit in the context of the models that play worlds. */
  readonly meters: () => Promise<ContextMeters>;
  /** Returns how much room the target has. */
  readonly room: (launch: ReviewedLaunch) => Promise<TargetRoom>;
}

/** Returns undefined if the user cancels. */
export async function askLaunch(options: LaunchOptions, memory: LaunchMemory): Promise<LaunchChoice | undefined> {
  let file = options.file;
  let loaded: { readonly file: vscode.Uri; readonly list: TaskList; readonly facts: FileFacts } | undefined;
  let tasks = options.tasks;
  let attempts: number | undefined;
  let isPerturbed: boolean | undefined;
  let answers: LaunchAnswers | undefined;
  let target: string | undefined;
  let reviewed = false;
  const targets = await targetNames();
  const facts = async (uri: vscode.Uri): Promise<{ readonly list: TaskList; readonly facts: FileFacts }> => {
    if (loaded?.file.toString() !== uri.toString()) loaded = { file: uri, ...(await fileFacts(uri)) };
    return loaded;
  };
  const selectedFile = (): vscode.Uri => {
    if (file === undefined) throw new StudioError('internal', 'The tasks were requested before the file was chosen.');
    return file;
  };
  const contextOf = (uri: vscode.Uri): ContextQuestion => ({
    choices: async () => meterChoices(await (await options.meters()).of([uri])),
    ask: async () => void (await (await options.meters()).measure([uri])),
  });
  /** Most worlds have no faults to ask about; whether this one has is known once the file is. */
  const asked = (number: number): number => ((loaded?.list.rules.length ?? 0) > 0 ? number : number - 1);
  const chosen = (): LaunchAnswers =>
    answers ?? {
      tasks: tasks ?? { kind: 'all' },
      ...(attempts === undefined ? {} : { attempts }),
      ...(isPerturbed === false ? { noPerturb: true } : {}),
    };
  const steps = [
    async (step: number, total: number) => {
      if (options.file !== undefined) return SKIPPED;
      const answer = await askFile({ title: TITLE, step, steps: asked(total) }, options.files, file);
      if (answer !== undefined && answer !== BACK) file = answer;
      return answer;
    },
    async (step: number, total: number) => {
      if (options.tasks !== undefined) return SKIPPED;
      const info = await facts(selectedFile());
      const answer = await askTasks(
        { title: titleOf(selectedFile()), step, steps: asked(total) },
        info.list,
        info.facts,
        memory.file(selectedFile().fsPath)?.answers,
        contextOf(selectedFile()),
      );
      if (answer === undefined || answer === BACK) return answer;
      answers = answer.kind === 'same' ? answer.answers : undefined;
      if (answer.kind !== 'same') tasks = answer;
      return answer;
    },
    async (step: number, total: number) => {
      if (answers !== undefined) return SKIPPED;
      const info = await facts(selectedFile());
      const answer = await askAttempts(
        { title: titleOf(selectedFile()), step, steps: asked(total) },
        info.facts,
        memory.file(selectedFile().fsPath)?.answers,
        tasks,
        options.tasks === undefined ? undefined : contextOf(selectedFile()), // otherwise the first step has it
      );
      if (answer !== undefined && answer !== BACK) attempts = answer.attempts;
      return answer;
    },
    async (step: number, total: number) => {
      const { list } = await facts(selectedFile());
      if (answers !== undefined || list.rules.length === 0) return SKIPPED;
      const last = memory.file(selectedFile().fsPath)?.answers;
      const answer = await pickOne(
        { title: titleOf(selectedFile()), step, steps: asked(total) },
        faultChoices(list.rules, last),
        { placeholder: 'Select whether the world injects faults', active: last?.noPerturb === true ? 1 : 0 },
      );
      if (answer !== undefined && answer !== BACK) isPerturbed = answer;
      return answer;
    },
    async (step: number, total: number) => {
      const { list } = await facts(selectedFile());
      const answer = await askTarget(
        { title: titleOf(selectedFile()), step: asked(step), steps: asked(total) },
        targets,
        list.target,
        options.target,
      );
      if (answer !== undefined && answer !== BACK) target = answer;
      return answer;
    },
  ].slice(options.file === undefined ? 0 : 1, targets.length === 0 ? -1 : undefined);
  const review = async (step: number): Promise<Answer<unknown>> => {
    const where = target ?? options.target;
    const { facts: known } = await facts(selectedFile());
    const place = { title: titleOf(selectedFile()), step: asked(step), steps: asked(step) };
    const launch = { facts: known, answers: chosen(), target: where };
    const found = reviewOf(await options.room(launch), launch);
    reviewed = found !== undefined;
    return found === undefined ? SKIPPED : askReview({ ...place, back: true }, found, launch);
  };
  if (!(await runSteps([...steps, review]))) return undefined;
  const info = await facts(selectedFile());
  return {
    file: selectedFile(),
    facts: info.facts,
    ...(target === undefined ? {} : { target }),
    answers: chosen(),
    reviewed,
  };
}

const TITLE = 'Launch Batch';

function titleOf(file: vscode.Uri): string {
  return `${TITLE}: ${vscode.workspace.asRelativePath(file)}`;
}

function askFile(
  place: StepPlace,
  files: readonly vscode.Uri[],
  current: vscode.Uri | undefined,
): Promise<Answer<vscode.Uri>> {
  const choices = files.map((value) => ({
    label: value.path.slice(value.path.lastIndexOf('/') + 1).replace(/\.batch\.\w+$/, ''),
    description: vscode.workspace.asRelativePath(value),
    icon: 'beaker',
    value,
  }));
  const active = current === undefined ? 0 : files.findIndex((file) => file.toString() === current.toString());
  return pickOne(place, choices, { placeholder: 'Select a batch file', active: Math.max(0, active) });
}

/** A question that the form answers: how many calls fit in the context of the models that play worlds. */
interface ContextQuestion {
  readonly choices: () => Promise<Omit<Choice<unknown>, 'value'>[]>;
  readonly ask: () => Promise<void>;
}

/** Lets the user pick one choice. Those of `context` are answered here, and the user is asked again. */
async function pickWithContext<T>(
  place: StepPlace,
  choices: readonly Choice<T>[],
  options: Parameters<typeof pickOne>[2],
  context: ContextQuestion | undefined,
): Promise<Answer<T>> {
  for (;;) {
    const more = (await context?.choices()) ?? [];
    const all: Choice<{ readonly chosen?: T }>[] = [
      ...choices.map((choice) => ({ ...choice, value: { chosen: choice.value } })),
      ...more.map((choice) => ({ ...choice, value: {} })),
    ];
    const answer = await pickOne(place, all, options);
    if (answer === undefined || answer === BACK) return answer;
    if (answer.chosen !== undefined) return answer.chosen;
    try {
      await context?.ask();
    } catch (error) {
      if (!StudioError.is(error, 'cancelled')) throw error; // the form stays
    }
  }
}

type TaskAnswer = ChosenTasks | { readonly kind: 'same'; readonly answers: LaunchAnswers };

async function askTasks(
  place: StepPlace,
  list: TaskList,
  facts: FileFacts,
  last: LaunchAnswers | undefined,
  context: ContextQuestion,
): Promise<Answer<TaskAnswer>> {
  for (;;) {
    const answer = await pickWithContext(place, taskChoices(facts, last), { placeholder: 'Select tasks' }, context);
    if (answer === undefined || answer === BACK || answer.kind !== 'pick') return answer;
    const items = list.tasks.map(({ id, question }) => ({
      label: id,
      description: question.replaceAll(/\s+/g, ' ').slice(0, 120),
      value: id,
    }));
    const ids = await pickMany({ ...place, step: Math.max(place.step, 2) }, items, {
      placeholder: 'Select tasks. Type to filter',
    });
    if (ids === undefined) return undefined;
    if (ids !== BACK) return { kind: 'some', ids: [...ids] };
  }
}

async function askAttempts(
  place: StepPlace,
  facts: FileFacts,
  last: LaunchAnswers | undefined,
  tasks: ChosenTasks | undefined,
  context: ContextQuestion | undefined,
): Promise<Answer<{ readonly attempts: number | undefined }>> {
  for (;;) {
    const choices = attemptChoices(facts, last, tasks);
    const active =
      last?.attempts === undefined
        ? 0
        : choices.findIndex(({ value }) => value.kind === 'count' && value.count === last.attempts);
    const answer = await pickWithContext(
      place,
      choices,
      { placeholder: 'Select the number of attempts per task', active: Math.max(0, active) },
      context,
    );
    if (answer === undefined || answer === BACK) return answer;
    if (answer.kind === 'file') return { attempts: undefined };
    if (answer.kind === 'count') return { attempts: answer.count };
    const text = await input(
      { ...place, step: Math.max(place.step, 2) },
      { prompt: 'Attempts per task', value: String(last?.attempts ?? facts.attempts), validate: attemptsProblem },
    );
    if (text === undefined) return undefined;
    if (text !== BACK) return { attempts: Number(text) };
  }
}
