/** Chat lines for supervised training, in the variants that trainers read. */
import type { JsonObject } from '../../common/json.ts';
import type { ChatMessage } from '../../trace/chat/messages.ts';
import { argumentsOf, templateMessage, thinkingText } from './chatText.ts';
import type { Conversation, Turn } from './conversations.ts';
import type { AttemptFormat, LeaveOut, TrainingAttempt } from './format.ts';

const FACTS = {
  file: 'jsonl',
  per: 'attempt',
  needs: 'conversations',
  // The lines have no reward, so nothing has to be said about a missing one.
  nullRules: ['keep', 'drop_row', 'error'],
  selects: { outcomes: ['passed'] },
} satisfies Partial<AttemptFormat>;

/**
 * TRL: `prompt`, `completion`, `tools`. TRL has no flag for a single message, so a conversation with a reply that must
 * not be trained becomes several lines: one for each run of replies that may, after all that came before.
 */
export const sftTrl: AttemptFormat = {
  ...FACTS,
  id: 'sft-trl',
  title: 'Supervised: TRL',
  text: 'prompt, completion, and tools, for SFTTrainer; with assistant_only_loss, results of tools are masked',
  checked: 'trl 1.16.0: trl/trainer/sft_trainer.py',
  lines: (attempt) =>
    attempt.conversations.flatMap((conversation) =>
      runsOf(conversation).map(({ prompt, completion }) => {
        const names = new Map<string, string>();
        const written = (turns: readonly Turn[]): JsonObject[] =>
          turns.map(({ message }) => templateMessage(message, names));
        return { prompt: written(prompt), completion: written(completion), tools: toolsText(attempt) };
      }),
    ),
};

/** OpenAI messages, which have no loss flags: a conversation ends before the first reply that must not be trained. */
export const sftOpenAi: AttemptFormat = {
  ...FACTS,
  id: 'sft-openai',
  title: 'Supervised: OpenAI messages (NeMo RL and NeMo Gym, verl, rLLM, prime-rl)',
  text: 'messages and tools, for trainers with the loss on all replies',
  checked: 'nemo-gym 0.4.0: nemo_gym/responses_converter.py; verl 0.9.1: verl/utils/dataset/multiturn_sft_dataset.py',
  lines: (attempt, leaveOut) =>
    attempt.conversations.flatMap(({ turns }) => {
      const kept = beforeUntrained(turns, leaveOut);
      if (kept.length === 0) return [];
      const names = new Map<string, string>();
      return [{ messages: kept.map(({ message }) => templateMessage(message, names)), tools: toolsJson(attempt) }];
    }),
};

/** ms-swift: own roles for calls and results, tools as text, and a flag at each message that must not be trained. */
export const sftSwift: AttemptFormat = {
  ...FACTS,
  id: 'sft-swift',
  title: 'Supervised: ms-swift',
  text: 'messages with the roles tool_call and tool_response, tools as JSON text, and "loss": false where needed',
  checked: 'ms-swift 4.6.0: swift/dataset/preprocessor/core.py, swift/template/base.py',
  lines: (attempt) =>
    attempt.conversations.map(({ turns }) => ({
      messages: turns.flatMap(({ message, loss }) => swiftMessages(message, loss)),
      ...(attempt.tools.length === 0 ? {} : { tools: toolsText(attempt) }),
    })),
};

/**
 * Returns a message as ms-swift reads it. Consecutive `tool_call` messages are one parallel call, and together with the
 * text before them one reply; a flag is at each of them, because only the first one of a call counts.
 */
export function swiftMessages(message: ChatMessage, loss: boolean): JsonObject[] {
  switch (message.role) {
    case 'assistant': {
      const flag = loss ? {} : { loss: false };
      const text = thinkingText(message);
      const calls = (message.tool_calls ?? []).map((call) => ({
        role: 'tool_call',
        content: JSON.stringify({ name: call.function.name, arguments: argumentsOf(call) }),
        ...flag,
      }));
      return [...(text === '' && calls.length > 0 ? [] : [{ role: 'assistant', content: text, ...flag }]), ...calls];
    }
    case 'tool':
      return [{ role: 'tool_response', content: message.content }];
    default:
      return [message as unknown as JsonObject]; // all of it is JSON
  }
}

/** Tools as JSON text, because a column of objects with different keys has no type in Arrow. */
export function toolsText({ tools }: TrainingAttempt): string {
  return JSON.stringify(tools);
}

function toolsJson({ tools }: TrainingAttempt): JsonObject[] {
  return tools as unknown as JsonObject[]; // all of it is JSON
}

/** Returns the runs of replies that may be trained, each with all messages before it. */
function runsOf({ turns }: Conversation): { prompt: readonly Turn[]; completion: readonly Turn[] }[] {
  const runs: { prompt: readonly Turn[]; completion: readonly Turn[] }[] = [];
  let from: number | undefined;
  let to = 0;
  const close = (): void => {
    if (from !== undefined) runs.push({ prompt: turns.slice(0, from), completion: turns.slice(from, to) });
    from = undefined;
  };
  for (const [index, { message, loss }] of turns.entries()) {
    if (loss) {
      from ??= index;
      to = index + 1;
    } else if (message.role === 'assistant') close();
  }
  close();
  return runs;
}

function beforeUntrained(turns: readonly Turn[], leaveOut: LeaveOut): readonly Turn[] {
  const first = turns.findIndex(({ loss, call }) => !loss && call !== undefined);
  if (first === -1) return turns;
  const left = turns.slice(first).filter(({ call }) => call !== undefined).length;
  leaveOut('a call in them did not parse, or they follow one', left);
  return turns.slice(0, turns.slice(0, first).findLastIndex(({ loss }) => loss) + 1);
}
