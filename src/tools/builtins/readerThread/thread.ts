/** The thread that reads what others have written: documents, workbooks, pages. It does one thing after the other. */
import { parentPort } from 'node:worker_threads';
import type { ToolCallContext, ToolOutcome } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { textResponse } from '../../outcome.ts';
import type { BuiltinTool } from '../builtinHost.ts';
import type { Job, Reply } from './protocol.ts';

if (parentPort === null) throw new Error('This file runs in a worker thread.');
const port = parentPort;

/** A call that is over ends the thread. */
const CONTEXT: ToolCallContext = {
  signal: new AbortController().signal,
  seed: 0,
  onLog: () => undefined,
  onProgress: () => undefined,
};

async function done(job: Job): Promise<ToolOutcome> {
  if (job.kind === 'page') {
    const { pageText } = await import('../web/page.ts');
    return textResponse({
      text: await pageText({ ...job, url: new URL(job.url), bytes: Buffer.from(job.bytes) }, CONTEXT.signal),
    });
  }
  const tool = (await toolsOf(job)).find(({ spec }) => spec.name === job.name);
  if (tool === undefined) throw new Error(`there is no tool ${job.name}`);
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
  // Nested so deeply that going through it takes more than there is.
  if (thrown instanceof RangeError && /call stack/.test(thrown.message))
    return { error: { class: 'tool_error', message: 'What is in it is nested too deeply.' } };
  const error = ClassedError.from(thrown, 'tool_error');
  return { error: { class: error.class, message: error.message } };
}

port.on('message', (job: Job) => {
  done(job)
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
