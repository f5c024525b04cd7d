/** The workspace for GAIA as `rollout init` creates it, with a temporary store: its batch, run as a user runs it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { connect } from '../../../src/client/connect.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { Bench, type CommandResult } from '../../support/cli.ts';

const agentFile = z.looseObject({
  model: z.looseObject({ sampling: z.looseObject({ max_tokens: z.number() }) }),
  tools: z.array(z.unknown()),
});

/** Changes of a user to the agent's file. */
export interface Changes {
  readonly maxTokens?: number;
  /** Built-in ones. */
  readonly tools?: readonly string[];
}

export class GaiaBench {
  readonly #bench: Bench;

  /** Base URL, including `/v1`. */
  constructor(endpoint: string) {
    this.#bench = new Bench({ env: { LLM_BASE_URL: endpoint, LLM_MODEL_NAME: 'desk', LLM_API_KEY: 'none' } });
  }

  init(): Promise<CommandResult> {
    return this.#bench.run(['init', 'gaia', '--template', 'gaia']);
  }

  change({ maxTokens, tools }: Changes): void {
    const file = this.#bench.path('gaia', 'agents', 'gaia.agent.yaml');
    const agent = agentFile.parse(parse(readFileSync(file, 'utf8')));
    if (maxTokens !== undefined) agent.model.sampling.max_tokens = maxTokens;
    if (tools !== undefined) agent.tools = [{ builtin: tools }];
    writeFileSync(file, stringify(agent));
  }

  /** One rollout at a time: an engine on a CPU does not split prompts when calls have a seed. */
  run(): Promise<CommandResult> {
    return this.#bench.run(['run', 'gaia/batches/gaia.batch.yaml', '--concurrency', '1']);
  }

  /** Rollouts of the newest batch, by attempt. */
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
