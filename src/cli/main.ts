/** The `rollout` command. */
import { parseArgs } from 'node:util';
import { errorText, exitCodeOf, StudioError } from '../common/errors.ts';
import { PRODUCT } from '../common/product.ts';
import { sentence } from '../common/text.ts';
import { closest } from '../config/source/suggest.ts';
import { type Command, type CommandLine, flag, parseOptions, textOption } from './command.ts';
import { allCommands, COMMAND_NAMES, commandNamed, GLOBAL_OPTIONS } from './commands.ts';
import { makeContext } from './context.ts';
import { helpOf, helpOfAll } from './help.ts';
import { log, print, printJson } from './output.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(130); // second signal: exit without waiting
    stop.abort(signal);
  });
}
// An editor stops this process by closing the IPC channel, because a signal on Windows kills it without cleanup.
if ('connected' in process && !process.connected) stop.abort('disconnect');
if (process.connected) {
  process.once('disconnect', () => stop.abort('disconnect'));
  process.channel?.unref();
}
// A closed pipe (`rollout show … | head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
// A closed stderr only loses progress output.
process.stderr.on('error', () => undefined);

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version' || name === '-v') {
    print(PRODUCT);
    return 0;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const topic = await commandNamed(rest[0] ?? '');
    print(
      topic === undefined ? helpOfAll(await allCommands(), GLOBAL_OPTIONS) : helpOf(topic, GLOBAL_OPTIONS, rest[1]),
    );
    return name === undefined ? 2 : 0;
  }
  const json = rest.includes('--json');
  let placed = (text: string): string => text;
  try {
    const command = await commandNamed(name);
    if (command === undefined) {
      const near = closest(name, COMMAND_NAMES);
      throw new StudioError('usage', `Unknown command “${name}”.`, {
        hint: `${near === undefined ? '' : `Did you mean “${near}”? `}List all commands with rollout --help.`,
      });
    }
    const commandLine = read(command, rest);
    if (flag(commandLine, 'help')) {
      print(helpOf(command, GLOBAL_OPTIONS, commandLine.words[0]));
      return 0;
    }
    const context = makeContext({
      json,
      store: textOption(commandLine, 'store'),
      target: textOption(commandLine, 'target'),
      signal: stop.signal,
    });
    placed = context.placed;
    try {
      return await command.run(context, commandLine);
    } finally {
      await context.close();
    }
  } catch (error) {
    const cancelled =
      stop.signal.aborted && (!StudioError.is(error) || error.code === 'cancelled' || error.code === 'unavailable');
    if (json) {
      const body = StudioError.is(error)
        ? {
            code: error.code,
            message: error.message,
            hint: error.hint === undefined ? undefined : placed(error.hint),
            details: error.details,
          }
        : { code: 'internal', message: errorText(error) };
      printJson({ error: body });
    }
    // File problems start with their location, so that terminals and editors can link to it.
    const prefix = StudioError.is(error, 'config') && !cancelled ? '' : 'rollout: ';
    log(`${prefix}${cancelled ? 'interrupted' : placed(errorText(error))}`);
    if (!StudioError.is(error) && error instanceof Error && process.env['ROLLOUT_DEBUG'] !== undefined)
      log(error.stack ?? '');
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
    const [, unknown] = /^Unknown option '--?([^']+)'/.exec(errorText(error)) ?? [];
    const options = Object.keys({ ...GLOBAL_OPTIONS, ...command.options });
    const near = unknown === undefined ? undefined : closest(unknown, options);
    // Node's text goes on about positional arguments.
    const text = unknown === undefined ? sentence(errorText(error)) : `Unknown option --${unknown}.`;
    const meant = near === undefined ? '' : `Did you mean --${near}? `;
    throw new StudioError('usage', text, {
      hint: `${meant}See the options with rollout ${command.name} --help.`,
      cause: error,
    });
  }
}
