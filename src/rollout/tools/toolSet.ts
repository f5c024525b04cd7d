import type { Json, JsonObject } from '../../common/json.ts';
import type { AnswerRule } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { EventData } from '../../trace/schema.ts';
import type { Subject } from '../gates/subject.ts';
import type { Envelope } from '../log/log.ts';
import type { Sha256 } from '../log/messages.ts';
import type { Lookahead } from '../lookahead.ts';
import { answerTool } from '../loop/answer.ts';
import type { PendingBlob, ToolHost, ToolOutcome, ToolSpec } from '../ports.ts';
import type { RolloutWorld } from '../world.ts';
import { argumentsOf } from './toolEvents.ts';

/** The tools that a model sees, and the stored text of their list. */
export interface ModelTools {
  readonly specs: readonly ToolSpec[];
  /**
   * SHA-256 of the JSON of [{name, description, parameters}], with keys in the order that the model sees.
   */
  readonly sha: string;
  readonly blob: PendingBlob;
}

export const NO_TOOLS: ModelTools = {
  specs: [],
  sha: '',
  blob: { sha: '', bytes: new Uint8Array(), media: 'application/json' },
};

export interface ToolEntry {
  readonly spec: ToolSpec;
  /** Makes its calls. Absent for the tool that only submits the answer. */
  readonly host: Pick<ToolHost, 'call'> | undefined;
  /** Set if the call goes to the world. */
  readonly world: RolloutWorld | undefined;
  /** Its calls run one after another with those in this queue. Default: the world's. */
  readonly queue?: RolloutWorld['queue'];
  /** Set if another agent handles it. */
  readonly agent?: AgentTool;
}

/** Returns whether calls of a tool need the session of earlier ones, which ends with its worker. */
export function isBound(tool: ToolEntry | undefined): boolean {
  if (tool?.spec.sessionBound !== true) return false;
  return tool.world === undefined || tool.world.session.answeredBy?.(tool.spec.name) === 'tool';
}

/** A tool that another agent handles. */
export interface AgentTool {
  readonly spec: ToolSpec;
  /** Called for each call, in order. `together`: number of agents called in this turn. */
  prepare(call: string, together: number): AgentCall;
}

export interface AgentCall {
  /** Envelope of the answer; undefined until an agent was called. */
  readonly envelope: Envelope | undefined;
  /** Makes the call whose `tool.start` is `span`. Throws ClassedError. */
  make(args: JsonObject, span: number): Promise<Json>;
  /** Called if the answer is recorded: replays the work of the agent. */
  recalled(args: JsonObject, span: number): Promise<void>;
}

/** Delegates to another agent, without a time limit: its calls and the rollout have their own. */
export async function delegate(
  call: AgentCall,
  request: EventData['tool.start'],
  subject: Subject<'tool'>,
): Promise<ToolOutcome> {
  return { response: await call.make(argumentsOf(request.arguments), subject.span) };
}

/** All tools of one agent: its own, those of the world, and the answer tool if no other has its name. */
export class ToolSet {
  readonly modelTools: ModelTools;
  readonly #byName = new Map<string, ToolEntry>();

  /** Throws ClassedError `tool_error` if two tools have the same name. */
  constructor(
    moduleTools: ToolHost | undefined,
    world: RolloutWorld | undefined,
    rule: AnswerRule,
    sha256: Sha256,
    agents: readonly AgentTool[] = [],
    lookahead?: Pick<Lookahead, 'tool'>,
  ) {
    for (const spec of moduleTools?.specs ?? []) this.#add({ spec, host: moduleTools, world: undefined });
    for (const spec of world?.session.specs ?? []) this.#add({ spec, host: world, world });
    for (const agent of agents) this.#add({ spec: agent.spec, host: undefined, world: undefined, agent });
    if (lookahead !== undefined) this.#add(lookahead.tool(this));
    if (rule.kind === 'tool' && !this.#byName.has(rule.tool))
      this.#add({ spec: answerTool(rule.tool), host: undefined, world: undefined });
    this.modelTools = modelTools(
      [...this.#byName.values()].map(({ spec }) => spec),
      sha256,
    );
  }

  find(name: string): ToolEntry | undefined {
    return this.#byName.get(name);
  }

  get names(): string[] {
    return [...this.#byName.keys()];
  }

  #add(tool: ToolEntry): void {
    const other = this.#byName.get(tool.spec.name);
    if (other !== undefined) {
      throw new ClassedError(
        'tool_error',
        `Two tools are named "${tool.spec.name}": one from ${placeOf(other.spec)}, one from ${placeOf(tool.spec)}. ` +
          'Rename one of them, or leave it out: `tools` of a world file can list those that the world offers.',
      );
    }
    this.#byName.set(tool.spec.name, tool);
  }
}

function placeOf({ from }: ToolSpec): string {
  return `${from.kind} ${from.name}`;
}

/** Hosts share their specs between rollouts, so the text of each is created only once. */
const texts = new WeakMap<ToolSpec, string>();

function textOf(spec: ToolSpec): string {
  let text = texts.get(spec);
  if (text === undefined) {
    const { name, description, parameters } = spec;
    // Not canonical JSON: chat templates keep the order of keys, so it is part of the prompt.
    texts.set(spec, (text = JSON.stringify({ name, description, parameters })));
  }
  return text;
}

function modelTools(specs: readonly ToolSpec[], sha256: Sha256): ModelTools {
  if (specs.length === 0) return NO_TOOLS;
  const bytes = new TextEncoder().encode(`[${specs.map(textOf).join(',')}]`);
  const sha = sha256(bytes);
  return { specs, sha, blob: { sha, bytes, media: 'application/json' } };
}
