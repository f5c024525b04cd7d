/** A real vLLM for the suite, from the kit: started, stopped, and restarted at the same address. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { kitFolder } from '../../../src/build/system/kits.ts';
import { freePort } from '../../support/freePort.ts';

/** Small enough that a batch reaches its limits: 2,560 tokens of cache, 8 requests that may wait. */
export const OPTIONS = ['--max-num-queued-reqs', '8', '--num-gpu-blocks-override', '80', '--block-size', '32'];

const answer = z.union([z.object({ done: z.string() }), z.object({ failed: z.string() })]);
const tokenized = z.object({ tokens: z.array(z.number().int()) });
const weightInfo = z.object({ weight_version: z.string() });
const pauseInfo = z.object({ is_paused: z.boolean() });
const detokenized = z.object({ prompt: z.string() });

export class Engine {
  readonly #guard: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #answers: AsyncIterator<string>;
  readonly port: number;
  readonly #root: string;

  private constructor(guard: ChildProcess, port: number) {
    this.#guard = guard;
    this.#exited = once(guard, 'exit');
    this.#answers = readline.createInterface({ input: guard.stdout! })[Symbol.asyncIterator]();
    this.port = port;
    this.#root = `http://127.0.0.1:${port}`;
  }

  /**
   * Takes 30 seconds to 3 minutes. `name`: of this one, if a suite starts several. `options`: of vLLM; default: the
   * limits of the suite.
   */
  static async start(name = 'suite', options: readonly string[] = OPTIONS): Promise<Engine> {
    const kit = kitFolder('vllm');
    if (kit === undefined) throw new Error('the kit with vLLM is not here');
    const port = await freePort();
    // One name for this checkout: the next run stops what a killed run left behind.
    const unique = `${name}-${createHash('sha256')
      .update(import.meta.dirname)
      .digest('hex')
      .slice(0, 8)}`;
    const script = fileURLToPath(new URL('engineGuard.ts', import.meta.url));
    const guard = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, kit, ...options], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ROLLOUT_VLLM_NAME: unique, ROLLOUT_VLLM_PORT: String(port) },
    });
    const engine = new Engine(guard, port);
    try {
      await engine.down();
      await engine.up();
      await engine.#warmUp();
    } catch (error) {
      await engine.stop();
      throw error;
    }
    return engine;
  }

  /** Base URL, including `/v1`. */
  get url(): string {
    return `${this.#root}/v1`;
  }

  up(): Promise<void> {
    return this.#command('up');
  }

  down(): Promise<void> {
    return this.#command('down');
  }

  /** Permanently. */
  async stop(): Promise<void> {
    this.#guard.stdin!.end();
    await this.#exited;
  }

  /** The prompt's IDs, by the engine's own template and tokenizer. */
  async tokenize(messages: readonly unknown[], tools: readonly unknown[]): Promise<number[]> {
    return tokenized.parse(
      await this.#post('/tokenize', { model: 'desk', messages, ...(tools.length === 0 ? {} : { tools }) }),
    ).tokens;
  }

  async detokenize(tokens: readonly number[]): Promise<string> {
    return detokenized.parse(await this.#post('/detokenize', { model: 'desk', tokens })).prompt;
  }

  /** The version of its weights, as it knows it. */
  async weights(): Promise<string> {
    return weightInfo.parse(await (await fetch(`${this.#root}/weight_info`)).json()).weight_version;
  }

  async isPaused(): Promise<boolean> {
    return pauseInfo.parse(await (await fetch(`${this.#root}/is_paused`)).json()).is_paused;
  }

  /** The sum of all series of a metric. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.#root}/metrics`)).text();
    const series = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** The first sampled answer with log probabilities makes the engine compile for up to 20 seconds. */
  async #warmUp(): Promise<void> {
    await this.#post('/v1/chat/completions', {
      model: 'desk',
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 2,
      temperature: 1,
      seed: 1,
      logprobs: true,
    });
  }

  async #post(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(this.#root + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  async #command(command: 'up' | 'down'): Promise<void> {
    this.#guard.stdin!.write(`${command}\n`);
    const line = await this.#answers.next();
    if (line.done === true) throw new Error('the process that looks after vLLM is gone');
    const said = answer.parse(JSON.parse(line.value));
    if ('failed' in said) throw new Error(said.failed);
  }
}
