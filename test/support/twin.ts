/** A world that predicts the calls of `NumberWorld`, and the model that plays it. */
import type { ModelClient, ModelRequest, World, WorldSession } from '../../src/rollout/ports.ts';
import { plain, reply, USER } from './rolloutKit.ts';

export const TWIN_MODEL = { ...USER.model, name: 'twin-model' };

/** A world whose model sees the calls so far; `specs` as in NumberWorld. */
export class Twin implements World {
  readonly name = 'twin';
  readonly kind = 'simulated';
  readonly seen: string[] = [];
  opened = 0;
  closed = 0;

  open(): Promise<WorldSession> {
    this.opened++;
    const turns: string[] = [];
    return Promise.resolve({
      specs: ['add', 'peek'].map((name) => ({
        name,
        description: name,
        parameters: { type: 'object' },
        effect: 'restorable' as const,
        sessionBound: false,
        from: { kind: 'world' as const, name: 'twin' },
      })),
      call: async ({ name, arguments: args }, { ask }) => {
        const text = [...turns, `${name} ${JSON.stringify(args)}`].join('\n');
        return { response: await ask!({ side: 'world', model: TWIN_MODEL, messages: [{ role: 'user', text }] }) };
      },
      observed: ({ name, arguments: args }, response) => {
        turns.push(`${name} ${JSON.stringify(args)} = ${JSON.stringify(response)}`);
        this.seen.push(turns.at(-1)!);
      },
      close: () => {
        this.closed++;
        return Promise.resolve();
      },
    });
  }
}

const textOf = ({ messages }: ModelRequest): string => {
  const part = messages.at(-1)!.parts[0]!;
  return part.type === 'text' ? plain(part.content) : '';
};

/** Adds up what it reads: right, except that it believes that 5 + 1 is 7. */
export class TwinModel implements ModelClient {
  readonly asked: string[] = [];

  complete(request: ModelRequest): ReturnType<ModelClient['complete']> {
    const text = textOf(request);
    this.asked.push(text);
    const sum = [...text.matchAll(/add \{"n":(\d+)\}/g)].reduce((total, [, n]) => total + Number(n), 0);
    return Promise.resolve(reply({ text: JSON.stringify({ value: sum === 6 ? 7 : sum }) }));
  }
}
