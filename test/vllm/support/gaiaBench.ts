/** The workspace for GAIA as `rollout init` makes it, with a store of its own: its batch, run as a user runs it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { connect } from '../../../src/client/connect.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { Bench, type Ran } from '../../support/cli.ts';

const agentFile = z.looseObject({
  model: z.looseObject({ sampling: z.looseObject({ max_tokens: z.number() }) }),
  tools: z.array(z.unknown()),
});

/** What a user changes in the agent's file. */
export interface Changes {
  readonly maxTokens?: number;
  /** Built-in ones. */
  readonly tools?: readonly string[];
}

export class GaiaBench {
  readonly #bench: Bench;

  /** `endpoint`: with `/v1`. */
  constructor(endpoint: string) {
    this.#bench = new Bench({ env: { LLM_BASE_URL: endpoint, LLM_MODEL_NAME: 'desk', LLM_API_KEY: 'none' } });
  }

  init(): Promise<Ran> {
    return this.#bench.run(['init', 'gaia', '--template', 'gaia']);
  }

  change({ maxTokens, tools }: Changes): void {
    const file = this.#bench.path('gaia', 'agents', 'gaia.agent.yaml');
    const agent = agentFile.parse(parse(readFileSync(file, 'utf8')));
    if (maxTokens !== undefined) agent.model.sampling.max_tokens = maxTokens;
    if (tools !== undefined) agent.tools = [{ builtin: tools }];
    writeFileSync(file, stringify(agent));
  }

  /** One rollout at a time: an engine on a CPU takes no prompt in parts where calls have a seed. */
  run(): Promise<Ran> {
    return this.#bench.run(['run', 'gaia/batches/gaia.batch.yaml', '--concurrency', '1']);
  }

  /** Of the newest batch, by the attempt. */
  async rows(): Promise<RolloutRow[]> {
    const { api } = await connect({ store: this.#bench.store, start: false });
    const {
      batches: [batch],
    } = await api.batches({ limit: 1 });
    return Array.fromAsync(api.allRollouts(batch?.batch ?? ''));
  }

  close(): Promise<void> {
    return this.#bench.close();
  }
}
