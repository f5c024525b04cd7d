/** The thread that reads untrusted documents, workbooks, pages, and texts, one at a time. */
import { parentPort } from 'node:worker_threads';
import type { Json } from '../../../common/json.ts';
import type { ToolCallContext, ToolOutcome } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { textResponse } from '../../outcome.ts';
import type { BuiltinTool } from '../builtinHost.ts';
import { search, within } from './bounded.ts';
import type { Job, Reply } from './protocol.ts';

if (parentPort === null) throw new Error('This file runs in a worker thread.');
const port = parentPort;

/** Aborting a call terminates the thread, so there is no signal. */
const CONTEXT: ToolCallContext = {
  signal: new AbortController().signal,
  seed: 0,
  onLog: () => undefined,
  onProgress: () => undefined,
};

async function runJob(job: Job): Promise<ToolOutcome> {
  if (job.kind === 'page') {
    const { pageText } = await import('../web/page.ts');
    return textResponse({
      text: await pageText({ ...job, url: new URL(job.url), bytes: Buffer.from(job.bytes) }, CONTEXT.signal),
    });
  }
  if (job.kind === 'search') return { response: search(job) as Json };
  if (job.kind === 'arguments') {
    const { argumentProblems } = await import('../../../rollout/tools/schemaCheck.ts');
    const problems = within('Checking the arguments', () => argumentProblems(job.schema, job.args));
    return { response: problems ?? null };
  }
  const tool = (await toolsOf(job)).find(({ spec }) => spec.name === job.name);
  if (tool === undefined) throw new Error(`unknown tool ${job.name}`);
  return tool.run(job.args, CONTEXT);
}

async function toolsOf({ set, cwd }: Extract<Job, { kind: 'tool' }>): Promise<readonly BuiltinTool[]> {
  switch (set) {
    case 'documents':
      return (await import('../documents/tools.ts')).documentTools({ cwd });
    case 'spreadsheet':
      return (await import('../spreadsheet/tools.ts')).spreadsheetTools({ cwd });
  }
}

function replyOf(thrown: unknown): Reply {
  // Deep nesting overflows the stack.
  if (thrown instanceof RangeError && /call stack/.test(thrown.message))
    return { error: { class: 'tool_error', message: 'The content is nested too deeply.' } };
  const error = ClassedError.from(thrown, 'tool_error');
  return { error: { class: error.class, message: error.message } };
}

port.on('message', (job: Job) => {
  runJob(job)
    .then((outcome): Reply => ({ outcome }), replyOf)
    .then(
      (reply) => {
        port.postMessage(reply);
      },
      (error: unknown) => {
        throw error;
      },
    );
});
