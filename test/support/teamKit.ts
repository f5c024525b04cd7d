/** Teams of scripted members: scripts by the name of the model, and the actions of each member as lines to compare. */

import type { Json } from '../../src/common/json.ts';
import type { Submission, SubmittedAgent, SubmittedMember } from '../../src/config/submission.ts';
import type { ModelClient } from '../../src/rollout/ports.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import {
  type Kit,
  type KitOptions,
  kit,
  plain,
  ScriptedModel,
  type ScriptedReply,
  ScriptedTools,
  submission,
} from './rolloutKit.ts';

export type Script = ConstructorParameters<typeof ScriptedModel>[0];

/** An agent whose model is named after it. */
export function member(
  name: string,
  more: Partial<SubmittedAgent> & Omit<Partial<SubmittedMember>, 'agent' | 'name'> & { readonly as?: string } = {},
): SubmittedMember {
  const { after, to, loop, as = name, ...agent } = more;
  const base = submission().agent;
  return {
    name: as,
    ...(after === undefined ? {} : { after }),
    ...(to === undefined ? {} : { to }),
    ...(loop === undefined ? {} : { loop }),
    agent: {
      ...base,
      name,
      file: `agents/${name}.agent.yaml`,
      model: { ...base.model, name },
      prompt: { text: `You are ${name}.` },
      ...agent,
    },
  };
}

export function team(
  kind: 'workflow' | 'handoff' | 'leader',
  members: readonly SubmittedMember[],
  more: Partial<SubmittedAgent> = {},
  itself = kind === 'leader',
): Partial<SubmittedAgent> {
  return { ...more, team: { kind, itself, members: [...members] } };
}

export interface TeamKit extends Kit {
  readonly models: ReadonlyMap<string, ScriptedModel>;
  readonly tools: ScriptedTools;
  /** Model calls that reached the model. */
  callCount(): number;
}

/** `scripts` by the name of the agent; the root is `desk`. */
export function teamKit(
  agent: Partial<SubmittedAgent>,
  scripts: Readonly<Record<string, Script>>,
  options: KitOptions & { readonly more?: Partial<Submission> } = {},
): TeamKit {
  const models = new Map(Object.entries(scripts).map(([name, script]) => [name, new ScriptedModel(script)]));
  const modelNamed = (name: string): ModelClient => models.get(name) ?? new ScriptedModel([]);
  const tools = new ScriptedTools({ look: { run: (args) => ({ seen: args }) } });
  const base = kit({
    model: modelNamed('desk'),
    tools,
    ...options,
    job: { submission: submission(agent, options.more), ...options.job },
    ports: { modelOf: (model) => modelNamed(model.name), ...options.ports },
  });
  return {
    ...base,
    models,
    tools,
    callCount: () => [...models.values()].reduce((sum, model) => sum + model.requests.length, 0),
  };
}

/** Calls a member, as a leader does. */
export function delegate(name: string, task: string): NonNullable<ScriptedReply['calls']>[number] {
  return { name, arguments: { task } };
}

export function handOff(name: string, message: string): ScriptedReply {
  return { calls: [{ name: `hand_off_to_${name}`, arguments: { message } }] };
}

/**
 * The actions of each instance, in order: messages, requests, and results. Spans that a lost worker left count as not
 * done.
 */
export function stories(events: readonly TraceEvent[]): Record<string, string[]> {
  const starts = new Map(events.map((event) => [event.seq, event]));
  const out: Record<string, string[]> = {};
  const messages = new Map(
    events.flatMap((event): [number, Extract<TraceEvent, { kind: 'message' }>][] =>
      event.kind === 'message' ? [[event.data.m, event]] : [],
    ),
  );
  const textOf = (m: number | undefined): Json =>
    m === undefined ? null : (JSON.parse(JSON.stringify(messages.get(m)?.data.parts ?? null)) as Json);
  const add = (agent: string, line: string): void => void (out[agent] ??= []).push(line);
  const begun = new Set<string>();
  for (const event of events) {
    const agent = event.agent ?? '';
    const start = event.span === undefined ? undefined : starts.get(event.span);
    switch (event.kind) {
      case 'agent.start':
        if (!begun.has(agent)) add(agent, `begins (${event.data.how})`);
        begun.add(agent);
        break;
      case 'message':
        if (event.data.topic !== undefined)
          add(
            agent,
            `${event.data.topic} ${event.data.from ?? ''} → ${event.data.to ?? ''}: ${plain(textOf(event.data.m))}`,
          );
        break;
      case 'model.end':
        if (event.data.error?.class !== 'infrastructure' && start?.kind === 'model.start') {
          const seen = start.data.context.flatMap(([from, to]) =>
            Array.from({ length: to - from + 1 }, (_, index) => textOf(from + index)),
          );
          add(
            agent,
            `says ${plain(textOf(event.data.m))} to ${JSON.stringify(seen)} by ${plain(start.data.sampling['seed'])}`,
          );
        }
        break;
      case 'tool.end':
        if (event.data.error?.class !== 'infrastructure' && start?.kind === 'tool.start')
          add(agent, `${start.data.name} ${plain(start.data.arguments)} gives ${plain(textOf(event.data.m))}`);
        break;
      case 'agent.end':
        if (event.data.error?.class !== 'infrastructure') add(agent, `ends ${event.data.status}`);
        break;
      default:
    }
  }
  return out;
}
