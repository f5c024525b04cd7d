/** An agent, a world, a batch, and their dataset: the base of every test here. */
export const AGENT = `version: 1
name: desk
model:
  endpoint: \${env:VLLM_URL}             # any OpenAI-compatible /v1
  name: Qwen/Qwen3-32B
  sampling: { temperature: 1.0, top_p: 0.95, max_tokens: 4096, extra: { top_k: 20 } }
  capture: { token_ids: true, logprobs: true }
  price: { input: 0.1, output: 0.4 }
prompt: prompts/desk.md
tools:
  - module: tools/loans.ts
  - mcp: { command: uvx, args: [some-server] }
  - builtin: [terminal, code, calculator]
answer: last_message
context: { reasoning: keep, tool_result_tokens: 8000, overflow: fail }
limits: { steps: 30, seconds: 900, tool_seconds: 120, tokens: 200000 }
`;

export const WORLD = `version: 1
name: library
kind: module
module: library.ts
`;

export const BATCH = `version: 1
agent: ../agents/desk.agent.yaml
world: ../worlds/library.world.yaml
dataset: { file: ../data/tasks.jsonl, question: question, answer: answer, limit: 100 }
attempts: 32
seed: 7
scorer: { kind: exact }
stop: { passes_per_task: 8, failures: 50%, tokens: 50M }
retry: { infrastructure: 3 }
target: local
concurrency: auto
notify: { url: "\${env:HOOK}" }
order: breadth
priority: 0
hold_limit: 1h
pods: { image: node:24-slim, count: 16, requests: {cpu: 1, memory: 2Gi}, sidecars: [], isolation: shared }
`;

export const FILES: Readonly<Record<string, string>> = {
  'agents/desk.agent.yaml': AGENT,
  'agents/prompts/desk.md': 'You work at the desk of {{ task.meta.city }}.\n{{task.question}}\n',
  'agents/tools/loans.ts': 'export const renew = 1;',
  'worlds/library.world.yaml': WORLD,
  'worlds/library.ts': 'export const open = 1;',
  'data/tasks.jsonl':
    '{"id":"one","question":"Renew it","answer":"yes","city":"Rome"}\n{"id":"two","question":"Find ' +
    'it","answer":"no","city":"Oslo"}\n',
  'batches/nightly.batch.yaml': BATCH,
};
