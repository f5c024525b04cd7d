/**
 * The fingerprint of a trajectory: a hash of the model's messages and the results of tools, equal for equal
 * trajectories.
 *
 * Definition. Every agent (identified by its instance path, or '' without a path) has a list of turns. A turn is one
 * sampled message: its parts in order, with a tool call as name and arguments, without its ID. The outcomes of its
 * calls follow in the order of the calls, regardless of the order of the results: status and result (`tool.end.result`,
 * else the response in the tool message). Outcomes of calls that no sampled message requested are at the end of the
 * turn in which they occurred, in the order of their `tool.start`. The digest is sha256 of the canonical JSON of [path,
 * sha256 of its turns] for all agents, sorted by path.
 *
 * So it ignores IDs, times, ordinals, seqs, usage, tokens, `source`, the interleaving of agents and of parallel calls,
 * and messages that are only input. Values are hashed in their stored form, so pass stored events, or always the same
 * unstored form. For a fork, pass the shared prefix first.
 */
import { hashOf, type RunningHash, runningHash } from '../common/hash.ts';
import { canonicalJson, type Json } from '../common/json.ts';
import type { EventOf, Part, TraceEvent, UnknownEvent } from './schema.ts';

interface Outcome {
  readonly status: string;
  readonly result: Json | undefined;
}

interface Agent {
  readonly hash: RunningHash;
  /** Calls of the open turn, in order. */
  calls: { readonly id: string; outcome?: Outcome }[];
  /** Outcomes of calls that the open turn's message did not request. */
  others: { readonly seq: number; readonly outcome: Outcome }[];
}

export class Fingerprint {
  readonly #agents = new Map<string, Agent>();
  readonly #openCalls = new Map<number, { readonly agent: string; readonly call: string }>();
  /** Responses of tool messages until their `tool.end` arrives, by ordinal. */
  readonly #responses = new Map<number, readonly Part[]>();

  add(event: TraceEvent | UnknownEvent): void {
    if ('unknown' in event) return;
    switch (event.kind) {
      case 'message':
        if (event.data.origin === 'sampled') this.#turn(event);
        else if (event.data.role === 'tool') this.#responses.set(event.data.m, event.data.parts);
        return;
      case 'tool.start':
        this.#openCalls.set(event.seq, { agent: event.agent ?? '', call: event.data.call });
        return;
      case 'tool.end':
        this.#outcome(event);
        return;
      default:
    }
  }

  /** Returns 64 hex digits for all events so far. More can be added afterwards. */
  digest(): string {
    const agents = [...this.#agents].map(([path, agent]): [string, string] => {
      const hash = agent.hash.clone();
      closeTurn({ ...agent, hash });
      return [path, hash.hex()];
    });
    return hashOf(agents.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #turn(event: EventOf<'message'>): void {
    const agent = this.#agent(event.agent ?? '');
    closeTurn(agent);
    agent.calls = event.data.parts.flatMap((part) => (part.type === 'tool_call' ? [{ id: part.id }] : []));
    agent.others = [];
    update(agent.hash, event.data.parts.map(withoutId));
  }

  #outcome(event: EventOf<'tool.end'>): void {
    const { status, result, m } = event.data;
    const open = event.span === undefined ? undefined : this.#openCalls.get(event.span);
    const outcome: Outcome = {
      status,
      result: result ?? responseOf(m === undefined ? undefined : this.#responses.get(m)),
    };
    if (m !== undefined) this.#responses.delete(m);
    if (event.span !== undefined) this.#openCalls.delete(event.span);
    const agent = this.#agent(open?.agent ?? event.agent ?? '');
    const call = agent.calls.find((candidate) => candidate.id === open?.call && candidate.outcome === undefined);
    if (call === undefined) agent.others.push({ seq: event.span ?? event.seq, outcome });
    else call.outcome = outcome;
  }

  #agent(path: string): Agent {
    let agent = this.#agents.get(path);
    if (agent === undefined) this.#agents.set(path, (agent = { hash: runningHash(), calls: [], others: [] }));
    return agent;
  }
}

function closeTurn(agent: Agent): void {
  if (agent.calls.length === 0 && agent.others.length === 0) return;
  const others = agent.others.toSorted((a, b) => a.seq - b.seq).map((other) => other.outcome);
  update(agent.hash, [agent.calls.map((call) => call.outcome ?? null), others]);
}

/** Adds one line of canonical JSON, which never contains a line break itself. */
function update(hash: RunningHash, value: unknown): void {
  hash.update(`${canonicalJson(value)}\n`);
}

function withoutId(part: Part): unknown {
  switch (part.type) {
    case 'tool_call':
      return { type: part.type, name: part.name, arguments: part.arguments };
    case 'tool_call_response':
      return { type: part.type, response: part.response };
    default:
      return part;
  }
}

function responseOf(parts: readonly Part[] | undefined): Json | undefined {
  if (parts === undefined) return undefined;
  const rest = parts.map(withoutId) as Json[]; // parts are JSON
  const [first] = parts;
  return parts.length === 1 && first?.type === 'tool_call_response' ? first.response : rest;
}
