/**
 * Builds what a world model is asked, in the format of Qwen-AgentWorld: a system prompt of five parts (task, action
 * space, initial state, demonstrations, instruction), then actions and observations in turn. Each request begins with
 * the previous one, so that the endpoint can reuse its cache.
 */
import { OBSERVATION_MARKER } from '../../common/observation.ts';
import { actionText } from '../../config/simulation/text.ts';
import type { SubmittedSimulatedWorld } from '../../config/submission/world.ts';
import type { SideQuestion } from '../../rollout/ports.ts';
import { DOMAINS } from './domains.ts';

type Messages = SideQuestion['messages'];

/** A call of the agent, and what it saw. */
export interface Turn {
  readonly action: string;
  /** Of an overlay: what the real system returned. */
  readonly real?: string | undefined;
  readonly observation: string;
}

const REAL_RESULTS = `Some actions come with the result of a real system. That system knows nothing of what you have \
answered: in it, nothing of that has happened. Return its result as it would be if all of that had happened: change \
what your earlier observations have created, changed, or deleted, and leave everything else exactly as it is, \
including the format. If nothing of that matters here, return the result unchanged.`;

/** Texts of the world file, filled for a task. */
export type SimulationTexts = SubmittedSimulatedWorld['texts'];

/** Returns the system prompt. */
export function systemPrompt({ domain, definitions, route }: SubmittedSimulatedWorld, texts: SimulationTexts): string {
  const own = DOMAINS[domain];
  const tools = definitions.map(({ name, description, parameters, output }) =>
    JSON.stringify({ name, description, parameters, ...(output === undefined ? {} : { output }) }),
  );
  const { state, demonstrations, instruction } = texts;
  return [
    ['Task', texts.task ?? own.task],
    ['Reply', own.reply],
    ['Actions', texts.actions ?? own.actions],
    ['Tools', tools.join('\n')],
    ['Real Results', route?.some(({ by }) => by === 'overlay') === true ? REAL_RESULTS : undefined],
    ['Initial State', state],
    ['Demonstrations', demonstrations],
    ['Simulation Instruction', instruction],
  ]
    .flatMap(([title, text = '']) => (text.trim() === '' ? [] : [`# ${title ?? ''}\n${text.trim()}`]))
    .join('\n\n');
}

/** Returns the messages that ask for the observation of a turn, after `turns`. */
export function messagesFor(
  system: string,
  state: string | undefined,
  turns: readonly Turn[],
  next: Omit<Turn, 'observation'>,
): Messages {
  return [
    { role: 'system', text: system },
    ...turns.flatMap(
      (turn, index): Messages => [
        { role: 'user', text: turnText(index, state, turn) },
        { role: 'assistant', text: `${OBSERVATION_MARKER}\n${turn.observation}` },
      ],
    ),
    { role: 'user', text: turnText(turns.length, state, next) },
  ];
}

/** `index`: 0-based. */
function turnText(index: number, state: string | undefined, { action, real }: Omit<Turn, 'observation'>): string {
  const current = index === 0 && state !== undefined ? `**Current State:**\n${state}\n\n` : '';
  const result = real === undefined ? '' : `\n\n**Real Result:**\n${real}`;
  return `### Turn ${index + 1}\n${current}${actionText(action)}${result}`;
}
