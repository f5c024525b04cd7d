/** Entries of a tau-bench result file, for imports. */

export interface TrialCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly result: string;
}

/** Some calls, then an answer. `number` is 0-based. */
export function trial(task: string, number: number, reward: number, calls: readonly TrialCall[]): object {
  return {
    task_id: task,
    trial: number,
    reward,
    traj: [
      { role: 'system', content: 'You are the lending desk.' },
      { role: 'user', content: 'Please renew my book.' },
      ...calls.flatMap((call, index) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: `c${index}`,
              type: 'function',
              function: { name: call.name, arguments: JSON.stringify(call.arguments) },
            },
          ],
        },
        { role: 'tool', tool_call_id: `c${index}`, name: call.name, content: call.result },
      ]),
      { role: 'assistant', content: 'Done, attempt \u001b[31mred.' },
    ],
  };
}
