/** A policy of somebody else in the environment of a task: what an agent would see and do, without the agent's loop. */
import { abortable } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { seedOf } from '../../common/hash.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { Serial } from '../../common/serial.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import { sentSampling } from '../../config/submission/mixPlan.ts';
import type { Submission } from '../../config/submission.ts';
import type { CallOutcome } from '../../rerun/callTool.ts';
import { callOnce } from '../../rerun/callTool.ts';
import type { AskLive } from '../../rerun/drive/drive.ts';
import { openSession } from '../../rerun/tryInWorld.ts';
import { answerOf, answerOfCall, answerTool } from '../../rollout/loop/answer.ts';
import { shortenedParts } from '../../rollout/loop/compaction.ts';
import { conversationOf, questionParts, renderPrompt } from '../../rollout/loop/prompt.ts';
import type { Message, ToolHost, ToolSpec, WorldSession } from '../../rollout/ports.ts';
import { systemTime } from '../../rollout/time.ts';
import { worldSeed } from '../../rollout/world.ts';
import { createScorer } from '../../scoring/create.ts';
import { untrustedWork } from '../../tools/builtins/readerThread/untrustedWork.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { openTools } from '../../tools/hosts.ts';
import { askerOf } from '../../tools/modules/asker.ts';
import { runExport } from '../../tools/modules/exports.ts';
import { callTroubles } from '../../trace/callTroubles.ts';
import { toChatMessages, toChatTools } from '../../trace/chat/messages.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Part, Role } from '../../trace/schema.ts';
import { type TaskRecord, withoutAnswer } from '../../trace/task.ts';
import type { SeededSession, ToolText, VerifiedSession, VerifySession } from '../shapes.ts';

export interface SessionOptions {
  readonly id: string;
  /** With the values of `${env:…}`. */
  readonly submission: Submission;
  /** Name of its part of the mix, which `submission` already follows. */
  readonly part?: string | undefined;
  readonly task: TaskRecord;
  readonly environment: ToolEnvironment;
  readonly ask: AskLive;
  readonly log: (text: string) => void;
  /** Ends the rest of the environment, and removes its folder. */
  readonly remove: () => Promise<void>;
}

interface Tool {
  readonly spec: ToolSpec;
  /** Absent for the tool that only submits the answer. */
  readonly host: (ToolHost & Pick<WorldSession, 'observed'>) | undefined;
}

export class GymSession {
  readonly id: string;
  readonly #options: SessionOptions;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #hosts: readonly ToolHost[];
  readonly #world: WorldSession | undefined;
  /** The calls of a world change its state one after another; a verdict sees all of them. */
  readonly #queue = new Serial();
  readonly #stop = new AbortController();
  readonly #seed: number;
  /** What happened, for scorers that read conversations. */
  readonly #messages: Message[];
  #calls = 0;
  #answer: Json = null;

  private constructor(
    options: SessionOptions,
    opening: readonly Message[],
    agent: ToolHost,
    world: WorldSession | undefined,
  ) {
    this.id = options.id;
    this.#options = options;
    this.#world = world;
    this.#hosts = [agent, ...(world === undefined ? [] : [world])];
    this.#tools = toolsOf(options.submission, agent, world);
    this.#messages = [...opening];
    this.#seed = seedOf(options.submission.seed, options.task.id, 1);
  }

  /** Opens tools and world. Throws StudioError `config` or `unavailable`. */
  static async open(options: SessionOptions, signal: AbortSignal): Promise<GymSession> {
    const { submission, environment, ask } = options;
    const { agent, world, seed } = submission;
    const task = withoutAnswer(options.task);
    const opening = await openingOf(agent.prompt.text, task, (sha) => environment.readBlob(sha, signal));
    const host = await openTools(agent.tools, environment);
    let session: WorldSession | undefined;
    try {
      if (world !== undefined) {
        const { needsWorld: judges = false } = scorerOf(submission, environment);
        session = await openSession(
          {
            ...{
              root: '',
              world,
              task,
              seed: worldSeed(task, seed),
              callSeed: 0,
              blobs: new Map<string, Uint8Array>(),
            },
            ...{ seconds: agent.limits.tool_seconds, sandbox: environment.sandbox },
          },
          environment,
          signal,
          { judges },
        );
      }
      return new GymSession({ ...options, ask }, opening, host, session);
    } catch (error) {
      await Promise.allSettled([host.close(), session?.close()]);
      throw error;
    }
  }

