/** The `rollout` command. */
import { parseArgs } from 'node:util';
import { errorText, exitCodeOf, StudioError } from '../common/errors.ts';
import { PRODUCT } from '../common/product.ts';
import { type Command, type CommandLine, flag, parseOptions, textOption } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';
import { makeContext } from './context.ts';
import { helpOf, helpOfAll } from './help.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(130); // asked a second time: do not wait any longer
    stop.abort(signal);
  });
}
// An editor that started it asks it to end by closing their channel: on Windows a signal would end it in mid-sentence.
if ('connected' in process && !process.connected) stop.abort('disconnect');
if (process.connected) {
  process.once('disconnect', () => stop.abort('disconnect'));
  process.channel?.unref();
}
// A reader that went away (`rollout show … | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
// Progress that nobody reads any more stops nothing.
process.stderr.on('error', () => undefined);

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${PRODUCT}\n`);
    return 0;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const topic = COMMANDS.find((command) => command.name === rest[0]);
    process.stdout.write(topic === undefined ? helpOfAll(COMMANDS, GLOBAL_OPTIONS) : helpOf(topic, GLOBAL_OPTIONS));
    return name === undefined ? 2 : 0;
  }
  const json = rest.includes('--json');
  try {
    const command = COMMANDS.find((candidate) => candidate.name === name);
    if (command === undefined)
      throw new StudioError('usage', `There is no command “${name}”.`, { hint: 'rollout --help lists them.' });
    const given = read(command, rest);
    if (flag(given, 'help')) {
      process.stdout.write(helpOf(command, GLOBAL_OPTIONS));
      return 0;
    }
    const context = makeContext({
      json,
      store: textOption(given, 'store'),
      target: textOption(given, 'target'),
      signal: stop.signal,
    });
    try {
      return await command.run(context, given);
    } finally {
      await context.close();
    }
  } catch (error) {
    const cancelled =
      stop.signal.aborted && (!StudioError.is(error) || error.code === 'cancelled' || error.code === 'unavailable');
    if (json) {
      const told = StudioError.is(error)
        ? { code: error.code, message: error.message, hint: error.hint, details: error.details }
        : { code: 'internal', message: errorText(error) };
      process.stdout.write(`${JSON.stringify({ error: told })}\n`);
    }
    // Problems of files begin with their place, so that terminals and editors can follow them.
    const prefix = StudioError.is(error, 'config') && !cancelled ? '' : 'rollout: ';
    process.stderr.write(`${prefix}${cancelled ? 'interrupted' : errorText(error)}\n`);
    if (!StudioError.is(error) && error instanceof Error && process.env['ROLLOUT_DEBUG'] !== undefined)
      process.stderr.write(`${error.stack ?? ''}\n`);
    return cancelled ? 130 : exitCodeOf(error);
  }
}

function read(command: Command, rest: readonly string[]): CommandLine {
  try {
    const parsed = parseArgs({
      args: [...rest],
      options: parseOptions({ ...GLOBAL_OPTIONS, ...command.options }),
      allowPositionals: true,
      strict: true,
    });
    return { words: parsed.positionals, options: parsed.values };
  } catch (error) {
    throw new StudioError('usage', `${errorText(error)}.`.replace(/\.\.$/, '.'), {
      hint: `rollout ${command.name} --help shows its options.`,
      cause: error,
    });
  }
}
