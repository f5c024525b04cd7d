/** Runs the part of the lint that only reads: Python's own parser, and SQLite, in a process of their own. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { packageUrl } from '../../common/entries.ts';
import { allowedEnvironment } from '../../common/environment.ts';
import { StudioError, systemCodeOf } from '../../common/errors.ts';
import { FINDING_KINDS, type FindingKind } from '../../common/worldHealth.ts';

/** It ends by itself long before, unless it hangs. */
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT = 64 * 1024 * 1024;
const LAST_WORDS = 2000;

/** Where something is in a scenario: a part, the path of a text in its JSON, and a place in that text. */
const where = z.object({
  part: z.string(),
  path: z.array(z.union([z.string(), z.number()])),
  task: z.number().optional(),
  tool: z.number().optional(),
  collection: z.string().optional(),
  line: z.number().optional(),
  column: z.number().optional(),
});
export type Where = z.infer<typeof where>;

const rawFinding = z.object({
  kind: z.enum(Object.keys(FINDING_KINDS) as [FindingKind, ...FindingKind[]]),
  severity: z.enum(['error', 'warning']),
  message: z.string(),
  hint: z.string(),
  at: where,
  excerpt: z.string().optional(),
  table: z.string().optional(),
  tool: z.string().optional(),
  task: z.number().optional(),
});
/** A finding before its place in the published files is known. */
export type RawFinding = z.infer<typeof rawFinding>;

const value = z.union([z.string(), z.number(), z.boolean()]);

const declaredTool = z.object({
  method: z.string(),
  path: z.string(),
  line: z.number(),
  /** Values for the parameters of its path, of rows that exist. */
  values: z.record(z.string(), value),
  /** Values that its specification gives as examples. */
  examples: z.record(z.string(), value),
});

const analysis = z.object({
  findings: z.array(rawFinding),
  /** Tools that never write. Absent: the code cannot be parsed. */
  pure: z.array(z.string()).optional(),
  /** Tools that the code declares: a method, a path, and the line of the handler. */
  tools: z.record(z.string(), declaredTool).default({}),
  /** A value that some row has, by names of parameters. */
  values: z.record(z.string(), value).default({}),
  /** Tables that some tool may write. */
  written: z.array(z.string()).default([]),
  /** What verifiers look at: tables, and whether also the answer. */
  verifiers: z
    .array(
      z.object({ task: z.number(), mode: z.enum(['code', 'sql']), tables: z.array(z.string()), answer: z.boolean() }),
    )
    .default([]),
});
export type Analysis = z.infer<typeof analysis>;

/** Returns the script; tests of its own start it, too. */
export function analysisScript(): string {
  return fileURLToPath(packageUrl('media/python/world_lint.py'));
}

/**
 * Analyzes a scenario without running any of its code. `request`: what media/python/world_lint.py reads. Throws
 * StudioError `unavailable` if there is no Python, `cancelled`, and `internal` if the analysis fails.
 */
export async function analyze(request: object, python: string, signal: AbortSignal): Promise<Analysis> {
  const output = await runScript(python, JSON.stringify(request), signal);
  return analysis.parse(JSON.parse(output));
}

function runScript(python: string, input: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const child = spawn(python, ['-I', '-X', 'utf8', analysisScript()], {
      env: allowedEnvironment(process.env),
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let said = '';
    const stop = (): void => {
      child.kill('SIGKILL');
    };
    const timer = setTimeout(stop, TIMEOUT_MS);
    signal.addEventListener('abort', stop, { once: true });
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT) stop();
      else chunks.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-LAST_WORDS);
    });
    child.stdin.on('error', () => undefined); // it ended early; the exit code says so
    child.on('error', (error) => {
      finish();
      reject(systemCodeOf(error) === 'ENOENT' ? noPython(python) : error);
    });
    child.on('close', (code, ended) => {
      finish();
      if (signal.aborted) reject(new StudioError('cancelled', 'The lint was cancelled.'));
      else if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'));
      else
        reject(
          new StudioError('internal', `The analysis of the scenario ended with ${code ?? ended}. ${said}`.trim(), {
            hint: 'It needs Python 3.10 or later. Check that with rollout doctor.',
          }),
        );
    });
    child.stdin.end(input);
  });
}

function noPython(python: string): StudioError {
  return new StudioError('unavailable', `There is no Python interpreter ${python}, which the lint of worlds needs.`, {
    hint: 'Install Python 3.10 or later.',
  });
}