  /** What an agent sees first. */
  get seeded(): SeededSession {
    const { part, submission } = this.#options;
    return {
      session_id: this.id,
      messages: toChatMessages(this.#messages, []).map(jsonOf),
      tools: toChatTools([...this.#tools.values()].map(({ spec }) => spec)).map(jsonOf),
      ...(part === undefined ? {} : { part, sampling: sentSampling(submission.agent.model.sampling) }),
    };
  }

  /** Calls a tool, and returns what an agent would see: also of a call that fails. Throws if the session ends. */
  call(name: string, args: JsonObject): Promise<ToolText> {
    return this.#queue.run(() => this.#call(name, args));
  }

  async #call(name: string, args: JsonObject): Promise<ToolText> {
    this.#stop.signal.throwIfAborted();
    const { submission, log } = this.#options;
    const number = ++this.#calls;
    const id = `call_${number}`;
    const tool = this.#tools.get(name);
    const outcome = await this.#outcome(tool, name, {
      ...{ id, arguments: args, asSeen: true },
      seed: seedOf(this.#seed, submission.agent.name, number, 0),
      ask: (question) => this.#options.ask(question, this.#stop.signal),
    });
    const { answer: rule } = submission.agent;
    if (outcome.status === 'ok' && rule.kind === 'tool' && rule.tool === name) this.#answer = answerOfCall(args);
    if (outcome.error !== undefined) log(`session ${this.id}: ${name}: ${outcome.error.message}`);
    const response = outcome.status === 'ok' ? (outcome.result ?? null) : failed(outcome);
    const parts: Part[] = [{ type: 'tool_call_response', id, response }, ...(outcome.parts ?? [])];
    const seen = shortenedParts(parts, submission.agent.context);
    this.#add('assistant', [{ type: 'tool_call', id, name, arguments: args }]);
    const message = this.#add('tool', seen);
    const [text, images] = toChatMessages([message], []);
    return {
      text: text?.role === 'tool' ? text.content : '',
      ...(outcome.status === 'ok' ? {} : { error: true }),
      ...(images?.role === 'user' && typeof images.content !== 'string' ? { images: images.content.map(jsonOf) } : {}),
    };
  }

  async #outcome(tool: Tool | undefined, name: string, call: Parameters<typeof callOnce>[2]): Promise<CallOutcome> {
    if (tool === undefined) {
      const names = [...this.#tools.keys()];
      const others = names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`;
      return failure(new ClassedError('unknown_tool', `Unknown tool "${name}". ${others}`));
    }
    const { spec, host } = tool;
    if (spec.asksPerson === true)
      return failure(new ClassedError('tool_error', `${name} asks a person, and nobody is asked in a session.`));
    if (host === undefined) return { status: 'ok', result: 'The answer was submitted.' };
    const { log, submission } = this.#options;
    const print = (text: string): void => log(text.trimEnd());
    const seconds = submission.agent.limits.tool_seconds;
    try {
      return await callOnce(host, spec, call, seconds, print, this.#stop.signal);
    } catch (error) {
      if (this.#stop.signal.aborted || !StudioError.is(error)) throw error;
      return failure(new ClassedError('tool_error', errorText(error)));
    }
  }

  /** Judges the answer and the final state. A scorer that fails gives no reward. */
  verify(request: VerifySession): Promise<VerifiedSession> {
    return this.#queue.run(() => this.#verify(request));
  }

  async #verify({ answer, message }: VerifySession): Promise<VerifiedSession> {
    const { signal } = this.#stop;
    signal.throwIfAborted();
    const { submission, task, environment, ask } = this.#options;
    const final =
      message === undefined
        ? (answer ?? this.#answer)
        : ((await answerOf(submission.agent.answer, message, untrustedWork, signal)) ?? this.#answer);
    const text = message ?? (typeof final === 'string' ? final : JSON.stringify(final));
    const last: Message = { m: this.#messages.length + 1, role: 'assistant', parts: [{ type: 'text', content: text }] };
    const scorer = scorerOf(submission, environment);
    const { limited, end } = limitedBy(submission.scorer.seconds ?? DEFAULTS.scorer.seconds, signal);
    try {
      const { value, parts, explanation } = await abortable(
        scorer.score({
          ...{ task, answer: final, messages: [...this.#messages, last] },
          ...{ troubles: callTroubles([]), predictions: [], world: this.#world },
          seed: seedOf(this.#seed, 'score'),
          signal: limited,
          ask: (question) => ask(question, limited),
        }),
        limited,
      );
      return {
        reward: value === null || !Number.isFinite(value) ? null : value,
        reward_components: { ...parts },
        ...(explanation === undefined ? {} : { explanation }),
      };
    } catch (error) {
      if (signal.aborted) throw error;
      const why: unknown = limited.aborted ? limited.reason : error;
      return { reward: null, reward_components: {}, explanation: `The scorer failed: ${errorText(why)}` };
    } finally {
      end();
    }
  }

  /** Ends the tools and the world, and removes the folder. Calls that run fail. */
  async close(): Promise<void> {
    this.#stop.abort(new StudioError('gone', 'The session has ended.'));
    await this.#queue.idle();
    await Promise.allSettled(this.#hosts.map((host) => host.close()));
    await this.#options.remove();
  }

  #add(role: Role, parts: readonly Part[]): Message {
    const message = { m: this.#messages.length + 1, role, parts };
    this.#messages.push(message);
    return message;
  }
}

/** Returns the first messages of an agent for a task. Throws StudioError `config` if its prompt cannot be filled. */
async function openingOf(
  prompt: string,
  task: TaskRecord,
  readFile: (sha: string) => Promise<Uint8Array>,
): Promise<Message[]> {
  try {
    const text = renderPrompt(prompt, task);
    const [question, conversation] = await Promise.all([questionParts(task, readFile), conversationOf(task, readFile)]);
    const first = text.trim() === '' || conversation[0]?.role === 'system' ? [] : [{ role: 'system' as const, text }];
    const before = [...first, ...conversation].map(({ role, text: content }) => ({
      role,
      parts: [{ type: 'text' as const, content }],
    }));
    return [...before, { role: 'user' as const, parts: question }].map((one, index) => ({ m: index + 1, ...one }));
  } catch (error) {
    if (!(error instanceof ClassedError)) throw error;
    throw new StudioError('config', error.message, { cause: error });
  }
}

/** Throws StudioError `config` if two tools have the same name. */
function toolsOf({ agent, file }: Submission, host: ToolHost, world: WorldSession | undefined): Map<string, Tool> {
  const tools = new Map<string, Tool>();
  const all = [host, ...(world === undefined ? [] : [world])].flatMap((from) =>
    from.specs.map((spec): Tool => ({ spec, host: from })),
  );
  for (const tool of all) {
    if (tools.has(tool.spec.name))
      throw new StudioError('config', `${file}: two tools are named “${tool.spec.name}”.`, {
        hint: 'Rename one of them, or leave it out: `tools` of a world file can list those that the world offers.',
      });
    tools.set(tool.spec.name, tool);
  }
  const { answer } = agent;
  if (answer.kind === 'tool' && !tools.has(answer.tool))
    tools.set(answer.tool, { spec: answerTool(answer.tool), host: undefined });
  return tools;
}

/** Returns a signal that aborts with `signal`, or after a time. */
function limitedBy(seconds: number, signal: AbortSignal): { readonly limited: AbortSignal; readonly end: () => void } {
  const late = new AbortController();
  const end = systemTime.timer(seconds * 1000, () =>
    late.abort(new ClassedError('timeout', `It did not end within its limit of ${seconds} s.`)),
  );
  return { limited: AbortSignal.any([signal, late.signal]), end };
}

function scorerOf({ scorer, file }: Submission, environment: ToolEnvironment): ReturnType<typeof createScorer> {
  return createScorer(scorer, {
    untrusted: untrustedWork,
    runExport: (module, name, input, { signal, ask, models }) =>
      runExport(module, name, [input], environment, signal, askerOf(models, file, ask)),
  });
}

function failure(error: ClassedError): CallOutcome {
  return { status: 'error', error: error.toTrace() };
}

/** Returns what an agent sees of a call that failed. */
function failed({ error }: CallOutcome): Json {
  return error === undefined ? 'Error' : new ClassedError(error.class, error.message).toResponse();
}

/** Messages and tools of the chat format are JSON by their types, which have no index signature. */
function jsonOf(value: object): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return isJsonObject(copy) ? copy : {};
}
