/**
 * Entry point of the relay of a browser: `node toolRelay.mjs SOCKET SANDBOX OWNER CWD FILE ARGUMENT…`. Playwright
 * starts it in place of the browser; it starts the browser on the tool server and passes on its pipes. The browser
 * ends with it.
 */
import { Socket } from 'node:net';
import { harmlessLine } from '../../../trace/text/terminal.ts';
import { ToolClient } from '../client.ts';

const [at = '', sandbox = '', owner = '', cwd = '', file = '', ...args] = process.argv.slice(2);

function inputOf(pipe: number): Socket {
  return new Socket({ fd: pipe, readable: true, writable: false });
}

function outputOf(pipe: number): Socket {
  const stream = new Socket({ fd: pipe, readable: false, writable: true });
  stream.on('error', () => process.exit(1)); // whoever started it is gone
  return stream;
}

const client = await ToolClient.connect(at);
const commands = inputOf(3);
const outputs = new Map([
  [1, outputOf(1)],
  [2, outputOf(2)],
  [4, outputOf(4)],
]);
const env: Record<string, string> = {};
for (const [name, value] of Object.entries(process.env))
  if (value !== undefined && name !== 'HOME' && name !== 'TMPDIR') env[name] = value;
client.start({ sandbox, file, args, cwd, env, limits: {}, owner, messages: false, commands: true }, (link) => {
  commands.on('data', (chunk: Buffer) => {
    commands.pause();
    link.write(3, chunk, () => commands.resume());
  });
  commands.on('end', () => link.kill());
  commands.on('error', () => link.kill());
  let code = 1;
  return {
    spawned: () => undefined,
    output: (pipe, bytes) => {
      if (bytes.length > 0) outputs.get(pipe)?.write(bytes);
    },
    received: () => undefined,
    exited: (exit) => {
      code = exit ?? 1;
    },
    closed: () => process.exit(code),
    failed: (error) => {
      process.stderr.write(`${harmlessLine(error.message)}\n`);
      process.exit(1);
    },
  };
});
