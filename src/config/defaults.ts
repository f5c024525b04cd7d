/**
 * When replies of a model are streamed. `auto`: while somebody watches the rollout, or after a whole reply that took
 * too long.
 */
export const STREAMING = ['auto', 'always', 'never'] as const;

/** Engines that the server itself pauses, and tells the version of their weights. */
export const CONTROLLED_ENGINES = ['none', 'vllm'] as const;

/** Default settings of agent, world, and batch files. Times are in seconds. */
export const DEFAULTS = {
  attempts: 1,
  seed: 0,
  limits: { steps: 30, seconds: 900, tool_seconds: 120, tokens: 200_000 },
  context: { reasoning: 'keep', tool_result_tokens: 8000, overflow: 'fail' },
  capture: { token_ids: false, logprobs: false },
  stream: 'auto',
  control: 'none',
  endpoint_wait: 600,
  retry: { infrastructure: 3 },
  hold_limit: 3600,
  sandbox: { mode: 'on', network: 'filtered', modules: 'shared' },
  order: 'breadth',
  priority: 0,
  concurrency: 'auto',
  target: 'local',
  /**
   * `count`: maximum number of pods; `slots`: maximum number of concurrent rollouts per pod; `keep`: how long a
   * finished Job is kept for inspection.
   */
  pods: { image: 'node:24-slim', isolation: 'shared', count: 16, slots: 32, backoff: 6, keep: 600 },
  offset: 0,
  answer: 'last_message',
  scorer: {
    ignore_case: false,
    flags: '',
    abs: 1e-9,
    rel: 1e-6,
    ignore_order: false,
    export: 'score',
    pass: 0.5,
    scale: [1, 5],
    seconds: 600,
  },
} as const;
