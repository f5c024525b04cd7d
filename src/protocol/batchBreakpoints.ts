/** Derives the breakpoints of a batch from its stream: each command replaces those of one client, or all. */
import { z } from 'zod';
import type { AnyEvent } from '../trace/model.ts';
import { type Breakpoint, verbArgs } from './commands.ts';

const commandArgs = verbArgs.breakpoints.extend({ of: z.string().optional() });

export class BatchBreakpoints {
  #all: readonly Breakpoint[] = [];

  get all(): readonly Breakpoint[] {
    return this.#all;
  }

  /** Adds new events of the batch's stream. Returns whether any of them changed breakpoints. */
  add(events: readonly AnyEvent[]): boolean {
    let any = false;
    for (const event of events) {
      if ('unknown' in event || event.kind !== 'control' || event.data.verb !== 'breakpoints') continue;
      const args = commandArgs.safeParse(event.data.args);
      if (!args.success) continue;
      const { breakpoints, of } = args.data;
      this.#all = [...(of === undefined ? [] : this.#all.filter(({ id }) => !id.startsWith(of))), ...breakpoints];
      any = true;
    }
    return any;
  }
}
